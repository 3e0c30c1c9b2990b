"""The answer of a check: which call to use, where the model works, and why it fails elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Code, Mark, Message, Table
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import call_text
from caniexport.answers.samples import opset_range
from caniexport.check.cells import CALL_ORDER, CheckedCell
from caniexport.check.failures import find_failures
from caniexport.check.measure import BEFORE_EXPORT, MeasuredRelease, ModelNotes
from caniexport.check.verdict import Asked, ReleaseOutcome, find_verdict
from caniexport.check.widen import default_exporter
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset

#: packages that decide the outcome of an export
_PACKAGES = ("python", "onnx", "onnxruntime", "onnxruntime-gpu", "onnxscript", "numpy")
#: failures on the first screen, and facts of each
_SHOWN, _FACTS = 3, 8
_ORDER = (Status.PASS, Status.DEGRADED, Status.MISMATCH, Status.FAIL)


def write_answer(measured: Sequence[MeasuredRelease], asked: Asked, corpus: Dataset) -> Answer:
    """Explain what was measured of a model (or of the variants of a case file), the newest release first."""
    releases = [item for item in measured if item.cells]
    problems = [f"torch {item.torch}: {item.problem}" for item in measured if item.problem]
    if not releases:
        return Answer(_cut(f"Not measured: {problems[0]}"), AnswerOutcome.NOT_MEASURED, notes=tuple(problems))
    failures = find_failures(releases, corpus)
    outcomes = [ReleaseOutcome(item, asked) for item in releases]
    verdict, outcome = find_verdict(outcomes, failures, asked)
    if problems and outcome is AnswerOutcome.WORKS:
        outcome = AnswerOutcome.NOT_MEASURED
    # if the requested calls work, the other failures are folded
    shown = 0 if all(item.is_good for item in outcomes) else _SHOWN
    notes = releases[0].notes
    sets = [*((text, "yes") for text in notes.sets), *((text, "no, not in eager either") for text in notes.refused)]
    tables = (
        _strip(releases),
        *(item.table(_FACTS if at < shown else 0) for at, item in enumerate(failures)),
        Table("cells", ("torch", "call", "opset", "outcome", "stage", "why"), tuple(_cells(releases)), shown=0),
        Table("sets of inputs", ("inputs", "ran"), tuple(sets), shown=0),
    )
    packages = [f"{name} {releases[0].packages[name]}" for name in _PACKAGES if name in releases[0].packages]
    measured_with = f"Measured with {', '.join(packages)}."
    lines = (*problems, measured_with, *_inputs(notes, outcomes), *_hints(outcomes, asked))
    more = "--all: every failure, cell, message and set of inputs. --opset 9-20: every opset of these."
    return Answer(_cut(verdict), outcome, tables, lines, more)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _strip(releases: Sequence[MeasuredRelease]) -> Table:
    """One row per call (and variant, if there are several), one column per release, the newest first."""
    cells = [cell for release in releases for cell in release.cells]
    variants = list(dict.fromkeys(cell.variant_key for cell in cells))
    heads = ("variant", "call") if len(variants) > 1 else ("call",)
    rows = []
    for key in variants:
        for exporter in CALL_ORDER:
            mine = [cell for cell in cells if (cell.variant_key, cell.exporter) == (key, exporter)]
            if mine:
                call = mine[0].call if mine[0].opset is None else call_text(mine[0].torch, exporter)
                marks_by_release = (_marks([cell for cell in mine if cell.torch == item.torch]) for item in releases)
                rows.append((*(["/".join(key)] if len(heads) > 1 else []), Code(call), *marks_by_release))
    columns = (*heads, *(item.torch for item in releases))
    return Table("", columns, tuple(rows), shown=20, axis="torch", heads=len(heads))


def _marks(cells: Sequence[CheckedCell]) -> Cell:
    """The outcomes of the cells of one call with their opsets, working ones first."""
    if not cells:
        return Mark(Status.NOT_RUN)
    outcomes: dict[Status, list[CheckedCell]] = defaultdict(list)
    for cell in cells:
        outcomes[Status.SKIP if cell.limit else cell.status].append(cell)
    judged = [cell.opset for cell in cells if cell.opset is not None and not cell.limit]
    marks = []
    for status in sorted(outcomes, key=lambda item: _ORDER.index(item) if item in _ORDER else len(_ORDER)):
        opsets = sorted(cell.opset for cell in outcomes[status] if cell.opset is not None)
        marks.append(Mark(status, opset_range(opsets, [*judged, *opsets]) if opsets else ""))
    return tuple(marks) if len(marks) > 1 else marks[0]


def _cells(releases: Sequence[MeasuredRelease]) -> Iterator[tuple[Cell, ...]]:
    for cell in (cell for release in releases for cell in release.cells):
        call = "default" if cell.opset is None else call_text(cell.torch, cell.exporter)
        why = Message(cell.limit or short_cause(cell.message), cell.message)
        yield (
            cell.torch,
            Code(call),
            cell.opset,
            Mark(Status.SKIP if cell.limit else cell.status),
            cell.stage.value,
            why,
        )


def _inputs(notes: ModelNotes, outcomes: Sequence[ReleaseOutcome]) -> Iterator[str]:
    """Notes about the inputs that the model ran on, and about its values."""
    if notes.sets:
        text = f"{len(notes.sets)} sets of inputs, {len(notes.sets) - notes.given} of them made by this check"
        yield f"{text}; the model does not accept {len(notes.refused)} more." if notes.refused else f"{text}."
    inferred = [
        f"--dynamic {name}:{axis}={label}"
        for name, labels in notes.axes.items()
        for axis, label in labels.items()
        if axis not in notes.asked.get(name, {})
    ]
    if inferred:
        yield f"Exported as dynamic, because your sets of inputs differ there: {' '.join(inferred)}"
    if notes.is_rough and any(item.wrong for item in outcomes):
        yield "Rounding alone moves the outputs this far (single against double precision): see --rtol and --atol."
    if notes.keeps_state:
        yield "In eager, a second call on the same inputs gives other values; the file repeats those of the first call."


def _hints(outcomes: Sequence[ReleaseOutcome], asked: Asked) -> Iterator[str]:
    """Notes about what was not measured, and which option measures it."""
    newest = outcomes[0].release
    if newest.notes.sets and not newest.notes.axes:
        yield "No other size was tried: --dynamic x:0=batch declares a dynamic axis."
    fixed = next((item.fixed for item in outcomes if item.fixed), "")
    is_default = default_exporter(newest.torch) == Exporter.TRACE.value
    # irrelevant if the user calls another exporter, and that works
    if fixed and (is_default or asked.is_named or not outcomes[0].is_good):
        yield f"The trace keeps {fixed} as your inputs decide it: other inputs may give wrong values."
    unused = dict.fromkeys(name for item in outcomes for cell in item.works for name in cell.unused)
    if unused:
        yield f"A working file ignores {', '.join(unused)}: no value tried changes the eager outputs."
    for item in outcomes:
        if left := [call_text(item.release.torch, name) for name in item.release.left]:
            yield f"torch {item.release.torch}: time ran out for {' and '.join(left)} (--seconds)."
    for name in asked.exporters:
        if not any(cell.exporter == name for cell in newest.cells):
            yield f"torch {newest.torch}: {name} was not measured, because it accepts none of these opsets."
    if any("No module named" in cell.message for cell in newest.cells if cell.stage in BEFORE_EXPORT):
        yield "--with PACKAGE adds a missing package to the environment."
