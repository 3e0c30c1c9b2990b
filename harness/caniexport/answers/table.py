"""The table: cases, themes or operators down; releases, opsets, exporters, runtimes or packages across."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from caniexport import versions
from caniexport.answers.after_export import answer_files, answer_plugins, answer_tools
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Mark, Share, Table
from caniexport.answers.filters import Filters
from caniexport.answers.inventory import Inventory
from caniexport.answers.ledger import answer_ledger
from caniexport.answers.models import answer_models
from caniexport.answers.package_versions import read_package_versions, require_release
from caniexport.answers.scope import CaseSelection, select
from caniexport.answers.signs import CALLS, REFUSED, STATUS, exporter_rank
from caniexport.corpus.verdicts import find_worst
from caniexport.model.case import PLAIN
from caniexport.model.status import MEASURED, WORKS, Exporter, FixKind, Status
from caniexport.names import plural
from caniexport.store import Dataset, elsewhere, sql, which_row
from caniexport.store.elsewhere import OnRuntime
from caniexport.store.views import Views


class By(StrEnum):
    """What the columns are; by the last three a table is about what happens after the export."""

    TORCH = "torch"
    OPSET = "opset"
    EXPORTER = "exporter"
    RUNTIME = "runtime"
    PROVIDER = "provider"
    ONNXSCRIPT = "onnxscript"
    ONNX = "onnx"
    TOOL = "tool"
    PLUGIN = "plugin"
    FILE = "file"


class TableLines(StrEnum):
    """What the lines are."""

    CASES = "cases"
    THEMES = "themes"
    OPERATORS = "operators"
    MODELS = "models"
    PATCHES = "patches"


#: the calls of a table that names none
_BOTH = (Exporter.DYNAMO.value, Exporter.TRACE.value)
#: the mark of cells of this machine, where others measured the rest
_LOCAL = "*"
#: the row on the CPU of a cell that was measured on several providers
_ON_CPU = """QUALIFY provider = 'cpu' OR NOT coalesce(bool_or(provider = 'cpu') OVER (
    PARTITION BY profile, torch, "case", variant, exporter, opset), false)"""
#: lines on the first screen
_SHOWN = 30
#: statuses that are worse than an error: their signs are shown after the passing opsets
_WORSE = [status for status in Status if list(Status).index(status) > list(Status).index(Status.FAIL)]
_PACKAGES = (By.ONNXSCRIPT, By.ONNX)
_ON = "CASE coalesce({0}, 'cpu') WHEN 'cpu' THEN '' WHEN 'none' THEN ' (parse only)' ELSE ' on ' || {0} END"
_AT = {
    By.TORCH: "torch",
    By.OPSET: "coalesce(CAST(opset AS VARCHAR), 'default')",
    By.EXPORTER: "exporter",
    By.RUNTIME: f"coalesce(runtime || ' ' || runtime_version || {_ON.format('provider')}, 'none')",
    By.PROVIDER: "coalesce(provider, 'none')",
}
_Line = tuple[str, str, str]
#: a cell of an environment case: its case, variant, status and stage
_Installed = tuple[str, str, Status, str]
#: at each status the opsets (or releases) where it was seen, and whether onnx's checker refuses a file that works
_Ends = dict[Status, list[Any]]


def answer_table(
    dataset: Dataset,
    filters: Filters,
    by: By = By.TORCH,
    lines: TableLines = TableLines.CASES,
    on: OnRuntime | None = None,
    names: Sequence[str] = (),
) -> Answer:
    """Answer how the cells that the filters take end, on the runtime ``on`` or the one installed with each release.

    By tool, plugin or file it answers what becomes of their files, with the tools or plugins of these ``names``.
    Without a case or variant it has the originals. By anything but torch it is about one release, the newest
    measured where none is named. Raises :class:`UnknownName` for a filter value that nobody knows.
    """
    if by in (By.TOOL, By.PLUGIN, By.FILE):
        cells = "" if filters == Filters() else _cell_sql(dataset, select(dataset, filters), By.EXPORTER, None)
        if by is By.FILE:
            return answer_files(dataset, cells)
        return (answer_tools if by is By.TOOL else answer_plugins)(dataset, names, cells)
    if lines is TableLines.MODELS:
        return answer_models(dataset, filters)
    if lines is TableLines.PATCHES:
        return answer_ledger(dataset)
    known = Inventory.of(dataset)
    notes = [*known.notes]
    if by is not By.TORCH and not filters.torch and known.torch:
        filters = replace(filters, torch=(known.torch[-1],))
        notes.append(f"torch {known.torch[-1]}, the newest measured")
    if by in _PACKAGES:
        filters = replace(filters, torch=(require_release(known.torch, filters.torch, by.value),))
    installed = _read_installed(dataset, select(dataset, filters)) if lines is TableLines.CASES else []
    if not filters.exporters and by is not By.EXPORTER and (lines is not TableLines.CASES or not filters.cases):
        filters = replace(
            filters, exporters=_BOTH if lines is TableLines.CASES or by is By.OPSET else (Exporter.DEFAULT.value,)
        )
    if not filters.cases and not filters.variants:
        filters = replace(filters, variants=(PLAIN,))
    taken = select(dataset, filters)
    cells = _cell_sql(dataset, taken, by, on)
    if lines is not TableLines.CASES:
        return _answer_shares(dataset, cells, by, lines, notes)
    return _answer_cases(dataset, cells, taken, by, notes, installed)


def _cell_sql(dataset: Dataset, taken: CaseSelection, by: By, on: OnRuntime | None) -> str:
    """Return SQL for the cells: ``place`` is their column of the table, ``along`` what varies in it."""
    views = Views.of(dataset)
    column = _AT.get(by, "")
    profiles = {dataset.profile: ""}
    if by in _PACKAGES:
        found = read_package_versions(dataset, taken.torch[0], by.value)
        profiles = {item.profile: version for version, item in found.items()}
        words = " ".join(f"WHEN {sql.literal(name)} THEN {sql.literal(text)}" for name, text in profiles.items())
        column = f"CASE profile {words} END"
    for profile in profiles:
        views.include(profile)
    pairs = ", ".join(f"({sql.literal(case)}, {sql.literal(variant)})" for case, variant in taken.catalogue)
    # the second finds the rows, which lie by case
    conditions = [
        f'("case", variant) IN ({pairs or "(NULL, NULL)"})',
        f'"case" IN {sql.listed({case for case, _ in taken.catalogue})}',
        "exporter IS NOT NULL",
    ]
    for name, values in taken.where.items():
        if name not in ("case", "variant"):
            null = f" OR {name} IS NULL" if None in values else ""
            conditions.append(f"({name} IN {sql.listed(filter(None, values))}{null})")
    cells = f"SELECT * FROM cells WHERE profile IN {sql.listed(profiles)} AND {' AND '.join(conditions)}"
    if by not in (By.RUNTIME, By.PROVIDER):
        cells = f"{cells} {_ON_CPU}"
    if on is not None:
        runs = " AND ".join(f"{name} = {sql.literal(value)}" for name, (value,) in on.where.items())
        cells = elsewhere.move_cells(cells, f"SELECT * FROM replays WHERE {runs}", on)
    elif by in (By.RUNTIME, By.PROVIDER):
        more = "" if by is By.RUNTIME else f"AND NOT EXISTS (FROM ({cells}) k WHERE k.provider = r.provider)"
        cells = f"{cells} UNION ALL BY NAME ({_other_runtime_sql(cells, more)})"
    along = "torch" if by is By.OPSET else "coalesce(opset, opset_effective)"
    return f"SELECT *, {column} AS place, {along} AS along FROM ({cells})"


def _other_runtime_sql(cells: str, more: str) -> str:
    """Return SQL for the same files on every other runtime that has run them."""
    replays = which_row.choose_rows("SELECT * FROM replays", "runs", which_row.REPLAY)
    return f"""SELECT c.* REPLACE (r.runtime AS runtime, r.runtime_version AS runtime_version, r.provider AS provider,
            r.origin AS origin, r.stage AS stage,
            CASE WHEN r.status = 'pass' AND ({elsewhere.NOT_AS_ASKED}) THEN 'degraded' ELSE r.status END AS status)
        FROM ({cells}) c JOIN ({replays}) r ON c.bundle = r.bundle
            AND (r.session IS NOT NULL) = ((c."case", c.variant) IN
                (SELECT ("case", variant) FROM variants WHERE kind = '{FixKind.RUNTIME_OPTION.value}'))
        WHERE (r.runtime, r.runtime_version, r.provider) IS DISTINCT FROM (c.runtime, c.runtime_version, c.provider)
            {more}"""


def _answer_cases(
    dataset: Dataset, cells: str, taken: CaseSelection, by: By, notes: list[str], installed: Sequence[_Installed]
) -> Answer:
    found = Views.of(dataset).fetch(
        f"""SELECT "case", variant, {"''" if by is By.EXPORTER else "exporter"} AS exporter, place, status,
            list(DISTINCT along), count(*), bool_or(works(status) AND checker <> 'ok'),
            count(*) FILTER (origin = 'local')
        FROM ({cells}) GROUP BY ALL"""
    )
    lines: dict[_Line, dict[str, _Ends]] = {}
    counts: dict[_Line, dict[str, Share]] = {}
    signs: dict[tuple[_Line, str], set[str]] = {}
    local = sum(row[-1] for row in found)
    is_mixed = 0 < local < sum(row[-3] for row in found)
    for case, variant, exporter, at, status, along, count, refuses, here in found:
        line, word = (case, variant, exporter), Status(status)
        lines.setdefault(line, {}).setdefault(at, {})[word] = along
        share = counts.setdefault(line, {}).get(at, Share(0, 0))
        counts[line][at] = Share(share.works + count * (word in WORKS), share.measured + count * _is_judged(word))
        signs.setdefault((line, at), set()).update(REFUSED * bool(refuses), _LOCAL * (here > 0 and is_mixed))
    if taken.statuses:
        lines = {line: ends for line, ends in lines.items() if taken.statuses & set().union(*ends.values())}
    several = len(taken.torch) > 1 and by not in (By.TORCH, By.OPSET)
    columns = _sort_columns({at for ends in lines.values() for at in ends}, by)
    marks: dict[_Line, list[Cell]] = {}
    order = {key: index for index, key in enumerate(taken.catalogue)}
    for line in sorted(lines, key=lambda line: (order[line[:2]], exporter_rank(line[2]))):
        marks[line] = [
            counts[line].get(at, Share(0, 0))
            if several
            else _make_mark(ends, taken.torch if by is By.OPSET else (), "".join(sorted(signs[line, at])))
            if (ends := lines[line].get(at))
            else Mark(Status.NOT_RUN)
            for at in columns
        ]
    used = set().union(*signs.values())
    notes += [f"{REFUSED} works, but onnx's checker rejects the file"] * (REFUSED in used)
    notes += [f"{_LOCAL} measured on this machine"] * is_mixed
    notes += ["every cell was measured on this machine"] * (local > 0 and not is_mixed)
    if installed and not columns:
        working = sum(status in WORKS for _, _, status, _ in installed)
        text = f"{working} of {plural(len(installed), 'variant')} work as installed."
        answer = Answer(text, AnswerOutcome.LISTED)
    else:
        answer = _choose_verdict(marks, columns, by, taken)
    shown = {line[:2] for line in lines}
    tables = (
        _matrix_table(marks, columns, taken, by),
        _environment_table(installed, taken),
        _unmeasured_table(
            dataset, [] if taken.statuses else [key for key in taken.catalogue if key not in shown], taken
        ),
    )
    more = "caniexport case NAME shows one."
    return replace(answer, tables=tables, notes=tuple(notes), more=more)


def _matrix_table(marks: Mapping[_Line, Sequence[Cell]], columns: Sequence[str], taken: CaseSelection, by: By) -> Table:
    """Return a line for each variant and call; one for all calls where the outcomes are the same."""
    by_variant: dict[tuple[str, str], dict[str, tuple[Cell, ...]]] = {}
    for (case, variant, exporter), row in marks.items():
        by_variant.setdefault((case, variant), {})[exporter] = tuple(row)
    rows: list[tuple[Cell, ...]] = []
    has_call = by is not By.EXPORTER
    filters = taken.filters
    alone = {"opset": filters.opsets, "provider": filters.providers, "torch": taken.torch if by is not By.TORCH else ()}
    place = {name: values[0] for name, values in alone.items() if len(values) == 1}
    for (case, variant), calls in by_variant.items():
        first = next(iter(calls.values()))
        alike = len(calls) > 1 and all(row == first for row in calls.values())
        for exporter, row in [("", first)] if alike else calls.items():
            named = {"exporter": exporter} if exporter else {}
            of = {"variant": variant} if variant != PLAIN else {}
            name = case if variant == PLAIN else f"{case}/{variant}"
            link = Link(name, "case", {"case": case, **of, **named, **place})
            called = CALLS.get(exporter, "") if exporter else "every call" if alike else ""
            what = taken.catalogue[case, variant].title if variant == PLAIN else ""
            rows.append((link, what, *([called] if has_call else []), *row))
    heads = ("case", "what fails", *(["call"] if has_call else []))
    named_columns = (CALLS.get(name, name) for name in columns)
    return Table(
        "", (*heads, *named_columns), tuple(rows), _SHOWN, folded=("what fails",), axis=by.value, heads=len(heads)
    )


def _make_mark(ends: _Ends, releases: Sequence[str], signs: str) -> Mark:
    """Return the passing opsets and the signs of what is worse than an error: ``16+``, ``8-14 ≠``."""
    order = list(releases)
    key = order.index if order else int
    at = {
        status.value: ", ".join(map(str, values)) if order else versions.opset_text(values)
        for status in Status
        if (along := ends.get(status)) and (values := sorted((value for value in along if value is not None), key=key))
    }
    lead = next((status for status in (Status.PASS, Status.DEGRADED) if status in ends), None)
    if lead is None:
        worst = find_worst(status for status in ends if status is not Status.UNSUPPORTED)
        open_ = Status.NOT_RUN in ends and worst in (Status.FAIL, None)
        return Mark(Status.NOT_RUN if open_ else worst or next(iter(ends)), signs, at)
    steps = [value for status, along in ends.items() if status is not Status.UNSUPPORTED for value in along]
    passing = [value for value in ends[lead] if value is not None]
    text = _range_text(passing, [value for value in steps if value is not None], order)
    worse = "".join(STATUS[status].sign for status in _WORSE if status in ends)
    return Mark(lead, " ".join(filter(None, (text, worse))) + signs, at)


def _range_text(passing: Collection[Any], tried: Collection[Any], order: Sequence[str]) -> str:
    """Return ``16+`` where all tried ones from there on pass; else the runs of neighbors; empty for a single one."""
    number = order.index if order else int
    names = {number(value): str(value) for value in tried}
    if order and len(order) == 1:
        return ""
    runs = versions.spans(map(number, passing), names)
    if len(runs) == 1 and runs[0][1] == max(names) and len(names) > 1:
        return f"{names[runs[0][0]]}+"
    return ", ".join(names[low] if low == high else f"{names[low]}-{names[high]}" for low, high in runs)


def _is_judged(status: Status) -> bool:
    """Return whether a status is about the model: a refused opset is not."""
    return status in MEASURED and status is not Status.UNSUPPORTED


def _sort_columns(found: Iterable[str], by: By) -> list[str]:
    """Return the columns, newest first."""
    if by is By.OPSET:
        return sorted(found, key=lambda text: (text == "default", int(text) if text.isdigit() else 0), reverse=True)
    if by is By.EXPORTER:
        return sorted(found, key=exporter_rank)
    if by is By.PROVIDER:
        return sorted(found, key=lambda text: (text != "cpu", text))
    if by is By.RUNTIME:
        names = sorted(found, key=lambda text: versions.parse(text.split()[1] if " " in text else "0"), reverse=True)
        # the runtime that is installed with torch comes first
        return sorted(names, key=lambda text: (text.split()[0] != "onnxruntime", text.split()[0], text.split()[2:]))
    return versions.ordered(found)[::-1]


def _choose_verdict(
    marks: Mapping[_Line, Sequence[Cell]], columns: Sequence[str], by: By, taken: CaseSelection
) -> Answer:
    """Answer how many of the originals work with each call: in the first column, by opset in any."""
    if not columns and taken.statuses:
        words = " or ".join(sorted(status.value for status in taken.statuses))
        return Answer(f"None of the measured cells ends with {words}.", AnswerOutcome.LISTED)
    if not columns:
        return Answer("Not measured: nothing that was asked for.", AnswerOutcome.NOT_MEASURED)
    asked = [line for line in marks if line[1] == PLAIN] or list(marks)
    ends: dict[str, list[bool]] = {}
    for line in asked:
        for at, cell in enumerate(marks[line]):
            call = columns[at] if by is By.EXPORTER else line[2]
            if by is By.OPSET:
                works_at = [works(other) for other in marks[line]]
                ends.setdefault(call, []).extend([True in works_at] * (at == 0 and set(works_at) != {None}))
            elif (by is By.EXPORTER or at == 0) and (end := works(cell)) is not None:
                ends.setdefault(call, []).append(end)
    where = _column_text(by, columns[0])
    if by in (By.OPSET, By.EXPORTER):
        where = f"torch {taken.torch[0]}" if len(taken.torch) == 1 else plural(len(taken.torch), "torch release")
    counts = [(CALLS.get(call, call), Share(sum(found), len(found))) for call, found in ends.items() if found]
    if not counts:
        cases = plural(len({line[0] for line in asked}), "case")
        return Answer(f"Not measured at {where}: {cases}.", AnswerOutcome.NOT_MEASURED)
    return Answer(f"At {where} {_count_text(counts)}.", AnswerOutcome.LISTED)


def works(cell: Cell) -> bool | None:
    """Return whether a cell of the table works; ``None`` where it is not about the model, as a refused opset."""
    if isinstance(cell, Share):
        return cell.works == cell.measured if cell.measured else None
    return cell.word in WORKS if isinstance(cell, Mark) and _is_judged(Status(cell.word)) else None


def _column_text(by: By, column: str) -> str:
    return column if by is By.RUNTIME else f"{by.value} {CALLS.get(column, column)}"


def _count_text(counts: Sequence[tuple[str, Share]]) -> str:
    """``10 of 18 cases work with dynamo=False, 13 of 17 with dynamo=True``: two calls have room in a line."""
    (first, share), *others = counts
    text = f"{share.works} of {share.measured} cases work"
    if share.measured == 1:
        text = "the case works" if share.works else "the case does not work"
    # the same number by two calls may be of other cases
    if share.works in (0, share.measured) and all(other == share for _, other in others):
        return f"{text}{' with every call' if others else f' with {first}' if first else ''}"
    more = [f"{other.works} of {other.measured} with {call}" for call, other in others]
    return ", ".join((f"{text} with {first}", *more[:1]))


def _read_installed(dataset: Dataset, taken: CaseSelection) -> list[_Installed]:
    """Read the cells of environment cases that the filters take; none for filters that those do not have."""
    if {"torch", "opset", "exporter", "provider"} & taken.where.keys():
        return []
    rows = Views.of(dataset).fetch(
        """SELECT "case", variant, status, stage FROM cells
            WHERE exporter IS NULL AND "case" IS NOT NULL AND profile = $1 ORDER BY torch, "case", variant""",
        [dataset.profile],
    )
    order = {key: number for number, key in enumerate(taken.catalogue)}
    found = [
        (case, variant, Status(status), stage) for case, variant, status, stage in rows if (case, variant) in order
    ]
    return sorted(found, key=lambda cell: order[cell[:2]])


def _environment_table(found: Iterable[_Installed], taken: CaseSelection) -> Table:
    """Cases about what can be installed and imported together, which have no exporter."""
    rows = tuple(
        (
            Link(case, "case", {"case": case, **({} if variant == PLAIN else {"variant": variant})}),
            variant,
            Mark(status),
            "" if status in WORKS else stage,
        )
        for case, variant, status, stage in found
        if not taken.statuses or status in taken.statuses
    )
    shown = _SHOWN if taken.filters.cases else 0
    return Table("installing and importing", ("case", "variant", "ends", "at stage"), rows, shown)


def _unmeasured_table(dataset: Dataset, missing: Iterable[tuple[str, str]], taken: CaseSelection) -> Table:
    """Return the variants without a cell within the filters; version upgrades never have one."""
    installed = {case for (case,) in Views.of(dataset).fetch('SELECT "case" FROM environment')}
    rows = tuple(
        (Link(case if variant == PLAIN else f"{case}/{variant}", "case", {"case": case}),)
        for case, variant in missing
        if case not in installed and taken.catalogue[case, variant].kind != FixKind.VERSION_UPGRADE.value
    )
    return Table("not measured within these filters", ("case",), rows, shown=0)


def _answer_shares(dataset: Dataset, cells: str, by: By, lines: TableLines, notes: list[str]) -> Answer:
    """Answer how many of the cases of a theme, or about an operator, work at some opset."""
    names = "[theme]" if lines is TableLines.THEMES else "list_distinct(list_concat(aten_ops, onnx_ops))"
    call = "''" if by is By.EXPORTER else "exporter"
    found = Views.of(dataset).fetch(
        f"""WITH ended AS (SELECT "case", {call} AS exporter, place, coalesce(bool_or(works(status)), false) AS works,
                bool_or(works(status) IS NOT NULL AND status <> 'unsupported')
                    AND (bool_or(works(status)) OR NOT bool_or(works(status) IS NULL)) AS judged
                FROM ({cells}) GROUP BY ALL),
            named AS (SELECT *, unnest({names}) AS name FROM ended JOIN original USING ("case"))
        SELECT name, exporter, place, count(*) FILTER (works), count(*) FILTER (judged) FROM named GROUP BY ALL
        UNION ALL SELECT '', exporter, place, count(*) FILTER (works), count(*) FILTER (judged)
        FROM ended GROUP BY ALL"""
    )
    columns = _sort_columns({row[2] for row in found}, by)
    places = {
        (name or "no theme", exporter, at): Share(works, judged) for name, exporter, at, works, judged in found if name
    }
    in_all = {(exporter, at): Share(works, judged) for name, exporter, at, works, judged in found if name == ""}
    if not columns or not any(share.measured for share in in_all.values()):
        return Answer("Not measured: nothing that was asked for.", AnswerOutcome.NOT_MEASURED, notes=tuple(notes))
    exporters = sorted({exporter for _, exporter, _ in places}, key=exporter_rank)
    keys = sorted(
        {(name, exporter) for name, exporter, _ in places}, key=lambda key: _rank_line(key, places, columns[0])
    )
    page, part = ("matrix", "theme") if lines is TableLines.THEMES else ("op", "op")
    several = len(exporters) > 1
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Link(name, page, {part: name, **({"exporter": exporter} if several else {})}),
            *([CALLS[exporter]] if several else []),
            *(places.get((name, exporter, at), Share(0, 0)) for at in columns),
        )
        for name, exporter in keys
    )
    heads = (part.replace("op", "operator"), *(["call"] if several else []))
    counts = [
        ("the default call" if exporter == Exporter.DEFAULT.value else CALLS.get(exporter, ""), share)
        for exporter in exporters
        if (share := in_all.get((exporter, columns[0]), Share(0, 0))).measured
    ]
    verdict = (
        f"At {_column_text(by, columns[0])} {_count_text(counts)}." if counts else f"Not measured at {columns[0]}."
    )
    notes.append("12/17: of 17 cases measured there 12 work at some opset. What fails most comes first.")
    made = Table("", (*heads, *columns), rows, _SHOWN, axis=by.value, heads=len(heads))
    more = "table --theme NAME, --op OP or --case NAME shows the cases of one."
    return Answer(verdict, AnswerOutcome.LISTED, (made,), tuple(notes), more=more)


def _rank_line(key: tuple[str, str], places: Mapping[tuple[str, str, str], Share], newest: str) -> tuple[Any, ...]:
    """Operators of torch before those of ONNX; then what fails most."""
    share = places.get((*key, newest), Share(0, 0))
    return share.works - share.measured, key[0].casefold(), exporter_rank(key[1])
