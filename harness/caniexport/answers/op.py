"""Since when an operator of torch exports: its samples over the releases by every call, and the cases about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from caniexport import names, versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Mark, Message, Table
from caniexport.answers.installed import installations
from caniexport.answers.point import call_text
from caniexport.answers.select import require_exporter
from caniexport.answers.torch_operators import TOLD, OperatorRow, OperatorsSummary, declared_rules, name_keys
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OF_PYTHON, OPERATORS
from caniexport.model.status import Exporter, Status
from caniexport.names import plural
from caniexport.operators import operator_keys
from caniexport.store import Dataset
from caniexport.store.views import Views

_CALLS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
#: releases with a column on the first screen
_COLUMNS = 12
_NOTES = 3
#: any release that takes ``dynamo=``, as the answers about the newest release write calls
_NEWEST = "2.15"


@dataclass(frozen=True)
class SamplesAt:
    """How the samples of an operator end at a release, in one dtype and form, by one exporter."""

    rows: tuple[OperatorRow, ...]

    @property
    def passing(self) -> list[int]:
        """The measured opsets at which all of them pass."""
        return sorted(row.opset for row in self.rows if row.works and row.opset is not None)

    @property
    def best(self) -> OperatorRow:
        """The opset at which most of them pass."""
        return max(self.rows, key=lambda row: (row.passing, row.opset or 0))

    @property
    def mark(self) -> Mark:
        """``16+``, ``8-17``, ``2/3``, or the sign of how they end."""
        if self.passing:
            return Mark(Status.PASS, opset_range(self.passing, [row.opset or 0 for row in self.rows]))
        best = self.best
        return Mark(Status(best.status), f"{best.passing}/{best.calls}" if best.passing else "")


def opset_range(passing: Sequence[int], asked: Collection[int]) -> str:
    """``16+``: from the first on at all that were measured; else the runs of neighbors, ``8-14, 20``."""
    runs = versions.spans(passing, asked)
    first, last = runs[-1]
    if len(runs) == 1 and last == max(asked):
        return f"{first}+"
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def op(
    summary: OperatorsSummary | None, dataset: Dataset, name: str, findings: Mapping[str, tuple[str, ...]]
) -> Answer:
    """What is known of the operators of a name. Raises :class:`UnknownName` with the nearest."""
    about = _cases(dataset, name)
    try:
        every = summary.named(name) if summary else []
    except UnknownName:
        if not about.rows:
            raise
        every = []
    if not every and not about.rows:
        raise UnknownName(f"no operator samples were measured here, and no case is about {name!r}")
    if not summary or not every:
        said = f"No operator samples were measured, and {plural(len(about.rows), 'documented case')} about {name}."
        return Answer(
            said, AnswerOutcome.LISTED, (replace(about, shown=12),), more="caniexport case NAME tells of one."
        )
    first = summary.likeness(every[0], name)
    meant = [one for one in every if summary.likeness(one, name) == first]
    if len(meant) == 1:
        return _one(summary, dataset, meant[0], findings.get(meant[0], ()))
    ends = {one: _one(summary, dataset, one, ()) for one in meant}
    bad = {one: answer for one, answer in ends.items() if answer.outcome is not AnswerOutcome.WORKS}
    said = f"{len(bad)} of {len(meant)} operators of this name do not export with every call."
    if not bad:
        said = f"All {len(meant)} operators of this name export with every call."
    rows = tuple((one, *(_newest_of(answer, call) for call in _CALLS)) for one, answer in ends.items())
    columns = ("operator", *(call_text(summary.releases[-1], call) for call in _CALLS))
    outcome = AnswerOutcome.FAILS if bad else AnswerOutcome.WORKS
    return Answer(said, outcome, (Table("", columns, rows),), more=f"caniexport op {meant[0]} tells more of one.")


def is_sample(case: str) -> bool:
    """Whether a case is made of operator samples: ``op-cross``, ``promotion-sub/int64-float-left``."""
    return case.startswith(("op-", "promotion-"))


def sample(summary: OperatorsSummary, dataset: Dataset, name: str, asked: Mapping[str, str]) -> Answer:
    """How the samples of an operator in one dtype and form end: ``op-cross/float32-plain``; without these the operator.

    Raises :class:`UnknownName`.
    """
    case, _, variant = name.partition("/")
    kind, _, operator = case.partition("-")
    operator = OF_PYTHON.get(operator, operator) if kind == "promotion" else operator
    if operator not in summary.operators:
        raise names.unknown("case", case, [f"op-{known}" for known in summary.operators])
    if not variant:
        return _one(summary, dataset, operator, ())
    dtype, _, form = variant.partition("-")
    rows = [row for row in summary.of_operator(operator) if row.exporter and row.calls]
    known = dict.fromkeys(f"{row.dtype}-{row.form or 'plain'}" for row in rows)
    if variant not in known:  # the form of a sample has further words before it
        variant = names.require(f"variant of {case}", f"{dtype}-{form.partition('-')[2] or form}", known)
    rows = [row for row in rows if f"{row.dtype}-{row.form or 'plain'}" == variant]
    until = versions.resolve(asked.get("torch") or "latest", summary.releases)
    rows = [row for row in rows if versions.parse(row.torch) <= versions.parse(until)]
    if "exporter" in asked:
        rows = [row for row in rows if row.exporter == require_exporter(asked["exporter"])]
    if "opset" in asked:
        rows = [row for row in rows if str(row.opset) == asked["opset"]]
    measure = f"caniexport measure --corpus {OPERATORS} --release {until} --case {name}"
    if not any(row.torch == until for row in rows):
        return Answer(
            f"Not measured: {name} at torch {until}.", AnswerOutcome.NOT_MEASURED, more=f"{measure} measures it."
        )
    releases = versions.ordered(row.torch for row in rows)[::-1]
    by_call = {exporter: _along(rows, rows[0].dtype, exporter) for exporter in _CALLS}
    verdict, outcome = _verdict(f"{operator} {variant}", by_call, releases[0])
    tables = (_strip(variant, by_call, releases), replace(_failing(rows, releases[0]), shown=8))
    return Answer(verdict, outcome, tables, more=measure)


def _newest_of(answer: Answer, exporter: str) -> Cell:
    """How an operator ends in the newest release by a call, as the first table of its answer has it."""
    rows = answer.tables[0].rows if answer.tables else ()
    return next((row[1] for row in rows if row[0] == call_text(_NEWEST, exporter)), Mark(Status.NOT_RUN))


def _one(summary: OperatorsSummary, dataset: Dataset, name: str, findings: Iterable[str]) -> Answer:
    rows = [row for row in summary.of_operator(name) if row.exporter and row.dtype and row.calls]
    releases = versions.ordered(row.torch for row in rows)[::-1]
    if not rows:
        why = next((row.signature for row in summary.of_operator(name) if row.signature), "no sample can be a module")
        return Answer(f"Not measured: torch.{name}.", AnswerOutcome.NOT_MEASURED, notes=(why or "",))
    newest = releases[0]
    plain = [row for row in rows if not row.form] or rows
    dtypes = dict.fromkeys(row.dtype for row in sorted(plain, key=_rank))
    dtype = next(iter(dtypes))
    by_call = {exporter: _along(plain, dtype, exporter) for exporter in _CALLS}
    verdict, outcome = _verdict(name.removeprefix("nn.functional."), by_call, newest)
    notes = (
        *_companions(dataset, by_call[Exporter.DYNAMO.value], newest),
        *_becomes(rows, dtype, newest),
        *_declared(dataset, name, newest),
        *findings,
        *_left_out(summary, name),
    )
    tables = (
        _strip(dtype or "", by_call, releases),
        _now("other dtypes", [row for row in plain if row.dtype != dtype], newest, "dtype", shown=8),
        _now("other forms", [row for row in rows if row.form], newest, "form", shown=0),
        _failing(rows, newest),
        _cases(dataset, name),
        Table("notes", ("",), tuple((note,) for note in notes[_NOTES:]), shown=0),
    )
    about = len(tables[-2].rows)
    more = f"{plural(about, 'documented case')} about it: caniexport table --op {name}" if about else ""
    return Answer(verdict, outcome, tables, notes[:_NOTES], more=more or "--all lists forms, messages and notes.")


def _rank(row: OperatorRow) -> tuple[int, str]:
    return TOLD.index(row.dtype) if row.dtype in TOLD else len(TOLD), row.dtype or ""


def _along(rows: Iterable[OperatorRow], dtype: str | None, exporter: str) -> dict[str, SamplesAt]:
    found: dict[str, list[OperatorRow]] = {}
    for row in rows:
        if row.dtype == dtype and row.exporter == exporter:
            found.setdefault(row.torch, []).append(row)
    return {torch: SamplesAt(tuple(mine)) for torch, mine in found.items()}


def _verdict(name: str, by_call: Mapping[str, Mapping[str, SamplesAt]], newest: str) -> tuple[str, AnswerOutcome]:
    """``grid_sample exports since 2.4.1 (dynamo=False, opset 20+) and 2.6.0 (dynamo=True, 18+).``"""
    calls: list[str] = []
    for exporter, along in by_call.items():
        since = _since(along, newest)
        if since:
            opsets = f"{'' if calls else 'opset '}{along[newest].mark.text}"
            calls.append(f"{since} ({call_text(newest, exporter)}, {opsets})")
    ends = {exporter: along[newest].best for exporter, along in by_call.items() if newest in along}
    missing = [_how(row, newest) for exporter, row in ends.items() if not by_call[exporter][newest].passing]
    if calls:
        rest = f", {' and '.join(missing)}" if missing else ""
        outcome = AnswerOutcome.FAILS if missing else AnswerOutcome.WORKS
        return f"{name} exports since {' and '.join(calls)}{rest}.", outcome
    worked = versions.newest(torch for along in by_call.values() for torch, here in along.items() if here.passing)
    until = f" (all until {_series(worked)})" if worked else ""
    if any(row.passing for row in ends.values()):
        best = max(ends.values(), key=lambda row: row.passing)
        share = f"{best.passing} of {best.calls} samples pass"
        return f"{name} exports in part at torch {newest}: {share}{until}.", AnswerOutcome.FAILS
    wrong = any(row.status == Status.MISMATCH.value for row in ends.values())
    how = "gives wrong values" if wrong else "does not export"
    return f"{name} {how} at torch {newest}{until}.", AnswerOutcome.FAILS


def _how(row: OperatorRow, newest: str) -> str:
    """``not with dynamo=False``, ``in part with dynamo=True``, ``wrong values with dynamo=True``."""
    how = "wrong values" if row.status == Status.MISMATCH.value else "in part" if row.passing else "not"
    return f"{how} with {call_text(newest, row.exporter or '')}"


def _since(along: Mapping[str, SamplesAt], newest: str) -> str:
    """The first of the newest releases in a row at which the samples pass; empty where they do not in the newest."""
    first = ""
    for torch in versions.ordered(along)[::-1]:
        if not along[torch].passing:
            break
        first = torch
    return first if newest in along else ""


def _strip(dtype: str, by_call: Mapping[str, Mapping[str, SamplesAt]], releases: Sequence[str]) -> Table:
    """The releases, newest first; those that a screen has no room for are folded."""
    rows = tuple(
        (call_text(releases[0], exporter), *(_cell(along.get(torch)) for torch in releases))
        for exporter, along in by_call.items()
        if along
    )
    return Table("", (dtype, *map(_series, releases)), rows, folded=tuple(map(_series, releases[_COLUMNS:])))


def _series(torch: str) -> str:
    """``2.15``: of each series one release is measured."""
    return ".".join(torch.split(".")[:2])


def _cell(found: SamplesAt | None) -> Cell:
    return found.mark if found else Mark(Status.NOT_RUN)


def _now(title: str, rows: Iterable[OperatorRow], newest: str, by: str, shown: int) -> Table:
    """How samples end in the newest release, a line for each dtype or form."""
    lines: dict[str, dict[str, list[OperatorRow]]] = {}
    for row in rows:
        if row.torch == newest and row.exporter:
            key = row.dtype if by == "dtype" else f"{row.form} {row.dtype}"
            lines.setdefault(key or "", {}).setdefault(row.exporter, []).append(row)
    made = tuple(
        (key, *(_cell(SamplesAt(tuple(line[name])) if name in line else None) for name in _CALLS))
        for key, line in sorted(lines.items())
    )
    return Table(title, (by, *(call_text(newest, name) for name in _CALLS)), made, shown=shown)


def _failing(rows: Iterable[OperatorRow], newest: str) -> Table:
    """Why samples do not pass in the newest release, each message once."""
    found: dict[str, list[OperatorRow]] = {}
    for row in rows:
        if row.torch == newest and not row.works and row.signature:
            found.setdefault(row.signature, []).append(row)
    made = tuple(
        (
            ", ".join(dict.fromkeys(f"{row.dtype or ''} {call_text(newest, row.exporter or '')}" for row in mine)),
            Message(signature),
            mine[0].failing,
        )
        for signature, mine in found.items()
    )
    return Table("what fails", ("dtype and call", "error", "the first sample that fails"), made, shown=0)


def _companions(dataset: Dataset, along: Mapping[str, SamplesAt], newest: str) -> list[str]:
    """The companion packages with which dynamo first exports it: an older onnxscript has fewer translations."""
    since = _since(along, newest)
    own = [item.text for item in installations(dataset.of(NEWEST)) if item.torch == since and item.text]
    return [f"dynamo=True was measured at torch {since} with {own[0]}."] if since and own else []


def _becomes(rows: Iterable[OperatorRow], dtype: str | None, newest: str) -> list[str]:
    files = [row for row in rows if row.ops and row.torch == newest and row.dtype == dtype and not row.form]
    ops = dict.fromkeys(item.partition("*")[0] for row in files for item in (row.ops or "").split())
    return [f"ONNX operators in its file: {', '.join(ops)}."] if ops else []


def _declared(dataset: Dataset, name: str, newest: str) -> list[str]:
    """The opsets for which the newest release registers a symbolic or a translation."""
    keys = name_keys(name)
    found: dict[str, list[str]] = {}
    for exporter, key, opsets in declared_rules(dataset, newest):
        if key in keys and opsets not in found.setdefault(exporter, []):
            found[exporter].append(opsets)
    rules = "; ".join(
        f"{call_text(newest, exporter)} at opset {', '.join(opsets)}" for exporter, opsets in found.items()
    )
    return [f"Registered by torch {newest}: {rules}."] if rules else []


def _left_out(summary: OperatorsSummary, name: str) -> list[str]:
    missing = {row.dtype or "": row.signature or "" for row in summary.of_operator(name) if not row.exporter}
    return [f"Not measured in {dtype}: {why}." for dtype, why in missing.items() if dtype and why]


def _cases(dataset: Dataset, name: str) -> Table:
    """The documented cases about an operator, with the number of their workarounds."""
    rows = Views.of(dataset).fetch(
        """SELECT o."case", o.title, list_concat(o.aten_ops, o.onnx_ops), count(w.variant) FROM original o
            LEFT JOIN workaround w ON w."case" = o."case" GROUP BY ALL ORDER BY o."case\""""
    )
    keys = name_keys(name)
    made = tuple(
        (title, count, Link(case, "case", {"case": case}))
        for case, title, ops, count in rows
        if keys & operator_keys(ops or ())
    )
    return Table("documented cases", ("case", "workarounds", "name"), made, shown=0)
