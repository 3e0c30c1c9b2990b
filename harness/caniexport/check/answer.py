"""What came of a check, as one answer: which call to use, where the model works, and why not elsewhere."""

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
from caniexport.check.standing import Asked, ReleaseStanding, verdict
from caniexport.check.widen import default_exporter
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset

#: of an environment what decides how an export ends
_PACKAGES = ("python", "onnx", "onnxruntime", "onnxruntime-gpu", "onnxscript", "numpy")
#: failures on the first screen, and facts of each
_SHOWN, _FACTS = 3, 8
_ORDER = (Status.PASS, Status.DEGRADED, Status.MISMATCH, Status.FAIL)


def answer(measured: Sequence[MeasuredRelease], asked: Asked, corpus: Dataset) -> Answer:
    """Explain what was measured of a model (or of several forms, for a case file), the newest release first."""
    releases = [item for item in measured if item.cells]
    problems = [f"torch {item.torch}: {item.problem}" for item in measured if item.problem]
    if not releases:
        return Answer(_cut(f"Not measured: {problems[0]}"), AnswerOutcome.NOT_MEASURED, notes=tuple(problems))
    failures = find_failures(releases, corpus)
    standing = [ReleaseStanding(item, asked) for item in releases]
    said, outcome = verdict(standing, failures, asked)
    if problems and outcome is AnswerOutcome.WORKS:
        outcome = AnswerOutcome.NOT_MEASURED
    # where what was asked for works, what else fails is asked for
    shown = 0 if all(item.is_good for item in standing) else _SHOWN
    notes = releases[0].notes
    sets = [*((words, "yes") for words in notes.sets), *((words, "no, in eager neither") for words in notes.refused)]
    tables = (
        _strip(releases),
        *(item.table(_FACTS if at < shown else 0) for at, item in enumerate(failures)),
        Table("cells", ("torch", "call", "opset", "ends", "at", "why"), tuple(_cells(releases)), shown=0),
        Table("sets of inputs", ("inputs", "ran"), tuple(sets), shown=0),
    )
    packages = [f"{name} {releases[0].packages[name]}" for name in _PACKAGES if name in releases[0].packages]
    measured_with = f"Measured with {', '.join(packages)}."
    told = (*problems, measured_with, *_inputs(notes, standing), *_hints(standing, asked))
    more = "--all: every failure, cell, message and set of inputs. --opset 9-20: every opset of these."
    return Answer(_cut(said), outcome, tables, told, more)


def _cut(said: str) -> str:
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def _strip(releases: Sequence[MeasuredRelease]) -> Table:
    """By call, and by form where there are several: how each release ends, the newest first."""
    cells = [cell for release in releases for cell in release.cells]
    forms = list(dict.fromkeys(cell.form for cell in cells))
    heads = ("form", "call") if len(forms) > 1 else ("call",)
    rows = []
    for form in forms:
        for exporter in CALL_ORDER:
            mine = [cell for cell in cells if (cell.form, cell.exporter) == (form, exporter)]
            if mine:
                call = mine[0].call if mine[0].opset is None else call_text(mine[0].torch, exporter)
                places = (_marks([cell for cell in mine if cell.torch == item.torch]) for item in releases)
                rows.append((*(["/".join(form)] if len(heads) > 1 else []), Code(call), *places))
    columns = (*heads, *(item.torch for item in releases))
    return Table("", columns, tuple(rows), shown=20, axis="torch", heads=len(heads))


def _marks(cells: Sequence[CheckedCell]) -> Cell:
    """How cells of one call end, with the opsets of each: what works first."""
    if not cells:
        return Mark(Status.NOT_RUN)
    ends: dict[Status, list[CheckedCell]] = defaultdict(list)
    for cell in cells:
        ends[Status.SKIP if cell.limit else cell.status].append(cell)
    judged = [cell.opset for cell in cells if cell.opset is not None and not cell.limit]
    marks = []
    for status in sorted(ends, key=lambda item: _ORDER.index(item) if item in _ORDER else len(_ORDER)):
        opsets = sorted(cell.opset for cell in ends[status] if cell.opset is not None)
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


def _inputs(notes: ModelNotes, standing: Sequence[ReleaseStanding]) -> Iterator[str]:
    """What the model was run on, and what is to be known of its values."""
    if notes.sets:
        told = f"{len(notes.sets)} sets of inputs, {len(notes.sets) - notes.given} of them made by this check"
        yield f"{told}; the model itself does not take {len(notes.refused)} more." if notes.refused else f"{told}."
    inferred = [
        f"--dynamic {name}:{axis}={label}"
        for name, labels in notes.axes.items()
        for axis, label in labels.items()
        if axis not in notes.asked.get(name, {})
    ]
    if inferred:
        yield f"Exported as dynamic, since the sets given differ there: {' '.join(inferred)}"
    if notes.is_rough and any(item.wrong for item in standing):
        yield "Rounding alone moves the outputs as much (single against double precision): see --rtol and --atol."
    if notes.goes_on:
        yield "A second call on the same inputs gives other values in eager; a file gives those of the first each time."


def _hints(standing: Sequence[ReleaseStanding], asked: Asked) -> Iterator[str]:
    """What was not measured, and what may be asked next."""
    newest = standing[0].release
    if newest.notes.sets and not newest.notes.axes:
        yield "No other size was tried: --dynamic x:0=batch names an axis that varies."
    fixed = next((item.fixed for item in standing if item.fixed), "")
    is_default = default_exporter(newest.torch) == Exporter.TRACE.value
    # of no matter to who calls another exporter, which works
    if fixed and (is_default or asked.is_named or not standing[0].is_good):
        yield f"The trace fixes {fixed} as the inputs given decide it: other inputs may come out wrong."
    unused = dict.fromkeys(name for item in standing for cell in item.works for name in cell.unused)
    if unused:
        yield f"A file that works ignores {', '.join(unused)}: no value that was tried changes what eager gives."
    for item in standing:
        if left := [call_text(item.release.torch, name) for name in item.release.left]:
            yield f"torch {item.release.torch}: there was no time for {' and '.join(left)} (--seconds)."
    for name in asked.exporters:
        if not any(cell.exporter == name for cell in newest.cells):
            yield f"torch {newest.torch}: {name} was not measured, since it takes no opset that was named."
    if any("No module named" in cell.message for cell in newest.cells if cell.stage in BEFORE_EXPORT):
        yield "--with PACKAGE makes an environment that has what this one lacks."
