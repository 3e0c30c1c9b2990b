"""From one point to another: how to call the release, what breaks, which workarounds to remove. Or how far to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from caniexport import versions
from caniexport.answers.after_export import change_table
from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Code, Link, Mark, Message, Table
from caniexport.answers.helping import mark_changed_values
from caniexport.answers.moves import Advice, CaseChange, CaseMove, Moves, Tally
from caniexport.answers.outcomes import cause_line
from caniexport.answers.point import Point, Points
from caniexport.answers.samples import has_lost_samples, samples_table
from caniexport.answers.scope import Scope, require_cases
from caniexport.model.status import Status
from caniexport.names import plural
from caniexport.store import Dataset

#: measured cases from which on an answer gives advice
ENOUGH = 5
#: a call is advised if it has this share of the cases measured by the best known call
_AS_KNOWN = 0.9
#: changes that are counted even where there are none
_ALWAYS = (CaseChange.BREAKS, CaseChange.NOW_WRONG, CaseChange.FIXED, CaseChange.UNCHANGED)
#: where an error was raised before, the process ends now
_CRASHES, _NEW_CRASH = (CaseChange.NOW_WRONG, Status.CRASH), "error→crash"
_TITLES = {
    Advice.ADD: "new workarounds needed",
    Advice.LOST: "workarounds that stop working",
    Advice.REMOVE: "workarounds you can remove",
    Advice.KEEP: "workarounds to keep",
}


def answer_upgrade(
    dataset: Dataset, before: Mapping[str, str], after: Mapping[str, str], scope: Scope, *, same_call: bool = False
) -> Answer:
    """Answer what to do between two points of :func:`caniexport.answers.point.parse_point`, and what it costs.

    With ``same_call`` the verdict is about the call of today, which nobody changes; else about the best one.
    """
    require_cases(scope)
    points = Points(dataset)
    left, notes = points.find(before)
    right, more_notes = points.find(after)
    if left.rows == right.rows:
        verdict = "Nothing to compare: the same measured cells answer for both points."
        same = dict.fromkeys([f"Both are {right.text}.", *notes, *more_notes])
        return Answer(verdict, AnswerOutcome.NOT_MEASURED, notes=tuple(same))
    is_named = bool({"exporter", "opset"} & set(after))
    asked = [right] if is_named else [points.keep_call(left, right), right]
    others = [] if is_named else [point for point in points.list_calls(right) if point not in asked]
    moves = Moves(points.views, left, [*asked, *others], scope)
    found = moves.tallies([*asked, *others])
    tallies = _rank_calls(found, len(asked))
    if same_call and not is_named:
        today = right if left.is_default else asked[0]
        tallies.sort(key=lambda tally: tally.point != today)
    best = tallies[0]
    cases, advised = moves.cases(best.point), moves.workarounds(best.point)
    because = moves.causes(best.point, (move.case for move in cases if move.change is CaseChange.BREAKS))
    samples = samples_table(dataset, scope.ops, (left, best.point))
    unstable = (move for move in cases if Status.UNSTABLE in (move.before, move.after))
    tables = (
        _call_table(tallies),
        _worse_table(cases, best.point, because),
        samples,
        *_advice_tables(advised, best.point),
        _name_table(
            "not measured there", (move for move in cases if move.change is CaseChange.NOT_MEASURED), best.point
        ),
        _name_table(
            "works there, and onnx's checker refuses the file", (move for move in cases if move.is_refused), best.point
        ),
        _name_table("unstable: repetitions differ at one of the points", unstable, best.point),
        change_table(points.views, left.rows, best.point.rows),
    )
    counts = Counter(advice for advice, *_ in advised)
    verdict, outcome = _judge_operators(dataset, scope, left, best, *_choose_verdict(left, best))
    lost = f"{counts[Advice.LOST]} stop working, " if counts[Advice.LOST] else ""
    summary = (
        f"Workarounds: remove {counts[Advice.REMOVE]}, add {counts[Advice.ADD]}, {lost}keep {counts[Advice.KEEP]}."
    )
    lines = [f"From {left.text} to torch {right.torch}.", *notes, *more_notes, *_note_uncovered(scope, samples)]
    narrow = "" if scope.cases is not None else "; --op grid_sample --op lstm narrows to what you use"
    more = f"--all lists every case and workaround{narrow}."
    return Answer(verdict, outcome, tables, (*dict.fromkeys(lines), summary), more=more)


def answer_ladder(dataset: Dataset, before: Mapping[str, str], scope: Scope) -> Answer:
    """Answer how far one can move from a point: every newer release, called as before and by default."""
    require_cases(scope)
    points = Points(dataset)
    left, notes = points.find(before)
    newer = [torch for torch in points.releases if versions.parse(torch) > versions.parse(left.torch)][::-1]
    if not newer:
        verdict = f"Stay at torch {left.torch}: no newer release was measured."
        return Answer(verdict, AnswerOutcome.LISTED, notes=tuple(notes))
    default = [points.at(torch, left) for torch in newer]
    kept = [points.keep_call(left, point) for point in default]
    found = Moves(points.views, left, [*kept, *default], scope).tallies([*kept, *default])
    pairs = [*zip(found[: len(newer)], found[len(newer) :], strict=True)]
    known = _keep_measured(found)
    clean = [tally for tally in known if tally.is_clear and tally.compared >= ENOUGH and not tally.is_mostly_unmeasured]
    rows = tuple(
        (torch, _change_text(one), _change_text(other)) for torch, (one, other) in zip(newer, pairs, strict=True)
    )
    columns = ("torch", kept[0].call.partition(",")[0], "default")
    table = Table("", columns, _note_default_exporter(rows, default, left))
    uses = "you use" if scope.cases is not None else "measured"
    clean.sort(key=lambda tally: (newer.index(tally.point.torch), tally.cost, not tally.point.is_default))
    best = next((tally for tally in clean if not has_lost_samples(dataset, scope.ops, left, tally.point)), None)
    if best is not None:
        verdict = f"Move to {best.point.torch} with {best.point.call}: nothing {uses} breaks{_count_text(best)}."
        outcome = AnswerOutcome.WORKS
    else:
        best = min(known, key=lambda tally: (tally.cost, newer.index(tally.point.torch)))
        verdict, outcome = _choose_verdict(left, best)
    verdict, outcome = _judge_operators(dataset, scope, left, best, verdict, outcome)
    samples = samples_table(dataset, scope.ops, (left, best.point))
    lines = (f"From {left.text}.", *notes, *_note_uncovered(scope, samples))
    return Answer(verdict, outcome, (table, samples), lines, more="--to VERSION lists what changes there.")


def _rank_calls(found: Sequence[Tally], asked: int) -> list[Tally]:
    """Return the best call, the fullest of equal ones, and those ``asked``."""
    known = _keep_measured(found)
    best = min(known, key=lambda tally: tally.cost)
    fuller = max((tally for tally in known if tally.cost == best.cost), key=lambda tally: tally.working)
    tallies = [best, *([fuller] if fuller.working > best.working else []), *found[:asked]]
    return [tally for at, tally in enumerate(tallies) if tally not in tallies[:at]]


def _keep_measured(tallies: Sequence[Tally]) -> list[Tally]:
    """Return the tallies with about as many measured cases as the best: an unmeasured call breaks nothing."""
    most = max(tally.compared for tally in tallies)
    return [tally for tally in tallies if tally.compared >= _AS_KNOWN * most]


def _choose_verdict(left: Point, best: Tally) -> tuple[str, AnswerOutcome]:
    """Return what to do at a point, in one line."""
    call = f"{best.point.torch} with {best.point.call}"
    worse = best.worse
    if best.compared < ENOUGH or (best.is_mostly_unmeasured and not worse):
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
    helped = worse - best.helpless - best.counts[CaseChange.LOST]
    all_of = {1: "it has", 2: "both have"}.get(worse, "all have")
    tail = f"{all_of} a workaround" if helped == worse else f"{helped or 'none'} with a workaround"
    verb = "breaks" if worse == 1 else "break"
    text = f"{move} {call}: {worse} of {best.compared} cases {verb}"
    return f"{text}, {tail}." if len(f"{text}, {tail}.") <= LONGEST else f"{text}.", AnswerOutcome.FAILS


def _judge_operators(
    dataset: Dataset, scope: Scope, left: Point, best: Tally, verdict: str, outcome: AnswerOutcome
) -> tuple[str, AnswerOutcome]:
    """Return the verdict on the cases, or a worse one because of operator samples or an operator without a case."""
    if outcome is not AnswerOutcome.FAILS and has_lost_samples(dataset, scope.ops, left, best.point):
        samples = f"operator samples that passed fail at {best.point.torch}"
        return f"No documented case breaks ({_cases_text(best)}), and {samples}.", AnswerOutcome.FAILS
    if outcome is AnswerOutcome.WORKS and scope.uncovered:
        some = f"{len(scope.uncovered)} of {plural(len(scope.ops), 'operator')}"
        return f"Not enough measured: no case is about {some}; nothing else breaks.", AnswerOutcome.NOT_MEASURED
    return verdict, outcome


def _count_text(tally: Tally) -> str:
    """Return the number of cases behind a verdict; where most fail before and after, that number."""
    failing = tally.compared - tally.working
    return f", {failing} of {tally.compared} still fail" if failing > tally.working else f" ({_cases_text(tally)})"


def _cases_text(tally: Tally) -> str:
    return plural(tally.compared, "measured case")


def _call_table(tallies: Sequence[Tally]) -> Table:
    """The calls of the release, the best first, with the changes of the cases by each."""
    counted = [change for change in CaseChange if change in _ALWAYS or any(tally.counts[change] for tally in tallies)]
    rows: list[tuple[Cell, ...]] = [
        (Code(tally.point.call), *(tally.counts[change] for change in counted)) for tally in tallies
    ]
    return Table("", ("call", *(change.value for change in counted)), tuple(rows))


def _worse_table(moves: Iterable[CaseMove], point: Point, because: Mapping[str, str]) -> Table:
    """Return the table of what breaks and what now gives wrong values, with what helps there."""
    order = (CaseChange.BREAKS, CaseChange.LOST, CaseChange.NOW_WRONG)
    worse = sorted((move for move in moves if move.change in order), key=lambda move: order.index(move.change))
    rows = tuple(
        (
            Mark(
                move.after or Status.NOT_RUN,
                _NEW_CRASH if (move.change, move.after) == _CRASHES else move.change.value,
            ),
            _case_link(move.case, point),
            Message(cause_line(move.message), move.message),
            _workaround_cell(move),
            because.get(move.case, ""),
            move.title,
        )
        for move in worse
    )
    columns = ("becomes", "case", "error", "workaround", "because of", "title")
    return Table(f"worse with {point.call}", columns, rows, shown=8, folded=("because of", "title"))


def _workaround_cell(move: CaseMove) -> Cell:
    """Return the workaround to try first, and how many others work."""
    if not move.workarounds:
        return "none"
    first, *others = move.workarounds
    return mark_changed_values(first, first in move.changing) + (f" +{len(others)}" if others else "")


def _advice_tables(advised: Iterable[tuple[Advice, str, str, str]], point: Point) -> list[Table]:
    """Return a table of workarounds for each advice; none is on the first screen, which has the counts."""
    by_advice: dict[Advice, list[tuple[Cell, ...]]] = {}
    for advice, case, variant, note in advised:
        by_advice.setdefault(advice, []).append((variant, note or "", _case_link(case, point, variant)))
    return [
        Table(_TITLES[advice], ("workaround", "what it does", "case"), tuple(rows), shown=0)
        for advice, rows in by_advice.items()
    ]


def _name_table(title: str, moves: Iterable[CaseMove], point: Point) -> Table:
    rows = tuple((_case_link(move.case, point), move.title) for move in moves)
    return Table(title, ("case", "title"), rows, shown=0)


def _case_link(case: str, point: Point, variant: str = "") -> Link:
    asked = {"case": case, "torch": point.torch}
    if variant:
        asked["variant"] = variant
    if not point.is_default:
        asked |= {"exporter": point.exporter, "opset": str(point.opset)}
    return Link(case, "case", asked)


def _change_text(tally: Tally) -> str:
    """``0 break, 3 fixed``."""
    if not tally.compared:
        return "not measured"
    breaks, fixed = tally.worse, tally.counts[CaseChange.FIXED]
    wrong = f", {tally.counts[CaseChange.NOW_WRONG]} error→wrong" if tally.counts[CaseChange.NOW_WRONG] else ""
    return f"{breaks} break{wrong}" + (f", {fixed} fixed" if fixed else "")


def _note_default_exporter(
    rows: Sequence[tuple[Cell, ...]], default: Sequence[Point], left: Point
) -> tuple[tuple[Cell, ...], ...]:
    """Mark the rows of a ladder where the default call changes its exporter."""
    older = [*(point.exporter for point in default[1:]), left.own[0]]
    return tuple(
        (*row[:-1], f"{row[-1]}   ← the default exporter becomes {point.exporter}") if point.exporter != before else row
        for row, point, before in zip(rows, default, older, strict=True)
    )


def _is_measured(cell: Cell) -> bool:
    return isinstance(cell, Mark) and cell.word is not Status.NOT_RUN


def _note_uncovered(scope: Scope, samples: Table) -> list[str]:
    """Note the operators that no case is about."""
    sampled = {op for op, *cells in samples.rows if any(map(_is_measured, cells))}
    unknown = [op for op in scope.uncovered if op not in sampled]
    known = [op for op in scope.uncovered if op in sampled]
    notes = [f"No case is about {', '.join(unknown)}: nothing is known of it here."] if unknown else []
    return notes + ([f"No case is about {', '.join(known)}: only operator samples are."] if known else [])
