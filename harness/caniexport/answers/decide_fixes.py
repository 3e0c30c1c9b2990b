"""The sentence that an answer about fixes opens with: which may go at a release, and where one is still needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.standings import Standing, Workarounds
from caniexport.corpus.verdicts import Workaround, works
from caniexport.model.status import Stage
from caniexport.names import some

#: cases that a sentence names one by one, and those of which it says what they are
_NAMED, _DESCRIBED = 3, 2
#: what a failing form did before its workaround became obsolete
_FAILED = (Workaround.NEEDED, Workaround.BROKEN)
#: what is said of one fix, and what that means
_FIX = {
    Workaround.NEEDED: ("is needed", "the failing form fails there, and with it it works"),
    Workaround.HARMFUL: ("does harm", "the failing form works there, and with it it fails or is wrong"),
    Workaround.BROKEN: ("does not help", "it fails there too"),
    Workaround.OBSOLETE: ("is obsolete", "the failing form works there without it"),
    Workaround.UNKNOWN: ("is not judged", "it was not measured there, or the opset is refused"),
}
#: what is said of a case
_FREE, _NEEDED = "no workaround is needed, the failing form works", "a workaround is still needed"
_BROKEN = "none of the workarounds measured helps"
_REFUSED = "torch itself refuses what is to be exported"
_PARTLY = "not measured with every exporter; where it was, the failing form works"
_BY_DEFAULT = "no workaround is needed where the exporter is named, but the default call fails"
_NOTHING = "nothing was measured there"
_ASIDE = "the file takes the example's sizes alone, and whether a workaround helps is not known,"
_MENDED, _HARMED = "the failing form works since a release", "the fix does harm"
_STILL = (_NEEDED, _BROKEN, _HARMED)
_ORDER = (*_STILL, _BY_DEFAULT, _ASIDE, _MENDED, _FREE, _PARTLY, _REFUSED, _NOTHING)


def decide_workarounds(found: Workarounds, beside: str = "") -> str:
    """``At torch 2.8.0, opset 18: no workaround is needed, the failing form works: a.``; empty for several releases.
    ``beside`` stands in brackets beside the release: why it is that one.

    Of one fix it says whether that is needed; of several cases those come first that still need a workaround, or that
    none helps, however few.
    """
    # fixes that are known to be wrong are answered where nothing else was asked for
    items = [item for item in found.standings if item.torch] or [item for item in found.cautions if item.torch]
    releases = {item.torch for item in items}
    if len(releases) != 1:
        return ""
    opsets = {item.opset for item in items if item.opset is not None}
    why = f" ({beside})" if beside else ""
    opset = f", {versions.opset_name(opsets.pop())}" if len(opsets) == 1 else ""
    at = f"at torch {releases.pop()}{why}{opset}{f', on {found.runtime}' if found.runtime else ''}"
    by_case: dict[str, list[Standing]] = defaultdict(list)
    for item in items:
        by_case[item.case].append(item)
    fixes = sorted({item.variant for item in items})
    if len(by_case) == 1:
        (case,) = by_case
        return _of_fix(f"{case}/{fixes[0]}", items, at) if len(fixes) == 1 else _of_case(case, items, at)
    return _of_cases(by_case, fixes[0] if len(fixes) == 1 else "", at)


def _of_fix(name: str, items: Sequence[Standing], at: str) -> str:
    """``cross/stack is obsolete at torch 2.8.0, opset 18 (trace since 1.12.1): the failing form works without it.``."""
    told: dict[Workaround, list[Standing]] = defaultdict(list)
    for item in items:
        told[item.word].append(item)
    words = [word for word in _FIX if told[word]]
    said = [f"{_FIX[word][0]}{f' {at}' * (word is words[0])} ({_by(told[word])})" for word in words]
    changed = f", but it {items[0].changed}" if items[0].changed else ""
    changed += f"; {items[0].aside}" if items[0].aside else ""
    meaning = f": {_FIX[words[0]][1]}{changed}" if len(words) == 1 else changed
    wrong = f" is known to be wrong or partial ({items[0].note}), and" if items[0].caution else ""
    return f"{name}{wrong} {', '.join(said)}{meaning}."


def _of_case(case: str, items: list[Standing], at: str) -> str:
    need = _need(items)
    harmful = list(dict.fromkeys(item.variant for item in items if item.word is Workaround.HARMFUL))
    harm = f"; harmful there: {some(harmful, _NAMED)}" if harmful else ""
    return f"{at[0].upper()}{at[1:]}: {need}{_by_whom(need, items)}: {case}{_only_changing(items)}{harm}."


def _only_changing(items: Sequence[Standing]) -> str:
    """That every fix which is needed computes other values, where that is so."""
    needed = [item for item in items if item.word is Workaround.NEEDED]
    if not needed or not all(item.changed for item in needed):
        return ""
    told = dict.fromkeys(f"{item.variant} {item.changed}" for item in needed)
    return f"; no workaround that was measured keeps the values: {some(list(told), _NAMED)}"


def _of_cases(by_case: Mapping[str, list[Standing]], fix: str, at: str) -> str:
    """Of several cases, each with its workarounds, or with the one ``fix`` of that name."""
    told: dict[str, list[str]] = defaultdict(list)
    for case, items in by_case.items():
        told[_need_of_several(items, fix)].append(case)
    order = [need for need in _ORDER if told[need]]
    said = [_clause(need, [(case, by_case[case]) for case in told[need]], fix, len(by_case)) for need in order]
    return f"{at[0].upper()}{at[1:]}: {'; '.join(said)}."


def _need_of_several(items: list[Standing], fix: str) -> str:
    need = _need(items)
    if need == _FREE and fix and any(item.word is Workaround.HARMFUL for item in items):
        return _HARMED
    return _MENDED if need == _FREE and any(item.before in _FAILED for item in items) else need


def _clause(need: str, cases: Sequence[tuple[str, list[Standing]]], fix: str, every: int) -> str:
    named = some([case for case, _ in cases], _NAMED)
    if need == _MENDED:
        (first, items), rest = cases[0], [case for case, _ in cases[1:]]
        lead = f"{fix} is obsolete" if fix else "no workaround is needed any more"
        others = f", {some(rest, _NAMED - 1)}" if rest else ""
        return f"{lead} for {first} ({_by(_obsolete(items))}){others}: the failing form works without"
    if need in _STILL:
        verb = {
            _NEEDED: f"{fix or 'a workaround'} is still needed",
            _BROKEN: f"{fix} does not help" if fix else "no workaround that was measured helps",
            _HARMED: f"{fix} does harm",
        }[need]
        if len(cases) > _DESCRIBED:
            # what was filtered by its word leaves no others to count
            others = f" of {every}" if len(cases) < every else ""
            return f"{verb} for {len(cases)}{others} cases{_by_each(need, cases)}"
        each = [f"{case}{_by_whom(need, items)}{_title(items)}" for case, items in cases]
        return f"{verb} for {' and '.join(each)}"
    said = need.rstrip(",")
    return f"{said}: {named}"


def _by_each(need: str, cases: Sequence[tuple[str, list[Standing]]]) -> str:
    """The first of these cases, those that are alike in their exporters together: `` by trace: a, b``, ``: a, b (by
    every exporter), c (by trace, not by dynamo) and 2 more``.
    """
    exporters = {item.exporter for _, items in cases for item in items}
    alike: dict[str, list[str]] = defaultdict(list)
    for case, items in cases:
        is_every = set(_such(need, items)) == exporters
        alike["by every exporter" if is_every else _by_whom(need, items).strip()].append(case)
    names = [case for mine in alike.values() for case in mine]
    if len(exporters) == 1 or len(alike) == 1:
        (whom, *_) = alike
        return f"{f' {whom}' if len(exporters) > 1 else ''}: {some(names, _NAMED)}"
    shown, more = set(names[:_NAMED]), len(names) - _NAMED
    told = [(", ".join(case for case in mine if case in shown), whom) for whom, mine in alike.items()]
    return f": {', '.join(f'{mine} ({whom})' for mine, whom in told if mine)}{f' and {more} more' if more > 0 else ''}"


def _obsolete(items: Sequence[Standing]) -> list[Standing]:
    """For each exporter the fix that became obsolete first, which is when the failing form began to work."""
    found = [item for item in items if item.word is Workaround.OBSOLETE and item.obsolete_since]
    found.sort(key=lambda item: versions.parse(item.obsolete_since or ""))
    first: dict[tuple[str, str | None], Standing] = {}
    for item in found:
        first.setdefault((item.exporter, item.provider), item)
    return [first[item.exporter, item.provider] for item in items if first.get((item.exporter, item.provider)) is item]


def _by(items: Sequence[Standing]) -> str:
    """``trace, script since 1.12.1; dynamo``."""
    told: dict[str, list[str]] = defaultdict(list)
    for item in items:
        # before a fix that did harm the failing form worked as well
        since = f" since {item.obsolete_since}" if item.obsolete_since and item.before in _FAILED else ""
        told[since].append(_exporter(item))
    return "; ".join(f"{', '.join(dict.fromkeys(who))}{since}" for since, who in told.items())


def _exporter(item: Standing) -> str:
    provider = "" if item.provider in ("cpu", None) else f" on {item.provider}"
    return f"{EXPORTER_SHORT[item.exporter]}{provider}"


def _title(items: Sequence[Standing]) -> str:
    title = items[0].title.rstrip(".")
    return f" ({title})" if title else ""


def _need(standings: list[Standing]) -> str:
    """Whether a case needs a workaround, by the standings of its fixes with every exporter."""
    # a default call is at an opset of its own
    by_default = [item for item in standings if item.opset is None]
    standings = [item for item in standings if item.opset is not None] or standings
    words = {item.word for item in standings}
    bad = [item for item in standings if item.word in (Workaround.NEEDED, Workaround.BROKEN)]
    if bad and all(item.plain is not None and item.plain.stage == Stage.EAGER.value for item in bad):
        return _REFUSED
    if Workaround.NEEDED in words:
        return _NEEDED
    if Workaround.BROKEN in words:
        is_aside = all(item.aside for item in standings if item.word is Workaround.BROKEN)
        return _ASIDE if is_aside else _BROKEN
    plain = {item.exporter: works(item.plain.status) if item.plain else None for item in standings}
    if not any(plain.values()):
        return _NOTHING
    if any(item.plain is not None and works(item.plain.status) is False for item in by_default):
        return _BY_DEFAULT
    return _FREE if all(plain.values()) else _PARTLY


def _by_whom(need: str, standings: list[Standing]) -> str:
    """Where a fix is needed, where none helps, and where it may go: `` by trace, not by dynamo``, `` by dynamo; none is
    needed by trace``.
    """
    such = _such(need, standings)
    if not such:
        return ""
    names = dict.fromkeys(item.exporter for item in standings)
    free = [
        name
        for name in names
        if name not in such and any(item.exporter == name and item.word is Workaround.OBSOLETE for item in standings)
    ]
    named = ", ".join(EXPORTER_SHORT[name] for name in free)
    joined = ", not by" if need == _NEEDED else "; none is needed by"
    without = f"{joined} {named}" if free else ""
    stuck = _such(_BROKEN, [item for item in standings if item.exporter not in such]) if need == _NEEDED else []
    without += f", and none helps by {', '.join(EXPORTER_SHORT[name] for name in stuck)}" if stuck else ""
    return f" by {', '.join(EXPORTER_SHORT[name] for name in such)}{without}"


def _such(need: str, standings: list[Standing]) -> list[str]:
    """The exporters by which a fix is so; none of what is said of the failing form."""
    word = {
        _NEEDED: Workaround.NEEDED,
        _BROKEN: Workaround.BROKEN,
        _ASIDE: Workaround.BROKEN,
        _HARMED: Workaround.HARMFUL,
    }.get(need)
    return list(dict.fromkeys(item.exporter for item in standings if item.word is word))
