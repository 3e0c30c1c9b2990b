"""From one point to another: how to call the release, what breaks, which workarounds to remove. Or how far to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from caniexport import versions
from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Code, Link, Mark, Message, Table
from caniexport.answers.moves import Advice, Became, CaseMove, Moves, Tally
from caniexport.answers.outcomes import cause_line
from caniexport.answers.point import Point, Points
from caniexport.answers.samples import lose_samples, samples_table
from caniexport.answers.scope import Scope, require_cases
from caniexport.model.status import Status
from caniexport.names import plural
from caniexport.store import Dataset

#: measured cases about what was asked from which on an answer is an advice
ENOUGH = 5
#: the share of cases measured by the best known call that another call has to have as well, to be advised
_AS_KNOWN = 0.9
#: what is counted in any case, and what only where there is some
_ALWAYS = (Became.BREAKS, Became.NOW_WRONG, Became.FIXED, Became.UNCHANGED)
_TITLES = {
    Advice.ADD: "new workarounds needed",
    Advice.LOST: "workarounds that stop working",
    Advice.REMOVE: "workarounds you can remove",
    Advice.KEEP: "workarounds to keep",
}


def upgrade(
    dataset: Dataset, before: Mapping[str, str], after: Mapping[str, str], scope: Scope, *, same_call: bool = False
) -> Answer:
    """What to do, and what it costs, between two points as :func:`caniexport.answers.point.parse` gives them.

    With ``same_call`` the verdict is about the call of today, which nobody changes; else about the best one.
    """
    require_cases(scope)
    points = Points(dataset)
    left, notes = points.find(before)
    right, more_notes = points.find(after)
    if left.rows == right.rows:
        said = "Nothing to compare: the same measured cells answer for both points."
        same = dict.fromkeys([f"Both are {right.text}.", *notes, *more_notes])
        return Answer(said, AnswerOutcome.NOT_MEASURED, notes=tuple(same))
    is_named = bool({"exporter", "opset"} & set(after))
    asked = [right] if is_named else [points.kept(left, right), right]
    others = [] if is_named else [point for point in points.others(right) if point not in asked]
    moves = Moves(points.views, left, [*asked, *others], scope)
    found = moves.tallies([*asked, *others])
    ways = _rank_calls(found, len(asked))
    if same_call and not is_named:
        today = right if left.is_default else asked[0]
        ways.sort(key=lambda way: way.point != today)
    best = ways[0]
    cases, advised = moves.cases(best.point), moves.workarounds(best.point)
    because = moves.causes(best.point, (move.case for move in cases if move.became is Became.BREAKS))
    samples = samples_table(dataset, scope.ops, (left, best.point))
    unstable = (move for move in cases if Status.UNSTABLE in (move.before, move.after))
    tables = (
        _call_table(ways),
        _worse_table(cases, best.point, because),
        samples,
        *_advice_tables(advised, best.point),
        _name_table("not measured there", (move for move in cases if move.became is Became.NOT_MEASURED), best.point),
        _name_table(
            "works there, and onnx's checker refuses the file", (move for move in cases if move.is_refused), best.point
        ),
        _name_table("unstable: repetitions differ at one of the points", unstable, best.point),
    )
    counts = Counter(advice for advice, *_ in advised)
    verdict, outcome = _judge_operators(dataset, scope, left, best, *_choose_verdict(left, best))
    summary = (
        f"Workarounds: remove {counts[Advice.REMOVE]}, add {counts[Advice.ADD] + counts[Advice.LOST]}, "
        f"keep {counts[Advice.KEEP]}."
    )
    lines = [f"From {left.text} to torch {right.torch}.", *notes, *more_notes, *_note_uncovered(scope, samples)]
    return Answer(verdict, outcome, tables, (*dict.fromkeys(lines), summary), more=_MORE)


_MORE = "--all lists every case and workaround; --op grid_sample --op lstm narrows to what you use."


def ladder(dataset: Dataset, before: Mapping[str, str], scope: Scope) -> Answer:
    """How far one can go from a point: every newer release, called as before and by default."""
    require_cases(scope)
    points = Points(dataset)
    left, notes = points.find(before)
    newer = [torch for torch in points.releases if versions.parse(torch) > versions.parse(left.torch)][::-1]
    if not newer:
        said = f"Stay at torch {left.torch}: no newer release was measured."
        return Answer(said, AnswerOutcome.LISTED, notes=tuple(notes))
    default = [points.at(torch, left) for torch in newer]
    kept = [points.kept(left, point) for point in default]
    found = Moves(points.views, left, [*kept, *default], scope).tallies([*kept, *default])
    pairs = [*zip(found[: len(newer)], found[len(newer) :], strict=True)]
    known = _keep_measured(found)
    clean = [way for way in known if way.is_clear and way.compared >= ENOUGH and not way.is_thin]
    rows = tuple(
        (torch, _change_text(one), _change_text(other)) for torch, (one, other) in zip(newer, pairs, strict=True)
    )
    columns = ("torch", kept[0].call.partition(",")[0], "default")
    table = Table("", columns, _note_default_exporter(rows, default, left))
    uses = "you use" if scope.cases is not None else "measured"
    clean.sort(key=lambda way: (newer.index(way.point.torch), way.cost, not way.point.is_default))
    best = next((way for way in clean if not lose_samples(dataset, scope.ops, left, way.point)), None)
    if best is not None:
        said = f"Move to {best.point.torch} with {best.point.call}: nothing {uses} breaks{_count_text(best)}."
        outcome = AnswerOutcome.WORKS
    else:
        best = min(known, key=lambda way: (way.cost, newer.index(way.point.torch)))
        said, outcome = _choose_verdict(left, best)
    verdict, outcome = _judge_operators(dataset, scope, left, best, said, outcome)
    samples = samples_table(dataset, scope.ops, (left, best.point))
    lines = (f"From {left.text}.", *notes, *_note_uncovered(scope, samples))
    return Answer(verdict, outcome, (table, samples), lines, more="--to VERSION lists what changes there.")


def _rank_calls(found: Sequence[Tally], asked: int) -> list[Tally]:
    """The best way, of equal ones the first; one that breaks as little, and by which more works; those ``asked``."""
    known = _keep_measured(found)
    best = min(known, key=lambda way: way.cost)
    fuller = max((way for way in known if way.cost == best.cost), key=lambda way: way.working)
    ways = [best, *([fuller] if fuller.working > best.working else []), *found[:asked]]
    return [way for at, way in enumerate(ways) if way not in ways[:at]]


def _keep_measured(ways: Sequence[Tally]) -> list[Tally]:
    """The ways by which about as many cases were measured as by any: a call that nobody tried breaks nothing."""
    most = max(way.compared for way in ways)
    return [way for way in ways if way.compared >= _AS_KNOWN * most]


def _choose_verdict(left: Point, best: Tally) -> tuple[str, AnswerOutcome]:
    """What to do at a point, in one line."""
    call = f"{best.point.torch} with {best.point.call}"
    worse = best.worse
    if best.compared < ENOUGH or (best.is_thin and not worse):
        few = f"{worse} of them break{'s' if worse == 1 else ''}" if worse else "nothing breaks"
        return f"Not enough measured: {plural(best.compared, 'case')} at {call}, {few}.", AnswerOutcome.NOT_MEASURED
    back = versions.parse(best.point.torch) < versions.parse(left.torch)
    move = "Go back to" if back else "Stay at" if best.point.torch == left.torch else "Move to"
    if best.is_clear:
        return f"{move} {call}: nothing breaks{_count_text(best)}.", AnswerOutcome.WORKS
    if not worse:
        return f"At {call} nothing works: {_cases_text(best)} fail before and after.", AnswerOutcome.FAILS
    if worse > best.working:
        return f"Fails: {worse} of {best.compared} cases break at {call}.", AnswerOutcome.FAILS
    helped = worse - best.helpless - best.counts[Became.LOST]
    all_of = {1: "it has", 2: "both have"}.get(worse, "all have")
    tail = f"{all_of} a workaround" if helped == worse else f"{helped or 'none'} with a workaround"
    verb = "breaks" if worse == 1 else "break"
    said = f"{move} {call}: {worse} of {best.compared} cases {verb}"
    return f"{said}, {tail}." if len(f"{said}, {tail}.") <= LONGEST else f"{said}.", AnswerOutcome.FAILS


def _judge_operators(
    dataset: Dataset, scope: Scope, left: Point, best: Tally, verdict: str, outcome: AnswerOutcome
) -> tuple[str, AnswerOutcome]:
    """The verdict on the cases, or what speaks against it: operator samples, an operator without a case."""
    if outcome is not AnswerOutcome.FAILS and lose_samples(dataset, scope.ops, left, best.point):
        samples = f"operator samples that passed fail at {best.point.torch}"
        return f"No documented case breaks ({_cases_text(best)}), and {samples}.", AnswerOutcome.FAILS
    if outcome is AnswerOutcome.WORKS and scope.uncovered:
        some = f"{len(scope.uncovered)} of {plural(len(scope.ops), 'operator')}"
        return f"Not enough measured: no case is about {some}; nothing else breaks.", AnswerOutcome.NOT_MEASURED
    return verdict, outcome


def _count_text(way: Tally) -> str:
    """How many cases say so; where most fail before and after, that they do."""
    failing = way.compared - way.working
    return f", {failing} of {way.compared} still fail" if failing > way.working else f" ({_cases_text(way)})"


def _cases_text(way: Tally) -> str:
    return plural(way.compared, "measured case")


def _call_table(ways: Sequence[Tally]) -> Table:
    """The ways of calling the release, the best first, with what becomes of the cases by each."""
    counted = [became for became in Became if became in _ALWAYS or any(way.counts[became] for way in ways)]
    rows: list[tuple[Cell, ...]] = [(Code(way.point.call), *(way.counts[became] for became in counted)) for way in ways]
    return Table("", ("call", *(became.value for became in counted)), tuple(rows))


def _worse_table(moves: Iterable[CaseMove], point: Point, because: Mapping[str, str]) -> Table:
    """What breaks and what now gives wrong values, with what helps there."""
    order = (Became.BREAKS, Became.LOST, Became.NOW_WRONG)
    worse = sorted((move for move in moves if move.became in order), key=lambda move: order.index(move.became))
    rows = tuple(
        (
            Mark(move.after or Status.NOT_RUN, move.became.value),
            move.title,
            Message(cause_line(move.message), move.message),
            _workaround_cell(move),
            because.get(move.case, ""),
            _case_link(move.case, point),
        )
        for move in worse
    )
    columns = ("becomes", "case", "error", "workaround", "because of", "name")
    return Table(f"worse with {point.call}", columns, rows, shown=8, folded=("because of",))


def _workaround_cell(move: CaseMove) -> Cell:
    """The workaround to try first, and how many others work; ``±`` marks one that computes other values."""
    if not move.workarounds:
        return "none"
    first, *others = move.workarounds
    sign = "± " if first in move.changing else ""
    return f"{sign}{first}" + (f" +{len(others)}" if others else "")


def _advice_tables(advised: Iterable[tuple[Advice, str, str, str]], point: Point) -> list[Table]:
    """What to do with workarounds, a table for each advice; of all only the counts are on the first screen."""
    by_advice: dict[Advice, list[tuple[Cell, ...]]] = {}
    for advice, case, variant, note in advised:
        by_advice.setdefault(advice, []).append((variant, note or "", _case_link(case, point, variant)))
    return [
        Table(_TITLES[advice], ("workaround", "what it does", "case"), tuple(rows), shown=0)
        for advice, rows in by_advice.items()
    ]


def _name_table(title: str, moves: Iterable[CaseMove], point: Point) -> Table:
    rows = tuple((move.title, _case_link(move.case, point)) for move in moves)
    return Table(title, ("case", "name"), rows, shown=0)


def _case_link(case: str, point: Point, variant: str = "") -> Link:
    asked = {"case": case, "torch": point.torch}
    if variant:
        asked["variant"] = variant
    if not point.is_default:
        asked |= {"exporter": point.exporter, "opset": str(point.opset)}
    return Link(case, "case", asked)


def _change_text(way: Tally) -> str:
    """``0 break, 3 fixed``."""
    if not way.compared:
        return "not measured"
    breaks, fixed = way.worse, way.counts[Became.FIXED]
    wrong = f", {way.counts[Became.NOW_WRONG]} now wrong" if way.counts[Became.NOW_WRONG] else ""
    return f"{breaks} break{wrong}" + (f", {fixed} fixed" if fixed else "")


def _note_default_exporter(
    rows: Sequence[tuple[Cell, ...]], default: Sequence[Point], left: Point
) -> tuple[tuple[Cell, ...], ...]:
    """The rows of a ladder; the release at which the default call changes its exporter says so."""
    older = [*(point.exporter for point in default[1:]), left.own[0]]
    return tuple(
        (*row[:-1], f"{row[-1]}   ← the default exporter becomes {point.exporter}") if point.exporter != before else row
        for row, point, before in zip(rows, default, older, strict=True)
    )


def _note_uncovered(scope: Scope, samples: Table) -> list[str]:
    """What is known of the operators that no case is about."""
    sampled = {row[0] for row in samples.rows}
    unknown = [op for op in scope.uncovered if op not in sampled]
    known = [op for op in scope.uncovered if op in sampled]
    said = [f"No case is about {', '.join(unknown)}: nothing is known of it here."] if unknown else []
    return said + ([f"No case is about {', '.join(known)}: only operator samples are."] if known else [])
