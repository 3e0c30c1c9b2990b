"""The operators of torch at a release: which work with each call, which no longer do, how many work."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Link, Mark, Share, Table
from caniexport.answers.declared import read_registered, registered_opsets
from caniexport.answers.point import call_text
from caniexport.answers.samples import (
    EXPORTERS,
    Sampled,
    Samples,
    error_message,
    find_last_run,
    is_internal,
    read_sampled,
)
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import Status
from caniexport.operators import operator_key
from caniexport.store import Dataset, sql

#: the name for every dtype, in place of the first of each operator
ALL_DTYPES = "all"
_SHOWN = 20
#: by operator, dtype and exporter, and by release, oldest first: whether all samples pass, and what they are given
PassingReleases = Mapping[tuple[str, str, str], Mapping[str, tuple[bool, int]]]


@dataclass(frozen=True)
class OperatorFilters:
    """Which operators a list has: of these names, these statuses, this dtype (else the first of each), at one
    opset (else at any), with these exporters, in a release (else the newest).
    """

    ops: tuple[str, ...] = ()
    torch: str = ""
    exporters: tuple[str, ...] = ()
    opset: int | None = None
    dtype: str = ""
    statuses: frozenset[Status] = field(default_factory=frozenset)


#: no filter: the first dtype of each operator in the newest release
NO_FILTER = OperatorFilters()


def answer_operators(dataset: Dataset, asked: OperatorFilters) -> Answer:
    """Answer how the samples of every operator end: first those that do not work and that models call most.

    Raises :class:`UnknownName`.
    """
    samples = Samples.of(dataset)
    torch = samples.release(asked.torch)
    exporters = tuple(name for name in EXPORTERS if name in asked.exporters) or EXPORTERS
    taken = _filter_sql(samples, asked)
    rows = [
        at
        for row in read_sampled(samples.views, f"torch = $1 AND form IS NULL AND {taken}", [torch])
        if row.exporter in exporters and (at := row if asked.opset is None else row.at(asked.opset))
    ]
    lines: dict[tuple[str, str], dict[str, Sampled]] = defaultdict(dict)
    for row in rows:
        lines[row.op, row.dtype][row.exporter] = row
    if asked.statuses:
        lines = {
            key: line for key, line in lines.items() if any(row.statuses & asked.statuses for row in line.values())
        }
    used = _read_usage(samples.operators)
    order = sorted(lines, key=lambda key: (all(row.opsets for row in lines[key].values()), -used.get(key[0], 0), key))
    works = _read_passing(samples, torch, taken, asked.opset)
    registered_at = read_registered(dataset, torch)
    made = tuple(
        _build_row({name: lines[key].get(name) for name in exporters}, key, works, registered_at) for key in order
    )
    calls = [call_text(torch, name) for name in exporters]
    more_columns = tuple(f"{call} {what}" for call in calls for what in ("since", "registered"))
    tables = (
        Table("", ("operator", "dtype", *calls, "error", *more_columns), made, _SHOWN, folded=more_columns),
        _broken_table(samples, torch, taken, exporters),
        *(
            (_share_table(works, exporters, used, torch), _unsampled_table(samples))
            if not (asked.ops or asked.statuses)
            else ()
        ),
    )
    return Answer(
        _choose_verdict(torch, asked, rows, made, exporters),
        AnswerOutcome.LISTED if made else AnswerOutcome.NOT_MEASURED,
        tables,
        more="op NAME shows one; --status, --dtype, --opset, --exporter narrow.",
    )


def _filter_sql(samples: Samples, asked: OperatorFilters) -> str:
    """The operators and dtypes that are asked about, as SQL. Raises :class:`UnknownName`."""
    conditions = ["true"]
    if asked.ops:
        conditions.append(f"op IN ({', '.join(map(sql.literal, asked.ops))})")
    if not asked.dtype:
        conditions.append("dtype = first_dtype")
    elif asked.dtype != ALL_DTYPES:
        known = [dtype for (dtype,) in samples.views.fetch("SELECT DISTINCT dtype FROM samples WHERE calls > 0")]
        conditions.append(f"dtype = {sql.literal(names.require('dtype', asked.dtype, [*known, ALL_DTYPES]))}")
    return " AND ".join(conditions)


def _read_usage(ops: Collection[str]) -> dict[str, int]:
    """Return how many of some models call each operator (benchmarks/models/count_operators.py)."""
    file = homes.find().cases / OPERATORS / "used.json"
    models = json.loads(file.read_text(encoding="utf-8"))["operators"] if file.is_file() else {}
    by_key = {operator_key(name): count for name, count in models.items()}
    return {
        op: max(by_key.get(operator_key(name), 0) for name in (op, op.rpartition(".")[0]))
        for op in ops
        if not is_internal(op)
    }


def _read_passing(samples: Samples, torch: str, taken: str, opset: int | None) -> PassingReleases:
    """Return by operator, dtype and exporter the releases up to one with all samples passing, oldest first."""
    rows = samples.views.fetch(
        f"""SELECT op, dtype, exporter, torch, bool_or(works(status)), any_value(hash(arguments))
            FROM samples JOIN judged USING (op) JOIN sampled_release USING (torch)
            WHERE exporter IS NOT NULL AND calls > 0 AND form IS NULL AND {taken} AND coalesce(opset = $1, true)
                AND n <= (SELECT n FROM sampled_release WHERE torch = $2)
            GROUP BY ALL ORDER BY any_value(n)""",
        [opset, torch],
    )
    found: dict[tuple[str, str, str], dict[str, tuple[bool, int]]] = defaultdict(dict)
    for op, dtype, exporter, release, does, given in rows:
        found[op, dtype, exporter][release] = does, given
    return found


def _build_row(
    line: Mapping[str, Sampled | None],
    key: tuple[str, str],
    works: PassingReleases,
    registered_at: Mapping[tuple[str, str], str],
) -> tuple[Cell, ...]:
    op, dtype = key
    marks = [row.mark if row else Mark(Status.NOT_RUN) for row in line.values()]
    failing = [row for row in line.values() if row and not row.opsets]
    more: list[Cell] = []
    for exporter, row in line.items():
        first, last = find_last_run(works.get((op, dtype, exporter), {}))
        more.append(first if row and row.opsets else f"until {last}" if last else "")
        more.append(registered_opsets(registered_at, op, exporter))
    error = error_message(failing[-1].error if failing else None)
    return (Link(op, "op", {"op": op}), dtype, *marks, error, *more)


def _choose_verdict(
    torch: str, asked: OperatorFilters, rows: Sequence[Sampled], made: Sequence[object], exporters: Sequence[str]
) -> str:
    where = f"torch {torch}" if asked.opset is None else f"torch {torch}, opset {asked.opset}"
    if not rows:
        return f"Not measured at {where}: these operators."
    if asked.statuses:
        words = " or ".join(sorted(status.value for status in asked.statuses))
        every = len({(row.op, row.dtype) for row in rows})
        return f"At {where} {len(made)} of {every} operators end with {words}."
    counts: list[str] = []
    for exporter in exporters:
        mine = [row for row in rows if row.exporter == exporter]
        of = "operators work " if not counts else ""
        counts.append(f"{sum(bool(row.opsets) for row in mine)} of {len(mine)} {of}with {call_text(torch, exporter)}")
    return f"At {where} {', '.join(counts)}."


def _broken_table(samples: Samples, torch: str, taken: str, exporters: Sequence[str]) -> Table:
    """Return the samples that pass at an opset in the release before and do not now."""
    before = samples.releases[samples.releases.index(torch) - 1] if torch != samples.releases[0] else ""
    rows = samples.views.fetch(
        f"""WITH taken AS (SELECT samples.* FROM samples JOIN judged USING (op)
                WHERE exporter IS NOT NULL AND {taken})
            SELECT op, dtype, now.form, exporter, list(opset ORDER BY opset), any_value(now.signature)
            FROM taken b JOIN taken now USING (op, dtype, exporter, opset)
            WHERE b.torch = $1 AND now.torch = $2 AND works(b.status) AND now.calls > 0 AND NOT works(now.status)
                AND (b.form, b.arguments) IS NOT DISTINCT FROM (now.form, now.arguments)
            GROUP BY ALL ORDER BY ALL""",
        [before, torch],
    )
    made = tuple(
        (Link(op, "op", {"op": op}), " ".join(filter(None, (form, dtype))), call_text(torch, exporter),
            versions.opset_text(opsets), error_message(error))
        for op, dtype, form, exporter, opsets, error in rows
        if exporter in exporters
    )  # fmt: skip
    return Table(f"worked at torch {before}", ("operator", "dtype", "call", "opset", "error"), made, shown=6)


def _share_table(
    works: PassingReleases,
    exporters: Sequence[str],
    used: Mapping[str, int],
    newest: str,
) -> Table:
    """How many operators work in each release, newest first: of all, and of those that models call."""
    counts: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for (op, _, exporter), along in works.items():
        for torch, (does, _) in along.items():
            counts["all", exporter, torch].append(does)
            if used.get(op):
                counts["called by models", exporter, torch].append(does)
    releases = versions.ordered({torch for along in works.values() for torch in along})[::-1]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (Link(which, "op"), call_text(newest, exporter),
            *(Share(sum(found), len(found)) for torch in releases for found in (counts[which, exporter, torch],)))
        for which in ("all", "called by models")
        for exporter in exporters
    )  # fmt: skip
    columns = ("operators", "call", *(".".join(torch.split(".")[:2]) for torch in releases))
    return Table("operators that work", columns, rows, shown=4, axis="torch", heads=2)


def _unsampled_table(samples: Samples) -> Table:
    """The operators of documented cases that have no samples, with the number of these cases."""
    counted = Counter(op for _, _, ops, _ in samples.documented for op in dict.fromkeys(ops))
    made = tuple((Link(op, "op", {"op": op}), counted[op]) for op in sorted(counted) if not samples.called(op))
    return Table("operators of documented cases alone", ("operator", "cases"), made, shown=0)
