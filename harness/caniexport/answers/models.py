"""Whole models: which export in which release, what stops the others, what helps them, and what an export costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caniexport import names, versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Mark, Message, Table
from caniexport.answers.filters import Filters
from caniexport.answers.inventory import Inventory
from caniexport.answers.outcomes import short_cause
from caniexport.answers.scope import select
from caniexport.answers.signs import CALLS, EXPORTER_SHORT, exporter_rank
from caniexport.match.errors import SURE, ErrorIndex, match_error
from caniexport.match.parse import read_error
from caniexport.model.architectures import MODELS
from caniexport.model.case import PLAIN
from caniexport.model.decoders import DECODING
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.operators import operator_key, operator_keys
from caniexport.profiles import PERIOD
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: the calls of an answer that names none
_BOTH = (Exporter.DYNAMO.value, Exporter.TRACE.value)
#: what was measured on a machine with more to do says nothing about time
_QUIET = 1.5
_SHOWN, _FEW = 20, 12
_CAUSES, _EXAMPLES = 3, 2


@dataclass(frozen=True)
class ModelCell:
    """How a model ended with one call in a release; ``text`` is its error, ``period`` whether its packages are old."""

    case: str
    variant: str
    exporter: str
    torch: str
    status: Status
    stage: str
    signature: str
    text: str
    period: bool

    @property
    def works(self) -> bool | None:
        """Whether it works; ``None`` where it was not measured."""
        return None if self.status in (Status.SKIP, Status.NOT_RUN, Status.INVALID) else self.status in WORKS


def answer_models(dataset: Dataset, filters: Filters) -> Answer:
    """Answer which models export, in each release with its newest packages; before 2.9 with those of its time."""
    models = dataset.of_corpus(MODELS)
    taken = select(models, filters)
    exporters = tuple(taken.where.get("exporter", ())) or _BOTH
    cells = [cell for cell in _read_cells(models, {case for case, _ in taken.catalogue}) if cell.exporter in exporters]
    wanted = set(taken.torch) if filters.torch else {cell.torch for cell in cells}
    cells = [cell for cell in cells if cell.torch in wanted]
    plain = [cell for cell in cells if cell.variant == PLAIN]
    if not any(cell.works is not None for cell in plain):
        return Answer("Not measured: no model that was asked for.", AnswerOutcome.NOT_MEASURED)
    releases = versions.ordered({cell.torch for cell in plain})[::-1]
    newest = releases[0]
    helping = _find_helping([cell for cell in cells if cell.torch == newest])
    tables = (
        _causes_table(dataset, [cell for cell in plain if cell.torch == newest], helping, newest),
        _matrix_table(plain, releases, taken.statuses),
        _decoders_table(models, {cell.case for cell in plain}, newest),
        _cost_table(models, newest),
    )
    old = {cell.torch for cell in plain if cell.period}
    notes = [
        "Random weights, small sizes, two input sets of other lengths; outputs agree within 0.1 % with eager.",
        *([f"packages of their time with {names.some(versions.ordered(old), 8)}"] if old else []),
        "s: these packages cannot build it. dynamo=False at opset 17, dynamo=True at 18.",
    ]
    verdict = f"At torch {newest} {_count(plain, newest)}."
    return Answer(verdict, AnswerOutcome.LISTED, tables, tuple(notes), more="--case NAME, --theme NAME: some of them.")


def models_table(dataset: Dataset, case: str) -> Table:
    """The models whose original form fails with the error and operator of a documented case, a line for each call."""
    mine = Views.of(dataset).fetch(
        f"""SELECT signature, any_value(text) FROM cells JOIN message USING (message_id)
        WHERE "case" = $1 AND variant = '{PLAIN}' AND works(status) = false AND status <> 'mismatch'
        GROUP BY signature""",
        [case],
    )
    errors = {(signature, read_error(text).operator) for signature, text in mine}
    signatures = {signature for signature, _ in errors}
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in _read_cells(dataset.of_corpus(MODELS), None) if errors else ():
        # most errors need not be read: their line is another one
        is_alike = cell.variant == PLAIN and cell.works is False and cell.signature in signatures
        if is_alike and (cell.signature, read_error(cell.text).operator) in errors:
            found[cell.case, cell.exporter].append(cell.torch)
    rows = tuple(
        (Link(name, "case", {"case": name}), CALLS[exporter], ", ".join(versions.ordered(releases)[::-1]))
        for (name, exporter), releases in sorted(found.items())
    )
    return Table("models that fail like this", ("model", "call", "torch"), rows, shown=0)


def read_model_ops(dataset: Dataset, name: str) -> tuple[tuple[str, ...], str]:
    """The ONNX operators of a model's newest files that documented cases are about, and where they are from.

    Raises :class:`UnknownName` for a model that nobody measured.
    """
    models = dataset.of_corpus(MODELS)
    views = Views.of(models)
    known = [case for (case,) in views.fetch('SELECT DISTINCT "case" FROM variants ORDER BY ALL')]
    case = names.require("model", name, known)
    rows = views.fetch(
        f"""SELECT c.torch, c.exporter, ops FROM cells c JOIN version v USING (torch)
        WHERE "case" = $1 AND variant = '{PLAIN}' AND works(status) AND exporter IN {sql.listed(_BOTH)}
        QUALIFY v.n = max(v.n) OVER ()""",
        [case],
    )
    about = operator_keys(op for entry in Inventory.of(dataset).documented for op in entry.ops)
    found = {op.partition("*")[0].rpartition(".")[2] for _, _, ops in rows for op in (ops or "").split()}
    where = f"torch {rows[0][0]}" if rows else "no release"
    return tuple(sorted(op for op in found if operator_key(op) in about)), f"{case}: operators of its files, {where}"


def _read_cells(models: Dataset, cases: set[str] | None) -> list[ModelCell]:
    """The cells of these models or of all; of a release with both packages, those of the newest."""
    views = Views.of(models)
    if PERIOD in models.profiles():
        views.include(PERIOD)
    some = "" if cases is None else f'AND "case" IN {sql.listed(cases)}'
    rows = views.fetch(
        f"""SELECT "case", variant, exporter, torch, status, stage, coalesce(signature, ''), coalesce(m.text, ''),
            c.profile = {sql.literal(PERIOD)}
        FROM cells c LEFT JOIN (SELECT DISTINCT message_id, text FROM message) m USING (message_id)
        WHERE corpus = {sql.literal(MODELS)} {some}
        QUALIFY row_number() OVER (PARTITION BY "case", variant, exporter, torch
            ORDER BY c.profile = {sql.literal(PERIOD)}, opset, measured_at DESC) = 1"""
    )
    return [
        ModelCell(
            case, variant, exporter, torch, Status(status), stage, line, "" if Status(status) in WORKS else text, old
        )
        for case, variant, exporter, torch, status, stage, line, text, old in rows
    ]


def _count(plain: Sequence[ModelCell], release: str) -> str:
    parts = []
    for exporter in sorted({cell.exporter for cell in plain}, key=exporter_rank):
        ends = [cell.works for cell in plain if (cell.torch, cell.exporter) == (release, exporter)]
        measured = [end for end in ends if end is not None]
        if measured:
            parts.append((CALLS[exporter], sum(measured), len(measured)))
    if not parts:
        return "no model was measured"
    (call, works, measured_), *others = parts
    more = "".join(f", {one} of {of} with {other}" for other, one, of in others[:1])
    return f"{works} of {measured_} models work with {call}{more}"


def _find_helping(cells: Sequence[ModelCell]) -> dict[tuple[str, str], list[str]]:
    """By model and exporter, where the plain form fails: the forms and the other calls that work."""
    ends = {(cell.case, cell.variant, cell.exporter): cell.works for cell in cells}
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (case, variant, exporter), works in ends.items():
        if variant == PLAIN and works is False:
            for (other, form, call), end in ends.items():
                if other == case and end and (form, call) != (variant, exporter):
                    same = call == exporter or call == Exporter.DEFAULT.value
                    if form != PLAIN and same:
                        found[case, exporter].append(form)
                    elif form == PLAIN and call != Exporter.DEFAULT.value:
                        found[case, exporter].append(CALLS[call])
    return found


def _causes_table(
    dataset: Dataset, cells: Sequence[ModelCell], helping: Mapping[tuple[str, str], list[str]], release: str
) -> Table:
    """Return what stops models in a release: a line for each cause and call, the most models first."""
    groups: dict[tuple[str, str, str], list[ModelCell]] = defaultdict(list)
    operators: dict[str, str] = {}
    for cell in cells:
        if cell.works is False:
            if cell.text not in operators:
                operators[cell.text] = "" if cell.status is Status.MISMATCH else read_error(cell.text).operator
            groups[cell.exporter, cell.stage, operators[cell.text] or cell.signature].append(cell)
    index = ErrorIndex.of(dataset) if groups else None
    rows = []
    for (exporter, stage, _), found in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        first = min(found, key=lambda cell: cell.case)
        case = _find_case(index, first.text) if index and first.status is not Status.MISMATCH else ""
        helps = Counter(form for cell in found for form in set(helping.get((cell.case, exporter), ())))
        best = sorted(helps.items(), key=lambda item: (-item[1], item[0]))[:_CAUSES]
        cause = Message(short_cause(first.text) or first.status.value, first.text)
        rows.append(
            (
                CALLS[exporter],
                len(found),
                stage,
                operators[first.text] or ("wrong values" if first.status is Status.MISMATCH else cause.line),
                Link(case, "case", {"case": case}) if case else "",
                ", ".join(f"{form} {count}" for form, count in best),
                cause,
                tuple(
                    Link(cell.case, "case", {"case": cell.case})
                    for cell in sorted(found, key=lambda cell: cell.case)[:_EXAMPLES]
                ),
            )
        )
    columns = ("call", "models", "stage", "stopped by", "documented case", "helps", "error", "such as")
    return Table(f"what stops them in torch {release}", columns, tuple(rows), _FEW, folded=("error", "such as"))


def _find_case(index: ErrorIndex, text: str) -> str:
    """The documented case that fails with the same error; empty where there is none."""
    leads = match_error(index, text).leads if text else ()
    return leads[0].case if leads and leads[0].shares in SURE else ""


def _matrix_table(plain: Sequence[ModelCell], releases: Sequence[str], statuses: frozenset[Status]) -> Table:
    """Return a line for each model and call, one where both ended alike; those that fail in the newest go first."""
    marks: dict[str, dict[str, dict[str, Mark]]] = {}
    for cell in plain:
        marks.setdefault(cell.case, {}).setdefault(cell.exporter, {})[cell.torch] = Mark(cell.status)
    rows: list[tuple[tuple[bool, str], tuple[Cell, ...]]] = []
    for case, calls in marks.items():
        lines = {
            exporter: tuple(ends.get(release, Mark(Status.NOT_RUN)) for release in releases)
            for exporter, ends in sorted(calls.items(), key=lambda item: exporter_rank(item[0]))
        }
        alike = len(lines) > 1 and len(set(map(str, lines.values()))) == 1
        for exporter, line in list(lines.items())[:1] if alike else lines.items():
            if not statuses or statuses & {Status(mark.word) for mark in line}:
                link = Link(case, "case", {"case": case, **({} if alike else {"exporter": exporter})})
                rows.append(((line[0].word in WORKS, case), (link, "every call" if alike else CALLS[exporter], *line)))
    ordered = tuple(row for _, row in sorted(rows, key=lambda row: row[0]))
    return Table("models", ("model", "call", *releases), ordered, _SHOWN, axis="torch", heads=2)


def _decoders_table(models: Dataset, cases: Iterable[str], release: str) -> Table:
    """Return a line for each decoder with a cache and form, by call and opset; those that fail most go first."""
    rows = Views.of(models).fetch(
        f"""SELECT "case", variant, exporter, opset, status FROM cells WHERE torch = $1 AND profile = $2
        AND "case" IN {sql.listed(cases)} AND starts_with("case", '{DECODING}') AND exporter IN {sql.listed(_BOTH)}""",
        [release, models.profile],
    )
    ends = {tuple(key): Mark(Status(status)) for *key, status in rows}
    calls = sorted({key[2:] for key in ends}, key=lambda call: (exporter_rank(call[0]), call[1]))
    lines = []
    for case, variant in {key[:2]: None for key in ends}:
        marks = [ends.get((case, variant, *call)) for call in calls]
        failing = sum(mark is not None and mark.word not in WORKS for mark in marks)
        lines.append(((-failing, case, variant), (Link(case, "case", {"case": case}), variant, *marks)))
    columns = ("decoder", "form", *(f"{EXPORTER_SHORT[exporter]} {opset}" for exporter, opset in calls))
    made = tuple(line for _, line in sorted(lines, key=lambda line: line[0]))
    return Table(f"decoders with a cache in torch {release}, by opset", columns, made, _FEW)


def _cost_table(models: Dataset, release: str) -> Table:
    """Return what an export costs, in the middle of all models that work with both calls; times of a quiet machine."""
    rows = Views.of(models).fetch(
        f"""WITH cell AS (SELECT * FROM cells WHERE corpus = {sql.literal(MODELS)} AND variant = '{PLAIN}'
                AND torch = $1 AND profile = $2 AND works(status) AND exporter IN {sql.listed(_BOTH)}
            QUALIFY count(*) OVER (PARTITION BY "case") = 2),
        traced AS (SELECT * FROM cell WHERE exporter = '{Exporter.TRACE.value}')
        SELECT c.exporter, count(*), median(c.node_count / t.node_count), median(c.file_bytes / t.file_bytes),
            median(c.memory_mb), count(*) FILTER (c.load < {_QUIET}),
            median(c.seconds_export) FILTER (c.load < {_QUIET}),
            median(c.seconds_export / t.seconds_export) FILTER (c.load < {_QUIET} AND t.load < {_QUIET}),
            median(c.seconds_run / c.seconds_eager) FILTER (c.load < {_QUIET})
        FROM cell c JOIN traced t USING ("case") GROUP BY ALL""",
        [release, models.profile],
    )
    lines: list[tuple[Cell, ...]] = [
        (CALLS[exporter], count, *map(_short, sizes), quiet, *map(_short, times))
        for exporter, count, *rest in sorted(rows, key=lambda row: exporter_rank(row[0]))
        for sizes, quiet, times in [(rest[:3], rest[3], rest[4:])]
    ]
    columns = ("call", "models", "nodes / trace", "bytes / trace", "MiB", "quiet", "seconds", "/ trace", "run / eager")
    return Table(f"what an export costs in torch {release}, in the middle", columns, tuple(lines), _FEW)


def _short(value: Any) -> str:
    return "" if value is None else f"{value:.3g}"
