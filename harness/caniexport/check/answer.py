"""What came of a check: where the model works, in which ways it fails, and what the corpus knows of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from caniexport import versions
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import Table, table
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import load, select
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.support import supports
from caniexport.check.found import Failure, Where, Works
from caniexport.check.headline import headline
from caniexport.check.inside import GIVEN
from caniexport.check.matching import Corpus, FailurePoint, failing_operator
from caniexport.check.widen import USUAL_OPSET
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Exporter, Stage, Status
from caniexport.store import Dataset

#: what a run says that ends for how it was fed, and why
_OUR_LIMITS = {
    "the file takes ": "the file's inputs could not be told from one another, so that it was not run",
    "Actual: (tensor(float)) , expected: (tensor(double))": (
        "a Python number is an input of the file, in double precision, and could only be fed in single"
    ),
}
_SET = re.compile(r"input set (\d+)")
_STAGES = [stage.value for stage in Stage]


@dataclass(frozen=True)
class Checked:
    """The answer, ``headline`` in one line.

    ``sets`` are the inputs that every file was run on, in words, ``refused`` those that were tried and that the model
    itself does not take. ``problems`` are releases that could not be measured, by release; ``findings`` are what should
    stop a build, one sentence each; ``module`` is the class of the user's module, empty where it was not made.
    """

    target: str
    headline: str
    module: str
    sets: tuple[str, ...]
    refused: tuple[str, ...]
    releases: tuple[str, ...]
    works: tuple[Works, ...]
    failures: tuple[Failure, ...]
    table: Table
    problems: Mapping[str, str]
    notes: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class ModelNotes:
    """What was noted when the factory was called: see :class:`caniexport.check.inside.Made`. Empty for case files."""

    module: str = ""
    given: int = 0
    sets: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    axes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_rough: bool = False

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ModelNotes:
        """The notes as the environment wrote them; empty where it wrote none."""
        if not found:
            return cls()
        sets, refused = tuple(found["sets"]), tuple(found["refused"])
        return cls(found["module"], found["given"], sets, refused, found["asked"], found["axes"], found["is_rough"])


def answer(
    target: str,
    mine: Dataset,
    corpus: Dataset,
    asked: Filters,
    problems: Mapping[str, str],
    notes: ModelNotes,
) -> Checked:
    """Read the rows of a check that ``asked`` takes (cases, releases, exporters, opsets) and explain each failure."""
    rows = load(mine)
    known = [name for name in asked.torch if name in rows.torch]
    lost = _lost(problems)
    if not known:
        empty = table(mine, replace(asked, cases=(), torch=()))
        return Checked(target, headline((), (), lost), "", (), (), (), (), (), empty, problems, (), lost)
    asked = replace(asked, torch=tuple(known), opsets=tuple(n for n in asked.opsets if int(n) in rows.opsets))
    selection = select(rows, asked)
    cells = [cell for cell in selection.cells if cell.status in MEASURED]
    failures = tuple(_failures(cells, mine, Corpus(corpus), notes))
    works = tuple(_works(cells))
    return Checked(
        target,
        headline(works, failures, lost, is_rough=notes.is_rough),
        notes.module,
        notes.sets,
        notes.refused,
        selection.torch,
        works,
        failures,
        table(mine, asked),
        problems,
        tuple(_notes(notes, cells, asked)),
        (*_findings(_judged(cells, mine), asked), *lost),
    )


def _notes(notes: ModelNotes, cells: Sequence[MeasuredCell], asked: Filters) -> Iterable[str]:
    inferred = [
        f"{name}:{axis}={label}"
        for name, labels in notes.axes.items()
        for axis, label in labels.items()
        if axis not in notes.asked.get(name, {})
    ]
    if inferred:
        named = " ".join(f"--dynamic {text}" for text in inferred)
        yield f"the input sets differ in these axes, so that they were exported as dynamic: {named}"
    if notes.is_rough:
        yield (
            "rounding alone moves the outputs by as much as a file may differ (single against double precision in "
            "eager): --rtol and --atol widen that"
        )
    if notes.sets and not notes.axes:
        yield "no axis is dynamic, so that no other size was tried: --dynamic x:0=batch names an axis that varies"
    if not asked.opsets and notes.sets:
        yield from _gaps(cells)


def _gaps(cells: Sequence[MeasuredCell]) -> Iterable[str]:
    """Which opsets stand for those between them."""
    measured: dict[str, set[int]] = defaultdict(set)
    for cell in cells:
        measured[cell.exporter] |= {cell.opset} if cell.opset is not None else set()
    told = [
        f"{EXPORTER_SHORT[name]} {', '.join(map(str, sorted(measured[name])))}" for name in EXPORTERS if measured[name]
    ]
    if told:
        yield f"opsets measured: {'; '.join(told)}; those between two alike are not (--opset 9-20: all)"


def _works(cells: Sequence[MeasuredCell]) -> Iterable[Works]:
    grouped: dict[tuple[str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.case, cell.variant].append(cell)
    for (case, variant), found in grouped.items():
        yield Works(case, variant, tuple(supports(found)))


def _failures(cells: Sequence[MeasuredCell], mine: Dataset, corpus: Corpus, notes: ModelNotes) -> list[Failure]:
    """Every way of failing, the earliest stage first; refused opsets are in the table, and no failure."""
    failing = [cell for cell in cells if cell.status not in WORKS and cell.status is not Status.UNSUPPORTED]
    texts = mine.messages(cell.message_id for cell in failing)
    grouped: dict[tuple[str, ...], list[MeasuredCell]] = defaultdict(list)
    for cell in failing:
        words = _words(cell, texts.get(cell.message_id or "", ""))
        # one operator fails in the two kinds of exporters for two reasons, and what helps in one may not in the other
        kind = str((cell.exporter_effective or cell.exporter) == Exporter.DYNAMO.value)
        grouped[cell.case, cell.variant, cell.stage, cell.status.value, kind, words].append(cell)
    return sorted((_failure(group, mine, corpus, cells, notes) for group in grouped.values()), key=_rank)


def _words(cell: MeasuredCell, message: str) -> str:
    """What tells a failure from another: the operator, whose sentence releases word differently; else the signature.

    A mismatch's numbers differ by opset, and are one way of failing.
    """
    if cell.status is Status.MISMATCH:
        return ""
    return failing_operator(message) or cell.signature or ""


def _failure(
    group: Sequence[MeasuredCell], mine: Dataset, corpus: Corpus, cells: Sequence[MeasuredCell], notes: ModelNotes
) -> Failure:
    shown = max(group, key=_telling)
    message = mine.message(shown.message_id or "") or ""
    warnings = _warnings(mine, shown)
    differs = _sets_in(message, notes.sets)
    point = FailurePoint(
        shown.torch, shown.exporter, shown.opset, shown.stage, shown.status, message, warnings, GIVEN in differs
    )
    own = [cell for cell in cells if (cell.torch, cell.case, cell.variant) == (shown.torch, shown.case, shown.variant)]
    limit = _our_limit(message)
    matches = () if limit else corpus.matches(point, own)
    where = tuple(_where(group))
    return Failure(
        shown.case,
        shown.variant,
        shown.stage,
        shown.status,
        point.operator,
        _SET.sub(lambda found: _set_named(int(found[1]), notes.sets), message),
        warnings,
        where,
        matches,
        f"{limit}: a limit of this check" if limit else _hint(point),
        differs,
        bool(limit),
    )


def _our_limit(message: str) -> str:
    """Why a cell says nothing about the model; empty where it does."""
    return next((why for text, why in _OUR_LIMITS.items() if text in message), "")


def _telling(cell: MeasuredCell) -> tuple[object, ...]:
    """The newest release, and of one exporter the opset nearest to the usual one: at the ends much fails for itself."""
    opset = cell.opset or USUAL_OPSET
    return versions.parse(cell.torch), -EXPORTERS.index(cell.exporter), -abs(opset - USUAL_OPSET), opset


def _sets_in(message: str, sets: Sequence[str]) -> tuple[str, ...]:
    """The sets of inputs that a text names, in words."""
    places = dict.fromkeys(int(found[1]) for found in _SET.finditer(message))
    return tuple(sets[place] for place in places if place < len(sets))


def _set_named(place: int, sets: Sequence[str]) -> str:
    """``input set 3 (zeros)``: people count from 1."""
    words = f" ({sets[place]})" if place < len(sets) else ""
    return f"input set {place + 1}{words}"


def _warnings(mine: Dataset, cell: MeasuredCell) -> str:
    where = {
        "torch": (cell.torch,),
        "case": (cell.case,),
        "variant": (cell.variant,),
        "exporter": (cell.exporter,),
        "opset": (cell.opset,),
    }
    ids = [warning for (warning,) in mine.select(("warning_id",), where) if warning]
    return "\n".join(mine.messages(ids).values())


def _where(group: Iterable[MeasuredCell]) -> list[Where]:
    places: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for cell in group:
        places[cell.torch, cell.exporter].append(cell.opset)
    ordered = sorted(places, key=lambda place: (versions.parse(place[0]), -EXPORTERS.index(place[1])), reverse=True)
    return [Where(*place, tuple(sorted(places[place], key=lambda opset: opset or 0))) for place in ordered]


def _rank(failure: Failure) -> tuple[object, ...]:
    worst = failure.status is not Status.MISMATCH
    cells = sum(len(place.opsets) for place in failure.where)
    return failure.case, failure.variant, worst, _STAGES.index(failure.stage), -cells


def _hint(point: FailurePoint) -> str:
    if point.stage == Stage.EAGER.value and "ModuleNotFoundError: No module named" in point.message:
        return "the release's environment does not have this module: --with PACKAGE installs it there"
    if "Got invalid dimensions for input" in point.message:
        return "an input set has another shape than the first: --dynamic x:0=batch names an axis that varies"
    if point.too_new:
        return "the environment's onnxruntime does not know this opset: that says nothing about the model"
    return ""


def _judged(cells: Sequence[MeasuredCell], mine: Dataset) -> list[MeasuredCell]:
    """The cells that say something about the model."""
    texts = mine.messages(cell.message_id for cell in cells if cell.status is Status.FAIL)
    return [cell for cell in cells if not _our_limit(texts.get(cell.message_id or "", ""))]


def _findings(cells: Sequence[MeasuredCell], asked: Filters) -> Iterable[str]:
    """Wrong values anywhere; a release, or an exporter or opset that was named, with which nothing works."""
    for torch in versions.ordered({cell.torch for cell in cells}):
        here = [cell for cell in cells if cell.torch == torch]
        wrong = sorted({cell.exporter for cell in here if cell.status is Status.MISMATCH}, key=EXPORTERS.index)
        if wrong:
            yield f"torch {torch}: wrong values without an error with {', '.join(wrong)}"
        if not any(cell.works for cell in here):
            yield f"torch {torch}: no cell works"
            continue
        for exporter in asked.exporters:
            tried = [cell for cell in here if cell.exporter == exporter]
            if tried and not any(cell.works for cell in tried):
                yield f"torch {torch}: nothing works with {exporter}"
        for opset in asked.opsets:
            tried = [cell for cell in here if str(cell.opset) == opset]
            if tried and not any(cell.works for cell in tried):
                yield f"torch {torch}: nothing works at opset {opset}"


def _lost(problems: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"torch {torch}: {problem}" for torch, problem in problems.items())
