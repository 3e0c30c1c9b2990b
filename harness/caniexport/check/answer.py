"""What came of a check: where the model works, in which ways it fails, and what the corpus knows of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from caniexport import versions
from caniexport.answers.answer import Answer
from caniexport.answers.filters import Filters
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import load, select
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.support import Support, supports
from caniexport.answers.table import table
from caniexport.check.found import NOT_JUDGED, Failure, Where, Works
from caniexport.check.headline import headline
from caniexport.check.inside import GIVEN
from caniexport.check.limits import fixed_by_tracing, ignored_inputs, limit, told_cause
from caniexport.check.matching import Corpus, FailurePoint, failing_operator
from caniexport.check.widen import USUAL_OPSET, default_exporter
from caniexport.model.status import EXPORTERS, MEASURED, WORKS, Exporter, Stage, Status
from caniexport.operators import operator_keys
from caniexport.store import Dataset

_SET = re.compile(r"input set (\d+)")
#: in the words of a set of inputs that differs in its sizes
_OF_SIZE = " of size "
_QUOTES = re.compile(r" ?[\[(%]")
#: the exporters that may be the tracer
_TRACED = (Exporter.TRACE.value, Exporter.DEFAULT.value)
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
    table: Answer
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
    goes_on: bool = False
    reads: bool = False
    operators: tuple[str, ...] = ()

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ModelNotes:
        """The notes as the environment wrote them; empty where it wrote none."""
        if not found:
            return cls()
        sets, refused = tuple(found["sets"]), tuple(found["refused"])
        alone = found["is_rough"], found.get("goes_on", False), found.get("reads", False)
        operators = tuple(found.get("operators", ()))
        return cls(found["module"], found["given"], sets, refused, found["asked"], found["axes"], *alone, operators)


def answer(
    target: str,
    mine: Dataset,
    corpus: Dataset,
    asked: Filters,
    problems: Mapping[str, str],
    notes: ModelNotes,
    left: Mapping[str, str],
) -> Checked:
    """Read the rows of a check that ``asked`` takes (cases, releases, exporters, opsets) and explain each failure;
    ``left`` says by release what there was no time for.
    """
    rows = load(mine)
    known = [name for name in asked.torch if name in rows.torch]
    lost = _lost(problems)
    if not known:
        empty = table(mine, replace(asked, cases=(), torch=()))
        return Checked(target, headline((), (), lost), "", (), (), (), (), (), empty, problems, (), lost)
    asked = replace(asked, torch=tuple(known), opsets=tuple(n for n in asked.opsets if int(n) in rows.opsets))
    selection = select(rows, asked)
    cells = [cell for cell in selection.cells if cell.status in MEASURED]
    left_out = [cell for cell in selection.cells if cell.status is Status.SKIP]
    explain = _Explain(mine, Corpus(corpus), cells, notes)
    failures = (*explain.failures(cells), *explain.failures(left_out))
    works = tuple(_works(cells, left_out))
    fixed = _fixed(mine, cells, notes)
    return Checked(
        target,
        headline(
            works,
            failures,
            lost,
            is_rough=notes.is_rough,
            fixed=fixed,
            goes_on=notes.goes_on,
            other_opsets=_other_opsets(cells) if asked.opsets else (),
        ),
        notes.module,
        notes.sets,
        notes.refused,
        selection.torch,
        works,
        failures,
        table(mine, asked),
        problems,
        (*_notes(notes, cells, asked), *_unused(mine, cells)),
        (*_findings(cells, asked, failures, left), *lost),
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


def _other_opsets(cells: Iterable[MeasuredCell]) -> list[str]:
    """``asked for opset 12 dynamo writes opset 18 without an error``, for each file that works and is of another."""
    moved = [cell for cell in cells if cell.works and cell.opset is not None and cell.opset_effective != cell.opset]
    told = "asked for opset {} {} writes opset {} without an error"
    words = (told.format(cell.opset, EXPORTER_SHORT[cell.exporter], cell.opset_effective) for cell in moved)
    return list(dict.fromkeys(words))


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


def _works(cells: Sequence[MeasuredCell], left_out: Sequence[MeasuredCell]) -> Iterable[Works]:
    """Where each variant works; an exporter of which nothing could be judged says that alone, and so does one that
    ends with an error wherever it could.
    """
    judged, silent = _by_variant(cells), _by_variant(left_out)
    for key in dict.fromkeys((*judged, *silent)):
        lines = {line.exporter: line for line in supports(judged.get(key, ()))}
        for cell in silent.get(key, ()):
            if cell.exporter not in lines or lines[cell.exporter].status not in (*WORKS, Status.MISMATCH):
                lines[cell.exporter] = Support(cell.exporter, Status.SKIP, NOT_JUDGED, (), cell.torch)
        yield Works(*key, tuple(lines[name] for name in EXPORTERS if name in lines))


def _by_variant(cells: Iterable[MeasuredCell]) -> dict[tuple[str, str], list[MeasuredCell]]:
    grouped: dict[tuple[str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.case, cell.variant].append(cell)
    return grouped


@dataclass(frozen=True)
class _Explain:
    """Tells the ways of failing among a model's rows; ``cells`` are all that were judged, against which fixes are
    held.
    """

    mine: Dataset
    corpus: Corpus
    cells: Sequence[MeasuredCell]
    notes: ModelNotes

    def failures(self, cells: Sequence[MeasuredCell]) -> list[Failure]:
        """Every way of failing, the earliest stage first; refused opsets are in the table, and no failure."""
        failing = [cell for cell in cells if cell.status not in WORKS and cell.status is not Status.UNSUPPORTED]
        texts = self.mine.messages(cell.message_id for cell in failing)
        return sorted((self._failure(group) for group in _grouped(failing, texts, self.notes.given)), key=_rank)

    def _failure(self, group: Sequence[MeasuredCell]) -> Failure:
        shown = max(group, key=_telling)
        message = self.mine.message(shown.message_id or "") or ""
        warnings = _warnings(self.mine, shown)
        differs = _sets_in(message, self.notes.sets)
        point = FailurePoint(
            shown.torch,
            shown.exporter,
            shown.opset,
            shown.stage,
            shown.status,
            message,
            warnings,
            as_exported=GIVEN in differs,
            resized=shown.stage == Stage.RUN.value and bool(differs) and all(_OF_SIZE in words for words in differs),
            varies=bool(self.notes.axes),
            calls=operator_keys(self.notes.operators),
        )
        why = told_cause(message, self.notes.axes)
        is_ours = shown.status is Status.SKIP
        return Failure(
            shown.case,
            shown.variant,
            shown.stage,
            shown.status,
            point.operator,
            _SET.sub(lambda found: _set_named(int(found[1]), self.notes.sets), message),
            warnings,
            tuple(_where(group)),
            () if is_ours else self.corpus.matches(point, self._own(shown)),
            limit(message) if is_ours else why or _hint(point),
            differs,
            is_ours,
            Where(shown.torch, shown.exporter, (shown.opset,)),
            tuple(name for name, number in _ignored(self.mine, shown).items() if number is not None),
            why,
        )

    def _own(self, shown: MeasuredCell) -> list[MeasuredCell]:
        """The judged cells of the same model on the same release."""
        key = shown.torch, shown.case, shown.variant
        return [cell for cell in self.cells if (cell.torch, cell.case, cell.variant) == key]


def _grouped(failing: Sequence[MeasuredCell], texts: Mapping[str, str], given: int) -> list[list[MeasuredCell]]:
    """The cells of each way of failing: those with the same operator, whose sentence releases word differently; where
    none is named, or an export of one release has several sentences of one operator, those with the same. Wrong values
    are told apart by whether any of the first ``given`` sets of inputs has them.
    """
    keys = {cell: _key(cell, texts.get(cell.message_id or "", ""), given) for cell in failing}
    sentences: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for cell, key in keys.items():
        sentences[key, cell.torch].add(_sentence(cell))
    grouped: dict[tuple[object, ...], list[MeasuredCell]] = defaultdict(list)
    for cell, key in keys.items():
        grouped[key, _sentence(cell) if len(sentences[key, cell.torch]) > 1 else ""].append(cell)
    return list(grouped.values())


def _sentence(cell: MeasuredCell) -> str:
    """The exception of an export and its first words, without what they quote of the graph."""
    is_told = cell.stage == Stage.EXPORT.value and cell.signature
    return _QUOTES.split(cell.signature or "")[0] if is_told else ""


def _key(cell: MeasuredCell, message: str, given: int) -> tuple[object, ...]:
    """What tells a failure from another. One operator fails in the two kinds of exporters for two reasons, and what
    helps in one may not in the other.
    """
    exporter = cell.exporter_effective or cell.exporter
    exporter = default_exporter(cell.torch) if exporter == Exporter.DEFAULT.value else exporter
    if cell.status is Status.MISMATCH:
        words = GIVEN if any(int(number) < given for number in _SET.findall(message)) else ""
    else:
        words = failing_operator(message) or cell.signature or ""
    return cell.case, cell.variant, cell.stage, cell.status, exporter == Exporter.DYNAMO.value, words


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
    ids = [warning for warning in _told(mine, cell, "warning_id") if warning]
    return "\n".join(mine.messages(ids).values())


def _told(mine: Dataset, cell: MeasuredCell, column: str) -> list[Any]:
    where = {
        "torch": (cell.torch,),
        "case": (cell.case,),
        "variant": (cell.variant,),
        "exporter": (cell.exporter,),
        "opset": (cell.opset,),
    }
    return [item for (item,) in mine.select((column,), where)]


def _fixed(mine: Dataset, cells: Iterable[MeasuredCell], notes: ModelNotes) -> str:
    """What the tracer fixed, in words, where its file agrees with eager on every set of inputs; empty for nothing."""
    told = (_warnings(mine, cell) for cell in cells if cell.works and cell.exporter in _TRACED)
    return next(filter(None, (fixed_by_tracing(text, notes.reads, bool(notes.axes)) for text in told)), "")


def _ignored(mine: Dataset, cell: MeasuredCell) -> Mapping[str, int | None]:
    return {name: number for facts in _told(mine, cell, "facts") for name, number in ignored_inputs(facts).items()}


def _unused(mine: Dataset, cells: Iterable[MeasuredCell]) -> Iterable[str]:
    """The inputs that a file works without: nothing that was tried shows that it needs them."""
    found = {name: None for cell in cells if cell.works for name in _ignored(mine, cell)}
    if found:
        names = ", ".join(found)
        yield f"a file that works ignores {names}: no other value that was tried changes what eager gives"


def _where(group: Iterable[MeasuredCell]) -> list[Where]:
    places: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for cell in group:
        places[cell.torch, cell.exporter].append(cell.opset)
    ordered = sorted(places, key=lambda place: (versions.parse(place[0]), -EXPORTERS.index(place[1])), reverse=True)
    return [Where(*place, tuple(sorted(places[place], key=lambda opset: opset or 0))) for place in ordered]


def _rank(failure: Failure) -> tuple[object, ...]:
    worst = failure.status is not Status.MISMATCH
    cells = sum(len(place.opsets) for place in failure.where)
    return failure.case, failure.variant, worst, not failure.is_as_given, _STAGES.index(failure.stage), -cells


def _hint(point: FailurePoint) -> str:
    if point.stage == Stage.EAGER.value and "ModuleNotFoundError: No module named" in point.message:
        return "the release's environment does not have this module: --with PACKAGE installs it there"
    if "Got invalid dimensions for input" in point.message:
        return "an input set has another shape than the first: --dynamic x:0=batch names an axis that varies"
    if point.too_new:
        return "the environment's onnxruntime does not know this opset: that says nothing about the model"
    return ""


def _findings(
    cells: Sequence[MeasuredCell], asked: Filters, failures: Sequence[Failure], left: Mapping[str, str]
) -> Iterable[str]:
    """Wrong values anywhere; a release, its default call, or an exporter or opset that was named, with which nothing
    works. ``cells`` are those that say something about the model.
    """
    for torch in versions.ordered({cell.torch for cell in cells}):
        here = [cell for cell in cells if cell.torch == torch]
        wrong = sorted({cell.exporter for cell in here if cell.status is Status.MISMATCH}, key=EXPORTERS.index)
        if wrong:
            ways = [item for item in failures if item.status is Status.MISMATCH and _is_on(item, torch)]
            made = " (for inputs that the check made)" if all(item.is_as_made for item in ways) else ""
            yield f"torch {torch}: wrong values without an error with {', '.join(wrong)}{made}"
        if not any(cell.works for cell in here):
            left_out = any(item.is_ours and _is_on(item, torch) for item in failures)
            of_those = " of those that could be judged" if left_out else ""
            untried = f", and there was no time for {left[torch]}" if torch in left else ""
            yield f"torch {torch}: no {'measured ' if untried else ''}cell works{of_those}{untried}"
            continue
        bare = [cell for cell in here if cell.exporter == Exporter.DEFAULT.value]
        if bare and not any(cell.works or cell.status is Status.MISMATCH for cell in bare) and not asked.exporters:
            yield f"torch {torch}: the default call does not work"
        for exporter in asked.exporters:
            tried = [cell for cell in here if cell.exporter == exporter]
            if tried and not any(cell.works for cell in tried):
                yield f"torch {torch}: nothing works with {exporter}"
        for opset in asked.opsets:
            tried = [cell for cell in here if str(cell.opset) == opset]
            if tried and not any(cell.works for cell in tried):
                yield f"torch {torch}: nothing works at opset {opset}"


def _is_on(failure: Failure, torch: str) -> bool:
    return any(place.torch == torch for place in failure.where)


def _lost(problems: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"torch {torch}: {problem}" for torch, problem in problems.items())
