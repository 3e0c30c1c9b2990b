"""The sentence that an answer about an upgrade opens with: what to do, and what it costs."""

from __future__ import annotations

from collections import defaultdict

from caniexport import versions
from caniexport.answers.plan import Plan
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.standings import Workarounds
from caniexport.answers.targets import UpgradeTarget
from caniexport.answers.touching import ModelStanding, TouchWord
from caniexport.answers.upgrade import Upgrade
from caniexport.corpus.verdicts import Workaround
from caniexport.names import plural, some

#: cases that a sentence names one by one
_NAMED = 3


def decide(found: Upgrade) -> str:
    """``Move to torch 2.9.1 with `dynamo=False`: nothing breaks … By default, dynamo since 2.9.1, 3 break: …``."""
    target, kept = found.target, found.kept
    first, second = (kept, target) if kept is not None and kept.clean and not target.clean else (target, kept)
    lead = _move(found.before, first) if first.clean else f"Moving to torch {first.place.torch}"
    if first.place.torch == found.before.torch:
        lead = f"At torch {first.place.torch}{_packages(found.before, first.place)}"
    said = (f"{lead}{_called(first)}: {_told(first)}.", _other(second), _stay(found.before, found.stay))
    return " ".join(filter(None, said))


def decide_plan(found: Plan) -> str:
    """``Move to torch 2.15.0: nothing that was measured breaks. With `dynamo=False` …``."""
    goals = [target for target in (found.newest, found.kept) if target is not None]
    best = max(goals, key=lambda target: versions.parse(target.place.torch), default=None)
    if best is None or best.place.torch == found.before.torch:
        return f"Stay at torch {found.before.torch}: no newer release is known where nothing breaks."
    rest = [target for target in goals if target.place != best.place]
    others = [f"{_capital(_called(target, newest=True))}: {_told(target)}." for target in rest]
    return " ".join([f"{_move(found.before, best)}{_called(best)}: {_told(best)}.", *others])


def decide_workarounds(found: Workarounds) -> str:
    """``At torch 2.8.0, opset 18, 3 of 5 cases need no workaround (…); a, b still do.``; empty for several releases."""
    items = [item for item in found.standings if item.torch and item.word is not Workaround.UNKNOWN]
    releases = {item.torch for item in items}
    if len(releases) != 1:
        return ""
    words: dict[str, set[Workaround]] = defaultdict(set)
    for item in items:
        words[item.case].add(item.word)
    needed = [case for case, said in words.items() if Workaround.NEEDED in said]
    broken = [case for case, said in words.items() if Workaround.BROKEN in said and case not in needed]
    free = [case for case in words if case not in needed and case not in broken]
    opsets = {item.opset for item in items if item.opset is not None}
    at = f"At torch {releases.pop()}{f', {versions.opset_name(opsets.pop())}' if len(opsets) == 1 else ''}"
    told = (
        (free, "no workaround is needed, the failing form works"),
        (needed, "a workaround is still needed with some exporter"),
        (broken, "none of the workarounds measured helps with some exporter"),
    )
    return f"{at}: " + "; ".join(f"{text}: {some(cases, _NAMED)}" for cases, text in told if cases) + "."


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
    back = versions.parse(target.place.torch) < versions.parse(before.torch)
    return f"{'Go back' if back else 'Move'} to torch {target.place.torch}"


def _other(target: UpgradeTarget | None) -> str:
    """What the other way of calling it comes to."""
    return f"{_capital(_called(target))}: {_told(target)}." if target is not None else ""


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
    silent = f"{len(target.unmeasured)} not measured there" if target.unmeasured else ""
    if not target.compared:
        return f"nothing of this was measured at both ends{'; ' + silent if silent else ''}"
    fail = f"{len(target.fail)} fail at both ends" if target.fail else ""
    mended = f"{len(target.mended)} mended" if target.mended else ""
    beside = "".join(f"; {text}" for text in (mended, fail, silent) if text)
    if not target.breaks:
        return f"nothing breaks of what was measured ({plural(target.compared, 'case')}{beside})"
    verb = "breaks" if len(target.breaks) == 1 else "break"
    of = f"{len(target.breaks)} of {plural(target.compared, 'measured case')}"
    return f"{of} {verb}: {some(target.breaks, _NAMED)}{_helped(target)}{beside}"


def _helped(target: UpgradeTarget) -> str:
    if not target.workarounds:
        return ", and no workaround is known there"
    if not target.without:
        return ", each with a workaround there" if len(target.breaks) > 1 else ", with a workaround there"
    return f"; {len(target.workarounds)} with a workaround there"


def _told_of_model(target: UpgradeTarget, found: ModelStanding) -> str:
    if found.measured is not None:
        return f"it was measured there: {found.measured.value}{f' ({found.why})' if found.why else ''}"
    named = some([touch.case for touch in (found.touches or found.may_touch)], _NAMED)
    match found.word:
        case TouchWord.WORKS:
            return f"a case with the same graph was measured there and works ({some(list(found.equal), _NAMED)})"
        case TouchWord.FAILS:
            return f"a case with the same graph was measured there and fails ({some(list(found.equal), _NAMED)})"
        case TouchWord.TOUCHED:
            return f"known failures touch it: {some(target.breaks, _NAMED)}{_helped(target)}"
        case TouchWord.MAY_BE_TOUCHED:
            return f"no known failure surely touches it, and {len(found.may_touch)} may: {named}"
        case TouchWord.NOT_TOUCHED:
            return f"no known failure touches it ({found.compared} measured graphs were looked for)"
        case TouchWord.NOT_KNOWN:
            return "nothing was measured there, so nothing is known"


def called(target: UpgradeTarget) -> str:
    """How it is called there, and which torch that is, as a heading."""
    return f"torch {target.place.torch}{_called(target)}"


def _capital(text: str) -> str:
    stripped = text.strip()
    return stripped[:1].upper() + stripped[1:]
