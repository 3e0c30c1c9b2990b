"""Known failures in a user's ONNX file at the points of an upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caniexport.answers.answer import Answer, AnswerOutcome, Code, Link, Mark, Table
from caniexport.answers.inventory import Inventory
from caniexport.answers.model_file import ModelFile
from caniexport.answers.moves import Moves
from caniexport.answers.point import Point, Points
from caniexport.answers.samples import Samples
from caniexport.answers.scope import Scope
from caniexport.answers.touching import ModelStanding, Touch, TouchJudge, TouchVerdict
from caniexport.corpus.verdicts import is_working
from caniexport.names import plural
from caniexport.store import Dataset

#: verdicts, the best first: the call with the best one is advised
_ORDER = (
    *(
        TouchVerdict.WORKS,
        TouchVerdict.NOT_TOUCHED,
        TouchVerdict.NOT_ENOUGH,
        TouchVerdict.NOT_KNOWN,
        TouchVerdict.MAY_BE_TOUCHED,
    ),
    *(TouchVerdict.TOUCHED, TouchVerdict.FAILS, TouchVerdict.NOTHING_WORKS),
)
_CLEAR = (TouchVerdict.WORKS, TouchVerdict.NOT_TOUCHED)
_UNKNOWN = (TouchVerdict.NOT_ENOUGH, TouchVerdict.NOT_KNOWN)


def answer_model_upgrade(
    dataset: Dataset, file: ModelFile, before: Mapping[str, str], after: Mapping[str, str]
) -> Answer:
    """Answer which known failures touch a model at a target, as it is called today and by default.

    ``before`` replaces the point that the file names. Raises :class:`UnknownName`.
    """
    points = Points(dataset)
    left, left_notes = points.find({**file.point, **before})
    right, more_notes = points.find(after)
    asked = [right] if {"exporter", "opset"} & set(after) else [points.keep_call(left, right), right]
    judge = make_touch_judge(dataset, file, left, asked)
    found = {point: judge.at(point) for point in asked}
    best = min(asked, key=lambda point: (not _is_clear(found[point]), _ORDER.index(found[point].word)))
    rows = tuple(
        (Code(point.call), standing.text, len(standing.touches), len(standing.may_touch), standing.compared)
        for point, standing in found.items()
    )
    columns = ("call", "what is known", "known failures", "possible failures", "cases compared")
    calls = Table("", columns, rows, folded=("cases compared",))
    tables = (calls, _same_graph_table(dataset, found[best], best), _touch_table(found[best], best))
    notes = [
        *file.notes,
        f"It comes from {left.text}.",
        *left_notes,
        *more_notes,
        *file.list_refusals(Inventory.of(dataset), (left, best)),
        *_note_limits(found[best]),
    ]
    return Answer(
        _choose_verdict(file, best, found[best]), _choose_outcome(found[best]), tables, tuple(dict.fromkeys(notes))
    )


def make_touch_judge(dataset: Dataset, file: ModelFile, source: Point, targets: Sequence[Point]) -> TouchJudge:
    """Return the judge that compares a file with the graphs of the corpus, from its source to some targets."""
    points = Points(dataset)
    own = Point(source.torch, source.exporter, source.opset, source.own, profile=source.profile)
    moves = Moves(points.views, source, [own, *targets], Scope())
    return TouchJudge(Inventory.of(dataset), file.graph, source, moves.status, Samples.of(dataset))


def _is_clear(found: ModelStanding) -> bool:
    return found.word in _CLEAR and found.is_seen and not found.may_be_wrong


def _choose_outcome(found: ModelStanding) -> AnswerOutcome:
    if _is_clear(found):
        return AnswerOutcome.WORKS
    return AnswerOutcome.NOT_MEASURED if found.word in (*_UNKNOWN, *_CLEAR) else AnswerOutcome.FAILS


def _choose_verdict(file: ModelFile, point: Point, found: ModelStanding) -> str:
    there = f"{point.torch} with {point.call}"
    match found.word:
        case TouchVerdict.WORKS | TouchVerdict.NOT_TOUCHED if _is_clear(found):
            return f"Try {there}: no known failure touches {file.name}."
        case TouchVerdict.WORKS | TouchVerdict.NOT_TOUCHED:
            return f"Check {file.name} at {there}: its file does not show all that matters."
        case TouchVerdict.NOT_ENOUGH | TouchVerdict.NOT_KNOWN:
            return f"Not enough measured: too few cases at {there} are like {file.name}."
        case TouchVerdict.NOTHING_WORKS:
            return f"Fails: nothing written by {there} runs there."
        case TouchVerdict.FAILS:
            return f"Fails: the case with the same graph fails at {there}."
        case TouchVerdict.TOUCHED:
            number = _count_cases(found, found.touches)
            verb = "touches" if number == 1 else "touch"
            return f"Check {file.name} at {there}: {plural(number, 'known failure')} {verb} it."
        case _:
            number = _count_cases(found, found.may_touch)
            return f"Check {file.name} at {there}: {plural(number, 'known failure')} may touch it."


def _count_cases(found: ModelStanding, touches: Sequence[Touch]) -> int:
    """Count these cases and those of the same graph that fail."""
    same = {name.partition("/")[0] for name, status in found.equal.items() if not is_working(status)}
    return len({touch.case for touch in touches} | same)


def _same_graph_table(dataset: Dataset, found: ModelStanding, point: Point) -> Table:
    catalogue = Inventory.of(dataset).catalogue
    keys = [(name.partition("/")[::2], status) for name, status in found.equal.items()]
    rows = tuple((Mark(status), catalogue[key].title, _case_link(*key, point)) for key, status in keys)
    return Table("cases with the same graph", ("outcome", "title", "case"), rows, shown=8)


def _touch_table(found: ModelStanding, point: Point) -> Table:
    kinds: tuple[tuple[str, tuple[Touch, ...]], ...] = (
        ("touches", found.touches),
        ("may touch", found.may_touch),
        ("values may be wrong", found.may_be_wrong),
    )
    rows = tuple(
        (
            Mark(touch.status, kind),
            touch.title,
            f"{touch.failing + 1} of {touch.beside + 1}",
            _case_link(touch.case, touch.variant, point),
        )
        for kind, touches in kinds
        for touch in touches
    )
    return Table(
        "known failures with a graph like a part of it", ("outcome", "title", "such graphs fail", "case"), rows, shown=8
    )


def _case_link(case: str, variant: str, point: Point) -> Link:
    return Link(case, "case", {"case": case, "variant": variant, "torch": point.torch})


def _note_limits(found: ModelStanding) -> list[str]:
    notes = [found.refused] if found.refused else []
    if found.unseen:
        notes.append(f"Nothing is known of {', '.join(found.unseen)}: no measured graph has it.")
    if found.written_by:
        notes.append(
            f"The file was written by another exporter ({found.written_by}): it does not show all of the model."
        )
    return notes
