"""Is this workaround still needed: what to do with each at a release, by every call, and since when."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Code, Link, Mark, Table
from caniexport.answers.helping import mark_changed_values
from caniexport.answers.moves import EASE
from caniexport.answers.point import Points, call_text
from caniexport.answers.scope import Scope, require_cases
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Exporter, Status
from caniexport.names import plural
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: what to do, by verdict
ADVICE = {
    Workaround.NEEDED: "keep",
    Workaround.OBSOLETE: "remove",
    Workaround.HARMFUL: "remove: does harm",
    Workaround.BROKEN: "does not help",
    Workaround.UNKNOWN: "not measured",
}
#: exporters with a column of their own on the first screen
_SHOWN = (Exporter.TRACE.value, Exporter.DYNAMO.value, Exporter.DEFAULT.value)


@dataclass(frozen=True)
class Standing:
    """A workaround with one exporter at a release: its verdict, since which release, and the status of original and
    workaround there.

    ``before`` is the verdict on the release before ``since``, ``works_since`` the release from which on the original
    exports; both ``None`` where there is none. ``refuses``: the workaround works, and onnx's checker refuses its file.
    """

    case: str
    variant: str
    title: str
    note: str
    caution: bool
    changes_values: bool
    exporter: str
    opset: int | None
    verdict: Workaround
    since: str | None
    before: Workaround | None
    plain: Status | None
    workaround: Status | None
    works_since: str | None
    refuses: bool = False


def read_standings(
    dataset: Dataset, torch: str, scope: Scope, opset: int | None = None, exporters: Sequence[str] = ()
) -> list[Standing]:
    """Read the verdict of every workaround in scope at a measured release, the first to try first.

    Each release is judged at its own opset, or at ``opset`` where it takes that.
    """
    views = Views.of(dataset)
    pairs = views.keep(_pair_sql(dataset.profile, scope, opset, exporters))
    rows = views.fetch(
        f"""WITH here AS (SELECT * FROM {pairs} WHERE torch = {sql.literal(torch)}),
        until AS (SELECT pair.* FROM {pairs} pair JOIN here USING ("case", variant, exporter) WHERE pair.n <= here.n),
        other AS (
            SELECT "case", variant, exporter,
                max(until.n) FILTER (until.verdict <> here.verdict AND until.verdict <> 'unknown') AS n,
                arg_max(until.verdict, until.n) FILTER (until.verdict NOT IN (here.verdict, 'unknown')) AS verdict,
                max(until.n) FILTER (NOT works(until.plain)) AS failed
            FROM until JOIN here USING ("case", variant, exporter) GROUP BY ALL),
        began AS (
            SELECT "case", variant, exporter,
                arg_min(until.torch, until.n) FILTER (until.verdict = here.verdict AND until.n > coalesce(other.n, -1))
                    AS since,
                arg_min(until.torch, until.n) FILTER (works(until.plain) AND until.n > coalesce(other.failed, -1))
                    AS works_since
            FROM until JOIN here USING ("case", variant, exporter) JOIN other USING ("case", variant, exporter)
            GROUP BY ALL)
        SELECT o."case", w.variant, o.title, w.note, w.caution, w.changes_values, exporter, here.opset, here.verdict,
            began.since, other.verdict, here.plain, here.workaround, began.works_since, here.refuses
        FROM here JOIN began USING ("case", variant, exporter) JOIN other USING ("case", variant, exporter)
        JOIN variants w ON w."case" = here."case" AND w.variant = here.variant
        JOIN original o ON o."case" = here."case"
        ORDER BY o.theme, o."case", w.caution, {EASE}, exporter"""
    )
    return [_make_standing(row) for row in rows]


def _make_standing(row: Sequence[Any]) -> Standing:
    kinds = {8: Workaround, 10: Workaround, 11: Status, 12: Status}
    return Standing(*(kinds[at](value) if value and at in kinds else value for at, value in enumerate(row)))


def _pair_sql(profile: str, scope: Scope, opset: int | None, exporters: Sequence[str]) -> str:
    """Original and workaround in each cell at which a release is judged, as SQL, with the verdict."""
    at = "(c.exporter = 'default' OR is_own)" if opset is None else f"call.opset = {opset}"
    names = f"AND c.exporter IN ({', '.join(map(sql.literal, exporters))})" if exporters else ""
    return f"""WITH judged AS (
            SELECT c.torch, n, c.exporter, c.opset, c."case", c.variant, c.status, c.checker
            FROM cells c JOIN version USING (torch)
            LEFT JOIN call ON (call.profile, call.torch, call.exporter, call.opset) =
                (c.profile, c.torch, c.exporter, c.opset)
            WHERE c.profile = {sql.literal(profile)} AND c.provider = 'cpu' {names}
                AND {at} AND {scope.condition.replace('o."case"', 'c."case"')})
        SELECT p.torch, p.n, p.exporter, p.opset, p."case", o.variant, p.status AS plain, w.status AS workaround,
            verdict(p.status, w.status) AS verdict,
            coalesce(works(w.status) AND w.checker IN ('strict', 'plain', 'crash'), false) AS refuses
        FROM judged p JOIN variants o ON o."case" = p."case" AND o.variant <> 'plain' AND o.kind <> 'version-upgrade'
        LEFT JOIN judged w ON w.torch = p.torch AND w.exporter = p.exporter AND w.opset IS NOT DISTINCT FROM p.opset
            AND w."case" = p."case" AND w.variant = o.variant
        WHERE p.variant = 'plain' AND o.corpus <> 'canary' AND {scope.of_variants("o")}"""


def answer_workaround(
    dataset: Dataset, scope: Scope, torch: str = "", opset: int | None = None, exporters: Sequence[str] = ()
) -> Answer:
    """Answer what to do with the workarounds in scope at a release, the newest measured where none is named.

    Raises :class:`UnknownName`.
    """
    require_cases(scope)
    points = Points(dataset)
    point, notes = points.find({"torch": torch} if torch else {})
    found = read_standings(dataset, point.torch, scope, opset, exporters)
    if not torch:
        notes.append(f"torch {point.torch}, the newest measured: --torch names yours")
    installed = read_environments(points.views, scope)
    if not found and not installed:
        asked = f", opset {opset}" if opset else ""
        verdict = f"Not measured: no workaround of what was asked for at torch {point.torch}{asked}."
        return Answer(verdict, AnswerOutcome.NOT_MEASURED, notes=tuple(notes))
    found = found or installed
    sound = [item for item in found if not item.caution] or found
    wrong = [item for item in found if item.caution and sound is not found]
    verdict, outcome = _choose_verdict(
        sound, point.torch, _count_unmeasured(points.views, scope, {item.case for item in found})
    )
    tables = (
        _advice_table("", sound, point.torch, shown=14),
        _advice_table("known to be wrong or partial", wrong, point.torch, shown=0),
        _advice_table(
            "workarounds of what is installed together", installed if found is not installed else [], "", shown=0
        ),
        _evidence_table([*found, *(installed if found is not installed else [])], point.torch),
    )
    return Answer(verdict, outcome, tables, tuple(notes), more="--all: what each does, since when, and the evidence.")


def _count_unmeasured(views: Views, scope: Scope, found: Collection[str]) -> int:
    """Count the cases in scope that have workarounds, and no row of their original there."""
    rows = views.fetch(
        f"""SELECT DISTINCT o."case" FROM original o JOIN variants w ON w."case" = o."case" AND w.variant <> 'plain'
            AND w.kind <> 'version-upgrade' WHERE {scope.condition} AND {scope.of_variants("w")}"""
    )
    return len({case for (case,) in rows} - set(found))


def read_environments(views: Views, scope: Scope) -> list[Standing]:
    """Read the verdicts of workarounds of environment cases, which are about no release."""
    if not views.fetch(f"SELECT 1 FROM environment o WHERE {scope.condition} LIMIT 1"):
        return []
    rows = views.fetch(
        f"""SELECT o."case", w.variant, o.title, w.note, w.caution, w.changes_values, '', NULL,
            verdict(p.status, e.status), NULL, NULL, p.status, e.status, NULL
        FROM variants o JOIN variants w ON w."case" = o."case" AND {scope.of_variants("w")} AND w.variant <> 'plain'
        JOIN cells p ON p."case" = o."case" AND p.variant = 'plain' AND p.torch IS NULL
        LEFT JOIN cells e ON e."case" = o."case" AND e.variant = w.variant AND e.torch IS NULL
        WHERE o.variant = 'plain' AND {scope.condition} ORDER BY o."case", w.variant"""
    )
    return [_make_standing(row) for row in rows]


def _choose_verdict(found: Sequence[Standing], torch: str, without_row: int) -> tuple[str, AnswerOutcome]:
    """Return what to do, in one line; ``without_row`` cases have no row there."""
    by_case: dict[str, list[Standing]] = {}
    for item in found:
        by_case.setdefault(item.case, []).append(item)
    if len(by_case) == 1 and not without_row:
        return _judge_case(found, torch)
    needs = {case: _needing_exporters(items) for case, items in by_case.items()}
    needed = [case for case, calls in needs.items() if calls]
    failing = {item.case for item in found if item.verdict is Workaround.BROKEN}
    broken = [case for case in by_case if not needs[case] and case in failing]
    known = {item.case for item in found if item.verdict is not Workaround.UNKNOWN}
    cases, missing = plural(len(by_case) + without_row, "case"), len(by_case) - len(known) + without_row
    rest = f", {missing} not measured" if missing else ""
    if needed:
        none = f", no workaround helps for {len(broken)}" if broken else ""
        return f"Needed for {len(needed)} of {cases} at torch {torch}{none}{rest}.", AnswerOutcome.LISTED
    if broken:
        return f"No workaround helps for {len(broken)} of {cases} at torch {torch}{rest}.", AnswerOutcome.LISTED
    if not known:
        return f"Not measured: none of {cases} at torch {torch}.", AnswerOutcome.NOT_MEASURED
    if missing:
        return f"Not needed for {len(known)} of {cases} at torch {torch}{rest}.", AnswerOutcome.LISTED
    return f"Not needed: {cases} export at torch {torch} without a workaround.", AnswerOutcome.WORKS


def _judge_case(items: Sequence[Standing], torch: str) -> tuple[str, AnswerOutcome]:
    needed = _needing_exporters(items)
    called = {name: _call_heading(torch, name) for name in dict.fromkeys(item.exporter for item in items)}
    if needed:
        helping = next(item for item in items if item.verdict is Workaround.NEEDED)
        values = ", which changes values" if helping.changes_values else ""
        by = "" if len(needed) == len(called) else f" with {' and '.join(called[name] for name in needed)}"
        return f"Needed{by} at torch {torch}: use {helping.variant}{values}.", AnswerOutcome.LISTED
    broken = list(dict.fromkeys(item.exporter for item in items if item.verdict is Workaround.BROKEN))
    if broken:
        several = len({item.variant for item in items}) > 1
        text = "none of the measured workarounds helps" if several else f"{items[0].variant} does not help"
        by = "" if len(broken) == len(called) else f" with {' and '.join(called[name] for name in broken)}"
        return f"Fails{by} at torch {torch}: {text}.", AnswerOutcome.FAILS
    if all(item.verdict is Workaround.UNKNOWN for item in items):
        return f"Not measured at torch {torch}.", AnswerOutcome.NOT_MEASURED
    since = {item.exporter: item.works_since for item in items if item.works_since}
    releases = " and ".join(f"{since[name]} ({called[name]})" for name in _SHOWN[:2] if name in since)
    return (
        f"Not needed at torch {torch}: the original exports{f' since {releases}' if releases else ''}.",
        AnswerOutcome.WORKS,
    )


def _needing_exporters(items: Iterable[Standing]) -> list[str]:
    """Return the exporters with which some workaround is needed."""
    return list(dict.fromkeys(item.exporter for item in items if item.verdict is Workaround.NEEDED))


def _call_heading(torch: str, exporter: str) -> str:
    """Return the heading of a call; an environment case has no call."""
    return call_text(torch, exporter) if exporter not in ("", Exporter.DEFAULT.value) else exporter or "as installed"


def _advice_table(title: str, found: Sequence[Standing], torch: str, shown: int) -> Table:
    """Return a line for each workaround, needed ones first, with what to do by each call."""
    exporters = [name for name in (*_SHOWN, Exporter.SCRIPT.value, "") if any(item.exporter == name for item in found)]
    lines: dict[tuple[str, str], dict[str, Standing]] = {}
    for item in found:
        lines.setdefault((item.case, item.variant), {})[item.exporter] = item
    needed = {case for (case, _), line in lines.items() if _needing_exporters(line.values())}
    rows: list[tuple[Cell, ...]] = []
    for (case, variant), line in sorted(lines.items(), key=lambda pair: pair[0][0] not in needed):
        first = next(iter(line.values()))
        asked = {"case": case, "variant": variant, "torch": torch}
        verdicts = [line[name].verdict if name in line else Workaround.UNKNOWN for name in exporters]
        cells = (Mark(verdict, ADVICE[verdict]) for verdict in verdicts)
        rows.append((mark_changed_values(variant, first.changes_values), *cells, first.note, Link(case, "case", asked)))
    columns = ("workaround", *(_call_heading(torch, name) for name in exporters), "what it does", "case")
    scripted = _call_heading(torch, Exporter.SCRIPT.value) if len(exporters) > 1 else ""
    return Table(title, columns, tuple(rows), shown=shown, folded=("what it does", scripted))


def _evidence_table(found: Iterable[Standing], torch: str) -> Table:
    """Return the outcome of original and workaround in the cells behind the verdicts."""
    rows = tuple(
        (
            item.variant,
            Code(_call_heading(torch, item.exporter)),
            item.opset,
            Mark(item.verdict),
            item.since or "",
            item.before and Mark(item.before),
            item.plain and Mark(item.plain),
            item.workaround and Mark(item.workaround),
            "refuses the file" if item.refuses else "",
            Link(item.case, "case", {"case": item.case, "variant": item.variant, "torch": torch}),
        )
        for item in found
    )
    columns = (
        "workaround",
        "call",
        "opset",
        "verdict",
        "since",
        "before",
        "original",
        "with it",
        "onnx's checker",
        "case",
    )
    return Table("evidence", columns, rows, shown=0)


def list_verdicts(answer: Answer) -> set[str]:
    """Return the verdicts in the first table of an answer."""
    first = next((table for table in answer.tables if table.rows), None)
    if first is None:
        return {Workaround.UNKNOWN.value}
    return {str(cell.word.value) for row in first.rows for cell in row if isinstance(cell, Mark)}
