"""Cells as their files end on the versions of a runtime that a claim names, from the runs of their bundles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from caniexport import versions
from caniexport.corpus.refusals import Refusal, classify_refusal, is_as_asked
from caniexport.model.errors import UnknownName
from caniexport.model.status import Stage, Status
from caniexport.runtime_releases import RUNTIMES

Row = Mapping[str, Any]

#: a cell that ends here never reaches a runtime, and says nothing about one
_BEFORE = frozenset({Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value, Stage.EXPORT.value})
#: what a run says instead of the cell
_MOVED = ("runtime", "runtime_version", "provider", "stage", "status", "signature", "message_id", "unstable")
#: columns that are read of a run
COLUMNS = ("bundle", "session", *_MOVED)
#: refusals that say how old a runtime is, and nothing about the case
_TOO_OLD = frozenset({Refusal.IR, Refusal.OPSET})
_CPU = "cpu"


class RuntimeVersions(NamedTuple):
    """Versions of a runtime on a provider: ``onnxruntime``, ``>=1.8,<1.21``, ``cpu``."""

    name: str
    specifier: str
    provider: str

    def takes(self, row: Row) -> bool:
        """Whether a row is of one of these versions, on this provider."""
        version = row["runtime_version"]
        here = row["runtime"] == self.name and row["provider"] == self.provider
        return bool(here and version and versions.within(version, self.specifier))

    @property
    def releases(self) -> list[str]:
        """The versions of the table of runtimes that it names, oldest first."""
        every = versions.ordered(item.version for item in RUNTIMES if item.runtime == self.name)
        return [version for version in every if versions.within(version, self.specifier)]


def parse_runtime(text: str, provider: str = "") -> RuntimeVersions:
    """The versions that ``onnxruntime>=1.8,<1.21`` means. Raises :class:`UnknownName` for another text.

    ``provider`` is cpu where it is empty.
    """
    found = re.fullmatch(r"([a-z][a-z-]*[a-z])\s*([<>=!~].*)?", text)
    known = {item.runtime for item in RUNTIMES}
    if found is None or found[1] not in known:
        raise UnknownName(f"{text!r} names no runtime of the table (onnxruntime>=1.8,<1.21 does)")
    wanted = RuntimeVersions(found[1], (found[2] or "").strip(), provider or _CPU)
    versions.within("1.0", wanted.specifier)
    return wanted


class Replays:
    """Runs by the bundle that they ran, with and without session options of the variant's own."""

    def __init__(self, runs: Iterable[Row]) -> None:
        self._runs: dict[tuple[str, bool], list[Row]] = defaultdict(list)
        for run in runs:
            self._runs[run["bundle"], bool(run["session"])].append(run)

    def of(self, row: Row, wanted: RuntimeVersions, *, asks: bool) -> list[Row]:
        """Return the row of a cell as it ends on each wanted version on which its bundle was run.

        ``asks`` is whether the variant asks for session options. There is none for a version that is too old for the
        file, nor for a cell that ends before the runtime.
        """
        if row["stage"] in _BEFORE:
            return []
        own = [row] if wanted.takes(row) else []
        moved = [
            _replace_outcome(row, run)
            for run in self._runs.get((row["bundle"] or "", asks), ())
            if wanted.takes(run) and not _has_same_runtime(row, run)
        ]
        return [item for item in own + moved if classify_refusal(item["stage"], item["signature"]) not in _TOO_OLD]


def _has_same_runtime(row: Row, run: Row) -> bool:
    return all(row[name] == run[name] for name in ("runtime", "runtime_version", "provider"))


def _replace_outcome(row: Row, run: Row) -> Row:
    """The cell as it ends in a run; a file that is not as asked stays so wherever it runs."""
    found = {**row, **{name: run[name] for name in _MOVED}}
    if found["status"] == Status.PASS and not _is_as_asked(row):
        found["status"] = Status.DEGRADED.value
    return found


def _is_as_asked(row: Row) -> bool:
    asked, written = (row["exporter"], row["opset"]), (row["exporter_effective"], row["opset_effective"])
    return is_as_asked(row["status"], row["variant"], asked, written)
