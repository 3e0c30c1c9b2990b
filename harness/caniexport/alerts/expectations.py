"""The reviewed list of what is expected to fail: data with reasons. Strict: an entry that no longer holds is news.

A TOML file, one table for each entry::

    [[expect]]
    case = "cross-no-symbolic"      # a case, CASE/VARIANT, or a glob; without a variant it is the failing form
    torch = "<2.0"                  # a version specifier; these four may be left out
    exporter = "trace"
    opset = "9-14"
    provider = "cpu"
    allowed = ["fail"]              # statuses that are no news there
    reason = "no symbolic for cross before 2.0"
    link = "https://github.com/onnx/onnx/issues/2683"
    review = 2027-06-30             # the day after which somebody has to look at it again
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from caniexport import names, versions
from caniexport.alerts.diff import Changed
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import require_exporter
from caniexport.corpus.verdicts import works
from caniexport.home import read_list
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError, CorpusError
from caniexport.model.status import MEASURED, Status

_REQUIRED = ("case", "allowed", "reason", "review")
_KNOWN = (*_REQUIRED, "torch", "exporter", "opset", "provider", "link")


class Trouble(StrEnum):
    """Why an entry does not hold."""

    EXPIRED = "expired"
    UNMATCHED = "unmatched"
    UNEXPECTED_PASS = "unexpected-pass"


@dataclass(frozen=True)
class Expectation:
    """One entry; empty words take everything. ``number`` is its place in the file, from 1."""

    number: int
    case: str
    allowed: frozenset[Status]
    reason: str
    review: date
    torch: str = ""
    exporter: str = ""
    opset: str = ""
    provider: str = ""
    link: str = ""

    def takes(
        self, case: str, variant: str, torch: str, exporter: str, opset: int | None, provider: str | None
    ) -> bool:
        """Whether it is about this cell."""
        pattern, _, variant_pattern = self.case.partition("/")
        return (
            fnmatchcase(case, pattern)
            and fnmatchcase(variant, variant_pattern or PLAIN)
            and (not self.torch or not torch[:1].isdigit() or versions.within(torch, self.torch))
            and self.exporter in ("", exporter)
            and (not self.opset or (opset is not None and versions.opset_in(opset, self.opset)))
            and self.provider in ("", provider)
        )

    @property
    def text(self) -> str:
        """The entry in one line: ``cross-no-symbolic, torch <2.0, opset 9-14 (fail)``."""
        words = [f"torch {self.torch}" if self.torch else "", self.exporter]
        words += [f"opset {self.opset}" if self.opset else "", self.provider]
        allowed = ", ".join(sorted(status.value for status in self.allowed))
        return f"{', '.join(filter(None, [self.case, *words]))} ({allowed})"


@dataclass(frozen=True)
class UnmetExpectation:
    """An entry that does not hold: which, why, and the cells that show it (at most five)."""

    trouble: Trouble
    entry: Expectation
    says: str
    cells: tuple[str, ...] = ()


def read(path: Path) -> list[Expectation]:
    """The entries of a file. Raises :class:`CorpusError` naming the entry and what is wrong with it."""
    try:
        data = tomllib.loads(read_list(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of expectations ({error})") from error
    unknown = [key for key in data if key != "expect"]
    if unknown or not isinstance(data.get("expect", []), list):
        raise CorpusError(f"{path}: tables [[expect]] are wanted{f', not {unknown[0]}' if unknown else ''}")
    return [_entry(item, number, path) for number, item in enumerate(data.get("expect", []), start=1)]


def _entry(item: Mapping[str, Any], number: int, path: Path) -> Expectation:
    try:
        return _checked(item, number)
    except (CaniexportError, ValueError) as error:
        raise CorpusError(f"{path}: entry {number}: {error}") from error


def _checked(item: Mapping[str, Any], number: int) -> Expectation:
    for key in item:
        names.require("key", key, _KNOWN)
    missing = [key for key in _REQUIRED if not item.get(key)]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    if not isinstance(item["review"], date):
        raise ValueError(f"review: {item['review']!r} is no date (2027-06-30 is)")
    allowed = [item["allowed"]] if isinstance(item["allowed"], str) else item["allowed"]
    words = names.require_all("status", map(str, allowed), [status.value for status in Status])
    text = {key: str(item.get(key, "")) for key in ("case", "reason", "torch", "opset", "provider", "link")}
    versions.within("1.0", text["torch"])
    versions.opset_in(1, text["opset"])
    exporter = require_exporter(str(item["exporter"])) if item.get("exporter") else ""
    return Expectation(
        number=number, allowed=frozenset(map(Status, words)), review=item["review"], exporter=exporter, **text
    )


def expected(item: Changed, entries: Iterable[Expectation]) -> Expectation | None:
    """The entry that says this change is no news; ``None`` where none does."""
    place = item.place
    for entry in entries:
        taken = entry.takes(item.case, item.variant, place.torch, place.exporter, place.opset, place.provider)
        if taken and item.after in entry.allowed:
            return entry
    return None


def judge(entries: Sequence[Expectation], rows: Rows, today: date) -> list[UnmetExpectation]:
    """The entries that do not hold: past their review date, about no cell at all, or seen to pass."""
    return [finding for entry in entries for finding in _findings(entry, rows, today)]


def _findings(entry: Expectation, rows: Rows, today: date) -> Iterable[UnmetExpectation]:
    if entry.review < today:
        yield UnmetExpectation(Trouble.EXPIRED, entry, f"was to be reviewed by {entry.review}")
    cells = [cell for cell in _cells(entry, rows) if cell.status in MEASURED]
    if not cells:
        yield UnmetExpectation(Trouble.UNMATCHED, entry, "it matches no measured cell")
    passing = [cell for cell in cells if works(cell.status) and cell.status not in entry.allowed]
    if passing:
        shown = tuple(
            f"torch {c.torch}, {c.exporter}, {versions.opset_name(c.opset)}: {c.case}/{c.variant}" for c in passing[-5:]
        )
        count = f"{len(passing)} of {len(cells)} cells work: what it was written for may be fixed"
        yield UnmetExpectation(Trouble.UNEXPECTED_PASS, entry, count, shown)


def _cells(entry: Expectation, rows: Rows) -> list[MeasuredCell]:
    pattern = entry.case.partition("/")[0]
    cases = {case for case, _ in rows.catalogue if fnmatchcase(case, pattern)}
    found = rows.cells(case=cases) if cases else []
    return [c for c in found if entry.takes(c.case, c.variant, c.torch, c.exporter, c.opset, c.provider)]
