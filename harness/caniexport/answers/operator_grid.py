"""Operators over the torch releases: all of them in a table, and one with a line for each dtype, form and exporter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import (
    TOLD,
    OperatorRow,
    OperatorsSummary,
    last_run,
    partly_text,
    passed_text,
)
from caniexport.answers.wrong_outputs import tell_wrong
from caniexport.model.status import WORKS, Status

_WORDS = [status.value for status in WORKS]
#: the rows of plain calls, and of each operator the place of the dtype that it is told by
OF_TOLD = (
    "WITH plain AS (SELECT *, list_position(?, dtype) AS place FROM {} WHERE form IS NULL AND exporter IS NOT NULL)"
    ", told AS (SELECT op, min(place) AS place FROM plain GROUP BY op)"
)
#: how many calls of it end how at each opset
_TOLD_ROWS = (
    f"{OF_TOLD} SELECT op, dtype, exporter, torch, list(opset) FILTER (list_contains(?, status)), "
    "arg_max(status, (passing, opset)), max(passing), arg_max(calls, (passing, opset)), any_value(arguments), "
    "list((opset, passing, calls) ORDER BY opset) "
    "FROM plain JOIN told USING (op, place) WHERE calls > 0 GROUP BY ALL"
)


@dataclass(frozen=True)
class OperatorCell:
    """How the calls of a line end in a release: at which of the opsets that were asked all of them pass.

    status  pass where they do at every opset, degraded where they do at some, else the worst where most pass
    said    what the first call that does not pass there is given, and how it ends
    share   ``2/3`` where some of the calls pass, and all at no opset: the most that do at one
    partly  how many pass at which opsets, where some do and some do not: ``2 of 3 calls at opset 17``
    wrong   what that first call gives where it exports and runs: ``gives float32 in place of float16``
    moved   the opsets at which all pass, by a file of another opset than asked for
    """

    passing: tuple[int, ...]
    asked: tuple[int, ...]
    status: Status
    said: str = ""
    share: str = ""
    partly: str = ""
    wrong: str = ""
    moved: tuple[int, ...] = ()
    rows: tuple[OperatorRow, ...] = field(default=(), repr=False)

    def at(self, opset: int) -> OperatorCell:
        """The same at one of the opsets that were asked."""
        return _cell([row for row in self.rows if row.opset == opset])

    @property
    def opsets(self) -> str:
        """``8-17 of 8-20``, with a dash as it is printed."""
        passing, asked = versions.opset_text(self.passing), versions.opset_text(self.asked)
        return passing if passing == asked else f"{passing or 'none'} of {asked}"


@dataclass(frozen=True)
class TimelineLine:
    """A dtype and form of an operator with an exporter, by release."""

    dtype: str
    form: str
    exporter: str
    cells: dict[str, OperatorCell] = field(default_factory=dict)


@dataclass(frozen=True)
class ListedEntry:
    """An operator in the table of all, in the dtype that it is told by.

    ``now`` is how it ends in its newest release by exporter, ``passing`` the opsets there, ``partly`` at which others
    some of its calls do, ``share`` how many of its calls pass where not all do, ``since`` the release from which on all
    pass at some opset, with that opset where it is none of these: ``1.12.1 (opset 16)``. Where they do not now,
    ``passed`` says where they last did: ``until 2.10.0``.
    """

    op: str
    dtype: str
    now: dict[str, Status]
    passing: dict[str, str]
    share: dict[str, str]
    since: dict[str, str]
    passed: dict[str, str]
    torch: str
    partly: dict[str, str]


@dataclass(frozen=True)
class FailingOperators:
    """The operators of the database of which no opset passes every call by an exporter in a release.

    ``told`` is that in words: «By dynamo, 120 of 520 operators of torch do not pass …».
    """

    exporter: str
    torch: str
    entries: tuple[ListedEntry, ...]
    told: str


def failing_operators(every: Sequence[ListedEntry], exporter: str, torch: str) -> FailingOperators:
    """Of the operators as they are in a release, those that fail by an exporter."""
    asked = [entry for entry in every if entry.torch == torch and exporter in entry.now]
    found = tuple(entry for entry in asked if entry.now[exporter] is not Status.PASS)
    counted = f"{len(found)} of {len(asked)} operators of torch do not pass every call at any opset"
    return FailingOperators(exporter, torch, found, f"By {EXPORTER_SHORT[exporter]}, {counted} in torch {torch}")


def failing_at(summary: OperatorsSummary, exporter: str, torch: str = "") -> FailingOperators:
    """The operators that fail by an exporter in a release, or in the newest where that was not measured."""
    release = torch if torch in summary.releases else summary.releases[-1]
    return failing_operators(every_operator(summary, release), exporter, release)


def every_operator(summary: OperatorsSummary, until: str = "") -> list[ListedEntry]:
    """Every operator that has a call that was measured, by name, as it is in a release; without one in the newest."""
    releases = summary.releases[: summary.releases.index(until) + 1] if until else summary.releases
    found: dict[str, dict[str, dict[str, _ToldEnd]]] = defaultdict(lambda: defaultdict(dict))
    dtypes = {}
    for op, dtype, exporter, torch, opsets, *worst in summary.fetch(_TOLD_ROWS, [list(TOLD), _WORDS]):
        if torch in releases:
            found[op][exporter][torch] = _ToldEnd(tuple(opsets or ()), *worst)
            dtypes[op] = dtype
    return [_entry(op, dtypes[op], found[op], releases) for op in sorted(found)]


class _ToldEnd(NamedTuple):
    """At which opsets all calls pass; status, calls that pass and calls at the newest where most pass; the calls; and
    of each opset how many of them pass.
    """

    opsets: tuple[int, ...]
    worst: str
    passing: int
    calls: int
    arguments: str | None
    counts: Sequence[tuple[int, int, int]]


def _entry(op: str, dtype: str, by: Mapping[str, Mapping[str, _ToldEnd]], releases: Sequence[str]) -> ListedEntry:
    newest = max((torch for ends in by.values() for torch in ends), key=releases.index)
    now = {exporter: ends[newest] for exporter, ends in by.items() if newest in ends}
    return ListedEntry(
        op,
        dtype,
        {exporter: Status.PASS if end.opsets else Status(end.worst) for exporter, end in now.items()},
        {exporter: versions.opset_text(end.opsets) for exporter, end in now.items()},
        {exporter: _share(end.passing, end.calls) for exporter, end in now.items() if not end.opsets},
        {exporter: _since(by[exporter], end) for exporter, end in now.items() if end.opsets},
        {exporter: _passed(by[exporter], end) for exporter, end in now.items() if not end.opsets},
        newest,
        {exporter: partly_text(end.counts) for exporter, end in now.items() if end.opsets},
    )


def _since(ends: Mapping[str, _ToldEnd], now: _ToldEnd) -> str:
    since, _ = _last_run(ends)
    first = min(ends[since].opsets)
    return since if first in now.opsets else f"{since} (opset {first})"


def _passed(ends: Mapping[str, _ToldEnd], now: _ToldEnd) -> str:
    """Where the same calls last passed."""
    _, until = _last_run(ends)
    same_calls = until and ends[until].arguments == now.arguments
    return f"until {passed_text(until, until, ends[until].opsets)}" if same_calls else ""


def _last_run(ends: Mapping[str, _ToldEnd]) -> tuple[str, str]:
    return last_run([torch for torch, end in ends.items() if end.opsets], ends)


def _share(passing: int, calls: int) -> str:
    return f"{passing}/{calls}" if 0 < passing < calls else ""


def told_lines(summary: OperatorsSummary, op: str, dtype: str = "") -> list[TimelineLine]:
    """Those of plain calls in a dtype, without one in that which it is told by."""
    plain = [row for row in summary.of_operator(op) if row.exporter and row.calls and not row.form]
    dtype = dtype or min((row.dtype or "" for row in plain), key=_place_of, default="")
    return _lines(row for row in plain if (row.dtype or "") == dtype)


def _lines(rows: Iterable[OperatorRow]) -> list[TimelineLine]:
    groups: dict[tuple[str, str, str], dict[str, list[OperatorRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.exporter and row.calls:
            groups[row.dtype or "", row.form or "", row.exporter][row.torch].append(row)
    made = [TimelineLine(*place, {torch: _cell(own) for torch, own in by.items()}) for place, by in groups.items()]
    return sorted(made, key=lambda line: (line.form, *_place_of(line.dtype), line.exporter))


def _cell(rows: Sequence[OperatorRow]) -> OperatorCell:
    order = sorted(rows, key=lambda row: row.opset or 0)
    passing = tuple(row.opset or 0 for row in order if row.works)
    bad = [row for row in order if not row.works]
    shown = max(bad, key=lambda row: (row.passing, row.opset or 0), default=None)
    status = Status.PASS if shown is None else Status.DEGRADED if passing else Status(shown.status)
    said = f"{shown.failing or shown.sample}: {shown.signature}" if shown else ""
    wrong = tell_wrong(shown.signature) if shown else ""
    share = "" if passing or shown is None else _share(shown.passing, shown.calls)
    partly = partly_text((row.opset or 0, row.passing, row.calls) for row in order)
    moved = tuple(row.opset or 0 for row in order if row.status == Status.DEGRADED.value)
    return OperatorCell(
        passing, tuple(row.opset or 0 for row in order), status, said, share, partly, wrong, moved, tuple(order)
    )


def _place_of(dtype: str) -> tuple[int, str]:
    """Where a dtype is told: the first that an operator has is the one that it is told by."""
    return TOLD.index(dtype) if dtype in TOLD else len(TOLD), dtype
