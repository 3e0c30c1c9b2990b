"""The sentence that an answer opens with: of an upgrade what to do, and what it costs; of a case how it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from caniexport import versions
from caniexport.answers.outcomes import short_cause
from caniexport.answers.plan import Plan
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.reasons import FailureGroup, Why
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.targets import UpgradeTarget
from caniexport.answers.touching import ENOUGH, ModelStanding, TouchWord
from caniexport.answers.upgrade import Upgrade
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Status
from caniexport.names import plural, some

#: what the number of cases says that work at neither end
NEITHER = "each case is a failure that people met: that some work at neither point is usual, and no news of an upgrade"
#: cases that a sentence names one by one
_NAMED = 3


def decide(found: Upgrade) -> str:
    """``Move to torch 2.9.1 with `dynamo=False`: nothing breaks … By default, dynamo since 2.9.1, 3 break: …``."""
    return " ".join(decide_each(found))


def decide_each(found: Upgrade, *, short: bool = False) -> tuple[str, ...]:
    """The same by sentence: the way to go first, then what comes of the other ways, and what limits the answer.

    ``short`` leaves out of the other ways what a table beside it counts: what is mended, what works at neither end.
    """
    if found.is_one_place:
        return (_one_place(found),)
    first, *others = order_ways(found)
    # of a model its own end speaks, not how many cases fail there
    is_poor = first.model is None and (first.is_thin or first.silent or first.mostly_fails)
    is_good = first.clean and not is_poor
    lead = _move(found.before, first) if is_good else f"Moving to torch {first.place.torch}"
    if first.place.torch == found.before.torch:
        lead = f"At torch {first.place.torch}{_packages(found.before, first.place)}"
    parts = (f"{lead}{_way(found, first)}: {_told(first)}.", *(_other(found, other, short=short) for other in others))
    rest = _stay(found.before, found.stay), *_file_refused(found.file_refused, first), _values(first)
    said = (*parts, *rest, _not_measured(found.before, found.after))
    return tuple(filter(None, said))


def _one_place(found: Upgrade) -> str:
    """Of two points that the same cells answer: that nothing tells them apart, or that they are the same."""
    if not found.is_told_apart:
        said = f"Nothing is known of what changes: the same measured cells answer for both, {found.after.text}."
        return f"{said} {_not_measured(found.before, found.after)}"
    same = f"Nothing changes: both points are {found.after.text}."
    return " ".join(filter(None, [same, _not_measured(found.after)]))


def order_ways(found: Upgrade) -> list[UpgradeTarget]:
    """The ways of calling it after an upgrade: the default first, unless the reader named an exporter, or the other
    breaks less; a further one before them where the reader named no opset, or the first breaks something.
    """
    target, kept, other = found.target, found.kept, found.other
    assumed = " ".join(found.before.notes)
    is_mine = "the exporter of the default call" not in assumed and kept is not None and _ease(kept) >= _ease(target)
    ways = [target]
    if kept is not None:
        ways = [kept, target] if is_mine or _is_easier(kept, target) else [target, kept]
    if other is None:
        return ways
    is_named = not any(note.startswith("opset") for note in found.before.notes)
    return [*ways, other] if is_named and ways[0].clean else [other, *ways]


def _is_easier(way: UpgradeTarget, other: UpgradeTarget) -> bool:
    """Whether a way is known to be better spared, or of two that break something breaks less."""
    if _ease(way) != _ease(other) or way.model is not None:
        return _ease(way) > _ease(other)
    return not way.clean and not way.is_thin and way.stops < other.stops


def _ease(way: UpgradeTarget) -> int:
    """What is known to be spared before what no known failure touches, before the rest."""
    return way.clean + way.is_known


def call_way(found: Upgrade, way: UpgradeTarget) -> str:
    """How it is called there, and which torch that is, as a heading."""
    return f"torch {way.place.torch}{_way(found, way)}"


def _way(found: Upgrade, way: UpgradeTarget) -> str:
    """How it is called, with the opset where nobody asked for it."""
    is_told = "opset_version" in way.called or not way.called
    opset = "" if way is not found.other or is_told else f" ({versions.opset_name(way.place.opset)})"
    return f"{_called(way)}{opset}"


def decide_plan(found: Plan) -> str:
    """``Move to torch 2.15.0: nothing that was measured breaks. With `dynamo=False` …``."""
    goals = [target for target in (found.newest, found.kept) if target is not None]
    best = max(goals, key=lambda target: (versions.parse(target.place.torch), _ease(target)), default=None)
    if best is None or best.place.torch == found.before.torch:
        return _decide_least(found)
    rest = [target for target in goals if target.place != best.place]
    others = [f"{_capital(_called(target, newest=True))}: {_told(target)}." for target in rest]
    said = f"{_move(found.before, best)}{_called(best)}: {_told(best)}."
    refused = _file_refused(found.file_refused, best)
    return " ".join(filter(None, [said, *others, *refused, _values(best), _not_measured(found.before)]))


def _decide_least(found: Plan) -> str:
    """Where no newer release is clean: the one that breaks fewest, and what that is."""
    refused = "".join(f" {said}" for said in found.file_refused)
    if not found.held:
        return f"Stay at torch {found.before.torch}: it is the newest release that was measured.{refused}"
    unknown = next((item for item in found.held if item.model and item.model.word is TouchWord.NOT_ENOUGH), None)
    if unknown is not None:
        return f"At torch {unknown.place.torch}{_called(unknown)}: {_told(unknown)}.{refused}"
    newer = [item for item in found.held if item.place.torch != found.before.torch and (item.breaks or item.lost)]
    stay = f"no release newer than torch {found.before.torch} is known where nothing breaks"
    if not newer:
        return f"Stay at torch {found.before.torch}: {stay}.{refused}"
    # of equals the newest, which comes first
    least = min(newer, key=lambda item: (len(item.without) + len(item.lost_cases), item.stops))
    return f"{_capital(stay)}; fewest break at torch {least.place.torch}{_called(least)}: {_told(least)}.{refused}"


def _not_measured(*places: MeasuredPoint) -> str:
    """What of the points asked for was not measured, and what is answered in its place."""
    notes = dict.fromkeys(note for place in places for note in place.limits)
    return f"{_capital('; '.join(notes))}." if notes else ""


def decide_why(found: Sequence[Why]) -> str:
    """``cross at torch 1.12.1: fail at export by trace 7-16 (RuntimeError: …).``: each answer's newest release."""
    return " ".join(map(_ends, found))


def _ends(item: Why) -> str:
    entry = item.entry
    name = entry.case if entry.variant == PLAIN else f"{entry.case}/{entry.variant}"
    if not item.groups:
        return f"{name} was not measured there: nothing is known of it."
    # what is installed together has no release of torch
    newest = versions.newest({group.torch for group in item.groups if group.torch}) or ""
    there = [group for group in item.groups if group.torch == newest]
    # a refusal says nothing about the case where anything else is known
    there = [group for group in there if group.status is not Status.UNSUPPORTED] or there
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for group in there:
        called = (EXPORTER_SHORT.get(group.exporter, group.exporter), versions.opset_text(group.opsets))
        told[_ending(group, item.messages)].append(" ".join(dict.fromkeys(called)))
    by = {key: f" by {', '.join(who)}" if newest else "" for key, who in told.items()}
    said = [f"{ending}{by[ending, cause]}{cause}" for ending, cause in told]
    elsewhere = "".join(f" {_capital(words)}." for words in item.elsewhere)
    return f"{name}{f' at torch {newest}' if newest else ''}: {'; '.join(said)}.{elsewhere}"


def _ending(group: FailureGroup, messages: Sequence[str]) -> tuple[str, str]:
    """``fail at export`` and `` (RuntimeError: …)``."""
    if group.status in WORKS:
        return group.status.value, ""
    cause = "" if group.message is None else short_cause(messages[group.message])
    return f"{group.status.value} at {group.stage}", f" ({cause})" if cause else ""


def _stay(before: MeasuredPoint, target: UpgradeTarget | None) -> str:
    """What comes of newer packages beside the same torch."""
    if target is None:
        return ""
    return f"Staying at torch {before.torch}{_packages(before, target.place)}, called as today: {_told(target)}."


def _packages(before: MeasuredPoint, place: MeasuredPoint) -> str:
    """`` with onnxscript 0.7.2, onnx 1.23.2``: the packages beside torch that are others there."""
    mine = dict(before.packages)
    changed = [f"{name} {version}" for name, version in place.packages if mine.get(name) != version]
    return f" with {', '.join(changed)}" if changed and place.profile != before.profile else ""


def _move(before: MeasuredPoint, target: UpgradeTarget) -> str:
    # what is inferred of a model is to be tried
    inferred = target.model is not None and target.model.measured is None
    if inferred or not target.is_known:
        return f"Try torch {target.place.torch}"
    back = versions.parse(target.place.torch) < versions.parse(before.torch)
    return f"{'Go back' if back else 'Move'} to torch {target.place.torch}"


def _other(found: Upgrade, way: UpgradeTarget, *, short: bool) -> str:
    """What another way of calling it comes to."""
    # where more fails than works, that is the answer
    is_short = short and way.model is None and not way.mostly_fails
    told = replace(way, fail=(), wrong=(), stopped=(), mended=()) if is_short else way
    return f"{_capital(_way(found, way))}: {_told(told)}."


def _called(target: UpgradeTarget, *, newest: bool = False) -> str:
    """`` with `dynamo=False` ``, or by default, and since when that is another exporter than at the source."""
    until = f" and torch up to {target.place.torch}" if newest else ""
    since = f" since {target.default_since}" if target.default_since else ""
    exporter = f"{EXPORTER_SHORT[target.place.exporter]}{since}"
    if target.called:
        return f" with `{target.called}`{f' ({exporter})' if since else ''}{until}"
    return f" as called by default ({exporter}, {versions.opset_name(target.place.opset)}){until}"


def _told(target: UpgradeTarget) -> str:
    """What happens at a target, in one clause."""
    return _told_of_cases(target) if target.model is None else _told_of_model(target, target.model)


def _told_of_cases(target: UpgradeTarget) -> str:
    unmeasured = f"{len(target.unmeasured)} not measured there" if target.unmeasured else ""
    if not target.compared:
        return f"nothing of this was measured at both ends{'; ' + unmeasured if unmeasured else ''}"
    now = "gives wrong values or crashes" if len(target.silent) == 1 else "give wrong values or crash"
    worse = f"{len(target.silent)} that failed before now {now} ({some(target.silent, _NAMED)})"
    silent = worse if target.silent else ""
    fail = _at_both_ends(target)
    mended = f"{len(target.mended)} mended" if target.mended else ""
    named = f"{len(target.by_axes)} of the others fail with dynamic_axes= ({some(target.by_axes, _NAMED)})"
    by_axes = named if target.by_axes else ""
    lost = _lost(target)
    changed = (_replaced(target), _failing_by_call(target), by_axes, mended)
    beside = "".join(f"; {text}" for text in (*changed, fail, unmeasured) if text)
    if not target.breaks:
        but = f", but {silent}" if silent else ""
        every = target.compared + len(target.unmeasured)
        # with so little measured, that nothing breaks is no answer
        if target.is_thin:
            few = f"only {target.compared} of {plural(every, 'case')} were measured there"
            return f"{few}, and {lost or 'none of them breaks'}{but}{beside}"
        if target.mostly_fails:
            ends = fail if target.wrong or target.stopped else ""
            rest = "".join(f"; {text}" for text in (silent, *changed, ends, unmeasured) if text)
            return f"{_mostly_fails(target, lost)}{rest}"
        measured = f"({plural(target.compared, 'case')}{beside})"
        return f"{f'{lost}; nothing else' if lost else 'nothing'} breaks of what was measured{but} {measured}"
    verb = "breaks" if len(target.breaks) == 1 else "break"
    of = f"{len(target.breaks)} of {plural(target.compared, 'measured case')}"
    further = "".join(f"; {text}" for text in (lost, silent) if text)
    return f"{of} {verb}: {some(target.breaks, _NAMED)}{_helped(target)}{further}{beside}"


def _mostly_fails(target: UpgradeTarget, lost: str) -> str:
    """``2 of 3 measured cases work at neither end (a, b), 1 with a workaround that works there (a/x), and …``."""
    works = "works" if len(target.fail) == 1 else "work"
    of = f"{len(target.fail)} of {plural(target.compared, 'measured case')} {works} at neither end"
    each = "each " if len(target.fail) > 1 else ""
    who = each if len(target.helped) == len(target.fail) else f"{len(target.helped)} "
    named = some(target.helped, _NAMED)
    helped = f", {who}with a workaround that works there ({named})" if named else ""
    others = "nothing that works breaks" if target.working or target.mended else ""
    is_helped = len(target.helped) == len(target.fail) or target.fail_by_name or others
    nothing = "" if is_helped else f"nothing {'else ' if target.helped else ''}works there"
    said = f", but {lost}" if lost else "".join(f", and {text}" for text in (others, nothing) if text)
    return f"{of} ({some(target.fail, _NAMED)}){helped}{said}"


def _lost(target: UpgradeTarget) -> str:
    """``2 workarounds stop working, and no other is known there (a/x, a/y)``."""
    said = f"{_stop_working(len(target.lost))}, and no other is known there ({some(target.lost, _NAMED)})"
    return said if target.lost else ""


def _replaced(target: UpgradeTarget) -> str:
    """``1 workaround stops working where another works (a/z in place of a/x)``."""
    instead = [f"{other} in place of {name}" for name, other in target.replaced.items()]
    said = f"{_stop_working(len(instead))} where another works ({some(instead, _NAMED)})"
    return said if instead else ""


def _stop_working(number: int) -> str:
    return f"{plural(number, 'workaround')} stop{'s' if number == 1 else ''} working"


def _failing_by_call(target: UpgradeTarget) -> str:
    """Which of those that work at neither end work with dynamic_shapes=: of all where these are the answer, else of
    those whose workarounds stop working.
    """
    told = [name for name in target.fail_by_name if target.mostly_fails or name in target.lost_cases]
    verb = "works" if len(told) == 1 else "work"
    return f"{some(told, _NAMED)} {verb} with dynamic_shapes= in place of dynamic_axes=" if told else ""


def _at_both_ends(target: UpgradeTarget) -> str:
    """``11 stop with an error and 6 give wrong values at both ends``."""
    ways = (("stop", target.stopping, "with an error"), ("give", target.wrong, "wrong values"))
    said = [f"{len(cases)} {verb}{'s' if len(cases) == 1 else ''} {how}" for verb, cases, how in ways if cases]
    both = f"{' and '.join(said)} at both ends" if said else ""
    verb = "stops" if len(target.stopped) == 1 else "stop"
    now = f"{len(target.stopped)} now {verb} with an error in place of wrong values" if target.stopped else ""
    return "; ".join(filter(None, (both, now)))


def _helped(target: UpgradeTarget) -> str:
    """How many have a workaround, and how many work with dynamic_shapes."""
    several = len(target.breaks) > 1
    who = "it works" if not several else "1 works" if len(target.by_name) == 1 else f"{len(target.by_name)} work"
    named = f"; {who} with dynamic_shapes= in place of dynamic_axes=" if target.by_name else ""
    if not target.workarounds:
        return named or ", and no workaround is known there"
    changing = [f"{name} {changed}" for name, changed in target.changing.items()]
    beside = f", of which {some(changing, _NAMED)}" if changing else ""
    if not target.without:
        return f"{', each' if several else ','} with a workaround there{beside}{named}"
    return f"; {len(target.workarounds)} with a workaround there{beside}{named}"


def _told_of_model(target: UpgradeTarget, found: ModelStanding) -> str:
    if found.measured is not None:
        return f"it was measured there: {found.measured.value}{f' ({found.why})' if found.why else ''}"
    named = some([touch.case for touch in (found.touches or found.may_touch)], _NAMED)
    wrong = some([touch.case for touch in found.may_be_wrong], _NAMED)
    may = f"; its values may be wrong for some inputs, as in {wrong}" if wrong else ""
    return f"{_inferred(target, found, named)}{may}{_beyond_file(target, found)}"


def _file_refused(refused: Sequence[str], first: UpgradeTarget | None) -> Sequence[str]:
    """What runtimes say of a file as it lies there, where that is not said of the first way."""
    is_said = first is not None and first.model is not None and first.model.refused
    return () if is_said else refused


def _values(target: UpgradeTarget) -> str:
    """What of a model no file tells, however clear it is."""
    if target.model is None or target.model.measured is not None or not target.clean:
        return ""
    return "Whether its values are right for every input no file shows: only `--measure FILE.py:make` tells."


def _beyond_file(target: UpgradeTarget, found: ModelStanding) -> str:
    """What a file written by another exporter leaves open where nothing in it is known to fail."""
    if not found.written_by or not target.clean:
        return ""
    writer, reader = EXPORTER_SHORT[found.written_by], EXPORTER_SHORT[target.place.exporter]
    return f"; {reader} reads more of the program than a file by {writer} shows"


def _inferred(target: UpgradeTarget, found: ModelStanding, named: str) -> str:
    match found.word:
        case TouchWord.WORKS:
            same = some(list(found.equal), _NAMED)
            return f"a case with the same operators, joined alike, was measured there and works ({same})"
        case TouchWord.FAILS:
            return f"a case with the same graph was measured there and fails ({some(list(found.equal), _NAMED)})"
        case TouchWord.TOUCHED:
            return f"known failures touch it: {some(target.breaks, _NAMED)}{_helped(target)}"
        case TouchWord.MAY_BE_TOUCHED:
            return f"no known failure surely touches it, and {len(found.may_touch)} may: {named}"
        case TouchWord.NOT_TOUCHED:
            graphs = plural(found.compared, "measured graph")
            base = f"of {graphs} {found.failing} fail there" if found.failing else f"{graphs} looked for"
            looked = f"no known failure touches it ({base})"
            unseen = some(found.unseen, _NAMED)
            return f"{looked}; nothing is known of {unseen}, which none of them has" if unseen else looked
        case TouchWord.NOT_ENOUGH:
            unseen = f"; nothing is known of {some(found.unseen, _NAMED)}" if found.unseen else ""
            return f"{found.word.value}: {_inside(found)}{unseen}"
        case TouchWord.NOTHING_WORKS:
            return f"no such file works there{_why_nothing(found)}"
        case TouchWord.NOT_KNOWN:
            return "nothing was measured there, so nothing is known"


def _inside(found: ModelStanding) -> str:
    """``2 measured cases join operators as it does (a, b), fewer than 5, of 757 graphs looked for; …``."""
    number = len(found.inside)
    cases = plural(number, "measured case") if number else "no measured case"
    named = f" ({some(found.inside, _NAMED)})" if number else ""
    joined = f"{cases} join{'s' if number < 2 else ''} operators as it does{named}"
    looked = f"{joined}, fewer than {ENOUGH}, of {plural(found.compared, 'graph')} looked for"
    return f"{looked}; only `--measure FILE.py:make` tells"


def _why_nothing(found: ModelStanding) -> str:
    """Why no file works there: the versions that its runtime takes, what was measured."""
    are_all = found.compared and found.failing == found.compared
    fail = f"all {plural(found.compared, 'measured graph')} fail" if are_all else ""
    if not found.refused:
        return f": {fail}"
    return f": {found.refused}{f' ({fail})' if fail else ''}"


def called(target: UpgradeTarget) -> str:
    """How it is called there, and which torch that is, as a heading."""
    return f"torch {target.place.torch}{_called(target)}"


def _capital(text: str) -> str:
    stripped = text.strip()
    return stripped[:1].upper() + stripped[1:]
