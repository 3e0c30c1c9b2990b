"""What came of a check: where the model works, in which ways it fails, and what the corpus knows of each."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from caniexport import versions
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import Table, table
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CaseSelection, load, select
from caniexport.answers.support import Support, supports
from caniexport.check.matching import Corpus, FailurePoint, Match, failing_operator
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Stage, Status
from caniexport.store import Dataset

_STAGES = [stage.value for stage in Stage]


@dataclass(frozen=True)
class Where:
    """Cells of one release and exporter; ``opsets`` ascending, ``None`` for the release's own."""

    torch: str
    exporter: str
    opsets: tuple[int | None, ...]


@dataclass(frozen=True)
class Failure:
    """One way in which a model fails: all cells with the same stage and status, and the same operator or signature.

    ``operator`` is the one that the error names, empty for none; ``message`` the text at the newest of the places,
    ``warnings`` what the exporter warned of there; ``hint`` is what can be done without changing the model.
    """

    case: str
    variant: str
    stage: str
    status: Status
    operator: str
    message: str
    warnings: str
    where: tuple[Where, ...]
    matches: tuple[Match, ...]
    hint: str = ""


@dataclass(frozen=True)
class Works:
    """Where one variant works, a line for each exporter."""

    case: str
    variant: str
    lines: tuple[Support, ...]


@dataclass(frozen=True)
class Checked:
    """The answer. ``problems`` are releases that could not be measured, by release; ``findings`` are what should stop
    a build, one sentence each; ``module`` is the class of the user's module, empty where no file was written.
    """

    target: str
    module: str
    releases: tuple[str, ...]
    works: tuple[Works, ...]
    failures: tuple[Failure, ...]
    table: Table
    problems: Mapping[str, str]
    notes: tuple[str, ...]
    findings: tuple[str, ...]


def answer(
    target: str,
    mine: Dataset,
    corpus: Dataset,
    asked: Filters,
    problems: Mapping[str, str],
) -> Checked:
    """Read the rows of a check that ``asked`` takes (cases, releases, exporters, opsets) and explain each failure."""
    rows = load(mine)
    known = [name for name in asked.torch if name in rows.torch]
    if not known:
        empty = table(mine, replace(asked, cases=(), torch=()))
        return Checked(target, "", (), (), (), empty, problems, (), _lost(problems))
    asked = replace(asked, torch=tuple(known), opsets=tuple(n for n in asked.opsets if int(n) in rows.opsets))
    selection = select(rows, asked)
    cells = [cell for cell in selection.cells if cell.status in MEASURED]
    facts = _facts(mine, selection)
    failures = tuple(_failures(cells, mine, Corpus(corpus)))
    return Checked(
        target,
        str(facts.get("module", "")),
        selection.torch,
        tuple(_works(cells)),
        failures,
        table(mine, asked),
        problems,
        tuple(_notes(facts)),
        (*_findings(cells, asked), *_lost(problems)),
    )


def _facts(mine: Dataset, selection: CaseSelection) -> Mapping[str, object]:
    """What the factory's case notes of its model, from any file that was written."""
    rows = mine.select(("facts",), {"case": tuple({case for case, _ in selection.catalogue})})
    found = [json.loads(facts) for (facts,) in rows if facts]
    return next((item for item in found if "given_sets" in item), {})


def _notes(facts: Mapping[str, object]) -> Iterable[str]:
    if facts.get("given_sets") == 1:
        yield (
            "one input set was given; the second has the same shapes and the same rows in another order. "
            "Give several to see whether the file follows their shapes"
        )


def _works(cells: Sequence[MeasuredCell]) -> Iterable[Works]:
    grouped: dict[tuple[str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.case, cell.variant].append(cell)
    for (case, variant), found in grouped.items():
        yield Works(case, variant, tuple(supports(found)))


def _failures(cells: Sequence[MeasuredCell], mine: Dataset, corpus: Corpus) -> list[Failure]:
    """Every way of failing, the earliest stage first; refused opsets are in the table, and no failure."""
    failing = [cell for cell in cells if cell.status not in WORKS and cell.status is not Status.UNSUPPORTED]
    texts = mine.messages(cell.message_id for cell in failing)
    grouped: dict[tuple[str, ...], list[MeasuredCell]] = defaultdict(list)
    for cell in failing:
        words = _words(cell, texts.get(cell.message_id or "", ""))
        grouped[cell.case, cell.variant, cell.stage, cell.status.value, words].append(cell)
    return sorted((_failure(group, mine, corpus, cells) for group in grouped.values()), key=_rank)


def _words(cell: MeasuredCell, message: str) -> str:
    """What tells a failure from another: the operator, whose sentence releases word differently; else the signature.

    A mismatch's numbers differ by opset, and are one way of failing.
    """
    if cell.status is Status.MISMATCH:
        return ""
    return failing_operator(message) or cell.signature or ""


def _failure(group: Sequence[MeasuredCell], mine: Dataset, corpus: Corpus, cells: Sequence[MeasuredCell]) -> Failure:
    shown = max(group, key=lambda cell: (versions.parse(cell.torch), -EXPORTERS.index(cell.exporter), cell.opset or 0))
    message = mine.message(shown.message_id or "") or ""
    warnings = _warnings(mine, shown)
    point = FailurePoint(shown.torch, shown.exporter, shown.opset, shown.stage, shown.status, message, warnings)
    own = [cell for cell in cells if (cell.torch, cell.case, cell.variant) == (shown.torch, shown.case, shown.variant)]
    matches = corpus.matches(point, own)
    where = tuple(_where(group))
    return Failure(
        shown.case,
        shown.variant,
        shown.stage,
        shown.status,
        point.operator,
        message,
        warnings,
        where,
        matches,
        _hint(point),
    )


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
