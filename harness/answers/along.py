"""What happened at every opset of every release, as short texts: a million cells are too many to look at each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from harness.answers.rows import NO_EXPORTER
from harness.answers.select import Selection
from harness.worker.case import PLAIN
from harness.worker.status import Status

_Key = tuple[str, str, str | None, str, str]
_DEFAULT = "-"
_TOLD = "string_agg(coalesce(CAST(opset AS VARCHAR), '-') || ':' || status, ',' ORDER BY opset NULLS LAST)"
_STATUS = {status.value: status for status in Status}


class Along:
    """The statuses of the cases selected, at every release and opset.

    The fixes' failing forms are always among them.
    """

    def __init__(self, selection: Selection) -> None:
        by = ("torch", "exporter", "provider", "case", "variant")
        rows = selection.rows.grouped(by, {"told": _TOLD}, along_filters(selection))
        self._told: dict[_Key, str] = {
            (torch or "", exporter, provider, case, variant or PLAIN): told
            for torch, exporter, provider, case, variant, told in rows
            if case is not None and exporter not in (None, NO_EXPORTER)
        }

    def places(self) -> list[tuple[str, str | None]]:
        """The exporters and providers that anything was measured with."""
        return list(dict.fromkeys((key[1], key[2]) for key in self._told))

    def told(self, torch: str, exporter: str, provider: str | None, case: str, variant: str) -> str:
        """The statuses by opset as text, to be read by :func:`statuses`; empty where nothing was measured."""
        return self._told.get((torch, exporter, provider, case, variant), "")

    def at(
        self, torch: str, exporter: str, provider: str | None, case: str, variant: str
    ) -> Mapping[int | None, Status]:
        """The statuses by opset, ``None`` for the release's own."""
        return statuses(self.told(torch, exporter, provider, case, variant))


def along_filters(selection: Selection) -> dict[str, Iterable[Any]]:
    """The filters that hold along releases and opsets, and for a fix and its failing form alike."""
    where = selection.where()
    return {name: where[name] for name in ("case", "exporter", "provider") if name in where}


@lru_cache(maxsize=65536)
def statuses(told: str) -> Mapping[int | None, Status]:
    """``9:pass,10:fail,-:pass`` as a mapping."""
    found: dict[int | None, Status] = {}
    for part in filter(None, told.split(",")):
        opset, _, word = part.partition(":")
        found[None if opset == _DEFAULT else int(opset)] = _STATUS[word]
    return found
