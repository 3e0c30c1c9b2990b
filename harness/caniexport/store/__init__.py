"""The dataset: journals and parquet files in, frames out. Importing this package loads neither pandas nor arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caniexport.store.compaction import CompactReport, compact
    from caniexport.store.dataset import Dataset

__all__ = ["CompactReport", "Dataset", "compact"]

_HOMES = {"CompactReport": "compaction", "Dataset": "dataset", "compact": "compaction"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
