"""Since when an operator of torch exports: its samples over the releases by every call, and the cases about it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.after_export import tool_table
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Code, Link, Mark, Table, cell_text
from caniexport.answers.declared import declared_table, read_registered, registered_opsets
from caniexport.answers.filters import require_exporter
from caniexport.answers.installed import read_installations
from caniexport.answers.operators import NO_FILTER, OperatorFilters, answer_operators
from caniexport.answers.point import call_text
from caniexport.answers.samples import (
    EXPORTERS,
    Sampled,
    Samples,
    error_message,
    find_last_run,
    name_keys,
    read_sampled,
)
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OF_PYTHON, OPERATORS
from caniexport.model.status import Exporter, Status
from caniexport.names import plural
from caniexport.operators import operator_keys
from caniexport.store import Dataset, sql

_NOTES = 3
#: any release that takes ``dynamo=``, as texts that name none write calls
_ANY = "2.15"
#: by exporter and release, newest first
Lines = Mapping[str, Mapping[str, Sampled]]


def answer_op(dataset: Dataset, name: str = "", asked: OperatorFilters = NO_FILTER) -> Answer:
    """Answer for the operators of a name up to a release; without a name, of a glob or with filters a list.

    Raises :class:`UnknownName`.
    """
    samples = Samples.of(dataset)
    if not name:
        return answer_operators(dataset, asked)
    if any(sign in name for sign in "*?["):
        found = names.require_all("operator", (name,), samples.operators)
        return answer_operators(dataset, replace(asked, ops=tuple(sorted(found))))
    try:
        every = samples.named(name)
    except UnknownName:
        about = replace(_case_table(samples, name), shown=12)
        if about.rows:
            verdict = (
                f"No operator samples were measured, and {plural(len(about.rows), 'documented case')} about {name}."
            )
            return Answer(verdict, AnswerOutcome.LISTED, (about,), more="caniexport case NAME shows one.")
        known = {*samples.operators, *(op for _, _, ops, _ in samples.documented for op in ops)}
        raise names.unknown_name("operator", name, sorted(known)) from None
    meant = [one for one in every if samples.likeness(one, name) == samples.likeness(every[0], name)]
    if len(meant) == 1 and asked == replace(NO_FILTER, torch=asked.torch):
        return _answer_one(samples, dataset, meant[0], samples.release(asked.torch))
    return answer_operators(dataset, replace(asked, ops=tuple(meant)))


def is_sample(case: str) -> bool:
    """Whether a case is made of operator samples: ``op-cross``, ``promotion-sub/int64-float-left``."""
    return case.startswith(("op-", "promotion-"))


def answer_sample(dataset: Dataset, name: str, asked: Mapping[str, str]) -> Answer:
    """Answer for the samples of an operator in one dtype and form (``op-cross/float32-plain``), or for the operator.

    Raises :class:`UnknownName`.
    """
    samples = Samples.of(dataset)
    case, _, variant = name.partition("/")
    kind, _, operator = case.partition("-")
    operator = OF_PYTHON.get(operator, operator) if kind == "promotion" else operator
    if operator not in samples.operators:
        raise names.unknown_name("case", case, [f"op-{known}" for known in samples.operators])
    until = samples.release(asked.get("torch", ""))
    if not variant:
        return _answer_one(samples, dataset, operator, until)
    rows = _read_until(samples, operator, until)
    known = {f"{row.dtype}-{row.form or 'plain'}": (row.dtype, row.form) for row in rows}
    if variant not in known:  # the form of a sample has further words before it
        dtype, _, form = variant.partition("-")
        variant = names.require(f"variant of {case}", f"{dtype}-{form.partition('-')[2] or form}", known)
    rows = [row for row in rows if (row.dtype, row.form) == known[variant]]
    if "exporter" in asked:
        rows = [row for row in rows if row.exporter == require_exporter(asked["exporter"])]
    if "opset" in asked:
        rows = [at for row in rows if (at := row.at(int(asked["opset"])))]
    measure = f"caniexport measure --corpus {OPERATORS} --release {until} --case {name}"
    if not rows or rows[0].torch != until:
        return Answer(
            f"Not measured: {name} at torch {until}.", AnswerOutcome.NOT_MEASURED, more=f"{measure} measures it."
        )
    by_call = _group_by_exporter(rows)
    verdict, outcome = _choose_verdict(f"{operator} {variant}", by_call, until)
    tables = (_release_table(operator, variant, by_call), _failure_table(samples, operator, until, known[variant]))
    return Answer(verdict, outcome, tables, more=measure)


def _read_until(samples: Samples, op: str, torch: str) -> list[Sampled]:
    """Return the lines of an operator up to a release, newest first."""
    where = "op = $1 AND n <= (SELECT n FROM sampled_release WHERE torch = $2)"
    return read_sampled(samples.views, where, [op, torch])


def _answer_one(samples: Samples, dataset: Dataset, name: str, until: str) -> Answer:
    rows = _read_until(samples, name, until)
    left_out = samples.views.fetch(
        """SELECT DISTINCT dtype, signature FROM samples WHERE op = $1 AND exporter IS NULL AND signature IS NOT NULL
            ORDER BY ALL""",
        [name],
    )
    if not rows:
        why = next((why for _, why in left_out), "no sample can be a module")
        return Answer(f"Not measured: torch.{name}.", AnswerOutcome.NOT_MEASURED, notes=(why,))
    newest = rows[0].torch
    plain = [row for row in rows if not row.form] or rows
    first = plain[0].dtype
    by_call = _group_by_exporter(row for row in plain if row.dtype == first)
    verdict, outcome = _choose_verdict(name.removeprefix("nn.functional."), by_call, newest)
    here = [row for row in rows if row.torch == newest]
    notes = (
        *_note_companions(dataset, by_call[Exporter.DYNAMO.value]),
        *_note_onnx_operators(samples, name, newest, first),
        *_note_registered(dataset, name, newest),
        *(f"Not measured in {dtype}: {why}." for dtype, why in left_out if dtype),
    )
    about = _case_table(samples, name)
    tables = (
        _release_table(name, first, by_call),
        _dtype_table(
            f"other dtypes at torch {newest}", (row for row in here if row in plain and row.dtype != first), shown=8
        ),
        _dtype_table("other forms", (row for row in here if row.form), shown=0),
        _failure_table(samples, name, newest),
        declared_table(dataset, newest, name_keys(name)),
        _finding_table(name),
        _onnxscript_table(name),
        about,
        tool_table(
            samples.views, f'FROM cells WHERE "case" IN {sql.listed(map(cell_text, (row[-1] for row in about.rows)))}'
        ),
        Table("notes", ("",), tuple((note,) for note in notes[_NOTES:]), shown=0),
    )
    documented = plural(len(about.rows), "documented case")
    more = f"{documented} about it: caniexport table --op {name}" if about.rows else ""
    return Answer(verdict, outcome, tables, notes[:_NOTES], more=more or "--all lists forms, messages and notes.")


def _group_by_exporter(rows: Iterable[Sampled]) -> Lines:
    found: dict[str, dict[str, Sampled]] = {exporter: {} for exporter in EXPORTERS}
    for row in rows:
        found[row.exporter][row.torch] = row
    return found


def _choose_verdict(name: str, by_call: Lines, newest: str) -> tuple[str, AnswerOutcome]:
    """``grid_sample: all samples pass since 2.4.1 (dynamo=False, opset 20+) and 2.6.0 (dynamo=True, 18+).``"""
    here = {exporter: along[newest] for exporter, along in by_call.items() if newest in along}
    calls: list[str] = []
    for exporter, row in here.items():
        if row.opsets:
            opsets = f"{'' if calls else 'opset '}{row.range}"
            calls.append(f"{_find_passing_run(by_call[exporter])[0]} ({call_text(newest, exporter)}, {opsets})")
    missing = [_failure_text(row) for row in here.values() if not row.opsets]
    if calls:
        rest = f", {' and '.join(missing)}" if missing else ""
        outcome = AnswerOutcome.FAILS if missing else AnswerOutcome.WORKS
        return f"{name}: all samples pass since {' and '.join(calls)}{rest}.", outcome
    worked = versions.newest(until for along in by_call.values() if (until := _find_passing_run(along)[1]))
    until = f" (all until {_short_release(worked)})" if worked else ""
    best = max((row.best for row in here.values()), key=lambda end: end.passing)
    if best.passing:
        share = f"{best.passing} of {best.samples} samples pass"
        return f"{name} exports in part at torch {newest}: {share}{until}.", AnswerOutcome.FAILS
    has_wrong_values = any(row.best.status is Status.MISMATCH for row in here.values())
    how = "gives wrong values" if has_wrong_values else "does not export"
    return f"{name} {how} at torch {newest}{until}.", AnswerOutcome.FAILS


def _find_passing_run(along: Mapping[str, Sampled]) -> tuple[str, str]:
    """The first and the last of the newest releases in a row on which the samples pass; empty where they never do."""
    return find_last_run({torch: (bool(row.opsets), row.given) for torch, row in [*along.items()][::-1]})


def _failure_text(row: Sampled) -> str:
    """``none with dynamo=False``, ``some with dynamo=True``, ``wrong values with dynamo=True``."""
    best = row.best
    how = "wrong values" if best.status is Status.MISMATCH else "some" if best.passing else "none"
    return f"{how} with {call_text(row.torch, row.exporter)}"


def _release_table(op: str, title: str, by_call: Lines) -> Table:
    """The releases, newest first."""
    releases = versions.ordered({torch for along in by_call.values() for torch in along})[::-1]
    rows = tuple(
        (
            Link(op, "op", {"op": op}),
            call_text(releases[0], exporter),
            *(_sample_mark(along.get(torch)) for torch in releases),
        )
        for exporter, along in by_call.items()
        if along
    )
    columns = ("operator", "call", *map(_short_release, releases))
    return Table(title, columns, rows, folded=("operator",), axis="torch", heads=2)


def _short_release(torch: str) -> str:
    """``2.15``: of each series one release is measured."""
    return ".".join(torch.split(".")[:2])


def _sample_mark(row: Sampled | None) -> Cell:
    return row.mark if row else Mark(Status.NOT_RUN)


def _dtype_table(title: str, rows: Iterable[Sampled], shown: int) -> Table:
    """How samples end in a release, a line for each dtype and variant of it."""
    lines: dict[str, dict[str, Sampled]] = {}
    torch = _ANY
    for row in rows:
        lines.setdefault(" ".join(filter(None, (row.form, row.dtype))), {})[row.exporter] = row
        torch = row.torch
    made = tuple((key, *(_sample_mark(line.get(name)) for name in EXPORTERS)) for key, line in sorted(lines.items()))
    return Table(title, ("dtype", *(call_text(torch, name) for name in EXPORTERS)), made, shown=shown)


def _failure_table(samples: Samples, op: str, torch: str, line: tuple[str, str | None] | None = None) -> Table:
    """Return why samples do not pass in a release, each message once."""
    rows = samples.views.fetch(
        """SELECT signature, list(DISTINCT (dtype, exporter)), arg_min(sample, opset), arg_min(arguments, opset)
            FROM samples WHERE op = $1 AND torch = $2 AND calls > 0 AND NOT works(status) AND signature IS NOT NULL
                AND ($3 IS NULL OR (dtype, form) IS NOT DISTINCT FROM ($3, $4)) GROUP BY ALL
            ORDER BY min(opset), signature""",
        [op, torch, *(line or (None, None))],
    )
    made = tuple(
        (
            ", ".join(sorted(f"{dtype} {call_text(torch, exporter)}" for dtype, exporter in where)),
            error_message(signature),
            dict(given.split(": ", 1) for given in (arguments or "").splitlines()).get(first, first),
        )
        for signature, where, first, arguments in rows
    )
    return Table("what fails", ("dtype and call", "error", "the first sample that fails"), made, shown=8 * bool(line))


def _note_companions(dataset: Dataset, along: Mapping[str, Sampled]) -> list[str]:
    """The companion packages with which dynamo first exports it: an older onnxscript has fewer translations."""
    since, until = _find_passing_run(along)
    is_now = bool(along) and until == next(iter(along))
    own = [item.text for item in read_installations(dataset.of(NEWEST)) if item.torch == since and item.text]
    return [f"Packages at torch {since}, where dynamo=True first works: {own[0]}."] if is_now and own else []


def _note_onnx_operators(samples: Samples, op: str, torch: str, dtype: str) -> list[str]:
    rows = samples.views.fetch(
        """SELECT DISTINCT unnest([split_part(item, '*', 1) for item in string_split(ops, ' ')]) AS becomes FROM samples
            WHERE op = $1 AND torch = $2 AND dtype = $3 AND form IS NULL AND ops <> '' ORDER BY becomes""",
        [op, torch, dtype],
    )
    return [f"ONNX operators in the exported file: {', '.join(name for (name,) in rows)}."] if rows else []


def _note_registered(dataset: Dataset, op: str, torch: str) -> list[str]:
    registered_at = read_registered(dataset, torch)
    found = {exporter: opsets for exporter in EXPORTERS if (opsets := registered_opsets(registered_at, op, exporter))}
    calls = " and ".join(f"{call_text(torch, exporter)} at opset {opsets}" for exporter, opsets in found.items())
    return [f"Torch {torch} registers a translation: {calls}."] if calls else []


def _finding_table(op: str) -> Table:
    """Return findings about wrong values by hand, with the call of ``differs`` (of the file) that shows each."""
    file = homes.find().cases / OPERATORS / "findings.toml"
    found = tomllib.loads(file.read_text(encoding="utf-8"))["finding"] if file.is_file() else ()
    rows = tuple(
        (
            call_text(_ANY, item["exporter"]),
            item["what"],
            Code(f"differs({item['call']}, {call_text(_ANY, item['exporter'])}, opset={item.get('opset', 20)})"),
        )
        for item in found
        if op in item["operators"]
    )
    return Table("looked at by hand", ("call", "finding", "shown by"), rows, shown=0)


def _onnxscript_table(op: str) -> Table:
    """Return the marks of an operator in the tests of onnxscript, which has dynamo's translations."""
    file = homes.find().cases / OPERATORS / "onnxscript.json"
    tests = json.loads(file.read_text(encoding="utf-8"))["tests"] if file.is_file() else ()
    rows = tuple(
        (item["name"], item["mark"], ", ".join(item.get("dtypes", ())), bool(item.get("some")) * "some", item["why"])
        for item in tests
        if op in item.get("operators", ()) and item.get("mark")
    )
    return Table("what onnxscript's own tests expect", ("test", "mark", "dtypes", "samples", "why"), rows, shown=0)


def _case_table(samples: Samples, name: str) -> Table:
    """The documented cases about an operator, with the number of their workarounds."""
    keys = name_keys(name)
    made = tuple(
        (title, count, Link(case, "case", {"case": case}))
        for case, title, ops, count in samples.documented
        if keys & operator_keys(ops)
    )
    return Table("documented cases", ("title", "workarounds", "case"), made, shown=0)
