"""Operator tables that torch and onnx carry themselves, as the measured environments wrote them down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.model.errors import StoreError
from caniexport.store.entering import entered

_HIGHEST = 1000


def gather(local: Path, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Rows of ``DECLARED`` from a local dataset's JSON files; one that cannot be used is told to ``problems``."""
    from caniexport.worker.declared import checksum

    for path in sorted((local / "declared").glob("torch-*.json")):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if "crc" in told and told.pop("crc") != checksum(told):
                raise ValueError("it has been changed: its checksum is that of another content")
            made = [entered("declared", _row(told, *row))[0] for row in told["rows"]]
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError) as error:
            problem = f"{path}: cannot be used ({error}); `caniexport measure` of its release writes it anew"
            if problem not in problems:
                problems.append(problem)
            continue
        yield from made


def _row(told: dict[str, Any], by: str, op: str, opsets: Sequence[int]) -> dict[str, Any]:
    if not all(type(opset) is int and 0 < opset < _HIGHEST for opset in opsets):
        raise ValueError(f"{op}: its opsets are no opsets")
    version = f"onnx {told['onnx']}" if by == "onnx" else f"torch {told['torch']}"
    return {"release": told["release"], "by": by, "version": version, "op": op, "opsets": _spans(opsets)}


def _spans(opsets: Sequence[int]) -> str:
    """``7-9,11``."""
    spans = versions.spans(opsets, range(min(opsets), max(opsets) + 1))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
