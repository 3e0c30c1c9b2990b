"""The reviewed list of what is expected to fail: data with reasons. Strict: an entry that no longer holds is news.

A TOML file, one table for each entry::

    [[expect]]
    case = "cross-no-symbolic"      # a case, CASE/VARIANT, or a glob; without a variant it is the failing form
    torch = "<2.0"                  # a version specifier; these may be left out
    exporter = "trace"
    opset = "9-14"
    provider = "cpu"
    op = "Resize"                   # an operator of the file
    allowed = ["fail"]              # statuses that are no news there
    reason = "no symbolic for cross before 2.0"
    link = "https://github.com/onnx/onnx/issues/2683"
    review = 2027-06-30             # the day after which somebody has to look at it again

``caniexport alerts`` holds cells against it and an archive of bundles the files that it runs. A file is the same
whichever release wrote it, so an entry for an archive has no ``torch`` and no ``exporter``; its ``opset`` is the
file's. A cell has no ``op``.
"""

from __future__ import annotations

import datetime
import difflib
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from caniexport.model.errors import CorpusError, UnknownName
from caniexport.model.opset_clauses import is_opset_in
from caniexport.model.status import MEASURED, WORKS, Status
from caniexport.runner.archive import ArchiveEntry
from caniexport.runner.contents import Contents

_REQUIRED = ("case", "allowed", "reason", "review")
_OPTIONAL = ("torch", "exporter", "opset", "provider", "op", "link")
#: keys that say nothing of a file
_OF_CELLS = ("torch", "exporter")
_PLAIN = "plain"
#: a corpus whose cases have no failing form: a test's variant is its operator
_NODE_TESTS = "onnx-node"
_SHOWN = 5


class Trouble(str, Enum):
    """Why an entry does not hold."""

    EXPIRED = "expired"
    UNMATCHED = "unmatched"
    UNEXPECTED_PASS = "unexpected-pass"


@dataclass(frozen=True)
class Expectation:
    """One entry; empty words take everything. ``number`` is its place in the file, from 1."""

    number: int
    case: str
    allowed: FrozenSet[Status]
    reason: str
    review: datetime.date
    torch: str = ""
    exporter: str = ""
    opset: str = ""
    provider: str = ""
    op: str = ""
    link: str = ""

    @property
    def text(self) -> str:
        """The entry in one line: ``cross-no-symbolic, torch <2.0, opset 9-14 (fail)``."""
        words = ["torch " + self.torch if self.torch else "", self.exporter]
        words += ["opset " + self.opset if self.opset else "", self.provider, self.op]
        allowed = ", ".join(sorted(status.value for status in self.allowed))
        return "{} ({})".format(", ".join(filter(None, [self.case] + words)), allowed)

    def names(self, case: str, variant: str, corpus: str = "") -> bool:
        """Whether it is about this variant of a case."""
        pattern, _, wanted = self.case.partition("/")
        form = wanted or ("*" if corpus == _NODE_TESTS else _PLAIN)
        return fnmatchcase(case, pattern) and fnmatchcase(variant, form)


@dataclass(frozen=True)
class UnmetExpectation:
    """An entry that does not hold: which, why, and the cells or files that show it (at most five)."""

    trouble: Trouble
    entry: Expectation
    says: str
    cells: Tuple[str, ...] = ()


class ReplayResult(NamedTuple):
    """How a file ended: its entry of the archive, its row, its error's text, what it is made of."""

    entry: ArchiveEntry
    row: Mapping[str, Any]
    text: str
    about: Contents

    @property
    def status(self) -> Status:
        """What entries are held against."""
        return Status(self.row["status"])


def read(text: str, where: str) -> List[Expectation]:
    """The entries of a file's text. Raises :class:`CorpusError` naming the entry and what is wrong with it."""
    try:
        data = _parse_toml(text)
    except ValueError as error:
        raise CorpusError("{}: cannot be read as a list of expectations ({})".format(where, error)) from error
    unknown = [key for key in data if key != "expect"]
    if unknown or not isinstance(data.get("expect", []), list):
        raise CorpusError("{}: tables [[expect]] are wanted{}".format(where, ", not " + unknown[0] if unknown else ""))
    entries = []
    for number, item in enumerate(data.get("expect", []), start=1):
        try:
            entries.append(_read_entry(item, number))
        except (UnknownName, ValueError) as error:
            raise CorpusError("{}: entry {}: {}".format(where, number, error)) from error
    return entries


def read_for_files(file: str) -> List[Expectation]:
    """The entries of a list about files. Raises :class:`CorpusError`."""
    try:
        entries = read(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError("{}: cannot be read as a list of expectations ({})".format(file, error)) from error
    for entry in entries:
        for key in _OF_CELLS:
            if getattr(entry, key):
                words = "a file is the same whichever release wrote it: leave {} out".format(key)
                raise CorpusError("{}: entry {}: {}".format(file, entry.number, words))
    return entries


def find_reason(result: ReplayResult, entries: Iterable[Expectation]) -> str:
    """Return the reason of the entry that expects this outcome; empty where none does."""
    return next((entry.reason for entry in entries if matches(entry, result) and result.status in entry.allowed), "")


def is_marked(corpus: str, variant: str) -> bool:
    """Whether it is a node test whose failure is none: ``Bernoulli-22.random``."""
    return corpus == _NODE_TESTS and "." in variant.rpartition("-")[2]


def matches(entry: Expectation, result: ReplayResult) -> bool:
    """Whether an entry is about this file."""
    return (
        entry.names(result.entry.case, result.entry.variant, result.entry.corpus)
        and (not entry.opset or is_opset_in(result.about.opset, entry.opset))
        and entry.provider in ("", result.row["provider"])
        and (not entry.op or any(fnmatchcase(op, entry.op) for op in result.about.ops))
    )


def find_unmet(
    entries: Sequence[Expectation], results: Sequence[ReplayResult], today: datetime.date
) -> Iterator[UnmetExpectation]:
    """The entries that do not hold of these files: past their review date, about none of them, or seen to pass."""
    for entry in entries:
        about = [result for result in results if matches(entry, result) and result.status in MEASURED]
        passing = [result for result in about if result.status in WORKS and result.status not in entry.allowed]
        shown = tuple(sorted({"{0.case}/{0.variant}".format(result.entry) for result in passing})[:_SHOWN])
        yield from check_expectation(entry, len(about), len(passing), "file", shown, today)


def check_expectation(
    entry: Expectation, measured: int, passing: int, thing: str, shown: Tuple[str, ...], today: datetime.date
) -> Iterator[UnmetExpectation]:
    """Yield what is wrong with an entry at the day ``today``.

    measured, passing  how many of the cells or files that it matches are measured, and pass against it
    thing              what they are called: ``cell``, ``file``
    shown              names of those that pass
    """
    if entry.review < today:
        yield UnmetExpectation(Trouble.EXPIRED, entry, "was to be reviewed by {}".format(entry.review))
    if not measured:
        yield UnmetExpectation(Trouble.UNMATCHED, entry, "it matches no measured " + thing)
    if passing:
        words = "{} of {} {}s work: what it was written for may be fixed".format(passing, measured, thing)
        yield UnmetExpectation(Trouble.UNEXPECTED_PASS, entry, words, shown)


def _parse_toml(text: str) -> Dict[str, Any]:
    """Raises :class:`ValueError` for text that is no TOML."""
    try:
        import tomllib
    except ImportError:  # before Python 3.11
        try:
            import tomli as tomllib  # type: ignore  # only there
        except ImportError:
            raise ValueError("before Python 3.11 the package tomli is needed") from None
    found: Dict[str, Any] = tomllib.loads(text)
    return found


def _read_entry(item: Mapping[str, Any], number: int) -> Expectation:
    for key in item:
        _require_known("key", key, _REQUIRED + _OPTIONAL)
    for key in _REQUIRED:
        if not item.get(key):
            raise ValueError("{} is missing".format(key))
    if not isinstance(item["review"], datetime.date):
        raise ValueError("review: {!r} is no date (2027-06-30 is)".format(item["review"]))
    allowed = [item["allowed"]] if isinstance(item["allowed"], str) else item["allowed"]
    for status in allowed:
        _require_known("status", str(status), [member.value for member in Status])
    text = {key: str(item.get(key, "")) for key in ("case", "reason") + _OPTIONAL}
    is_opset_in(1, text["opset"])
    return Expectation(number=number, allowed=frozenset(map(Status, allowed)), review=item["review"], **text)


def _require_known(kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known) or known
        raise ValueError("unknown {} {!r} (nearest: {})".format(kind, name, ", ".join(near)))
