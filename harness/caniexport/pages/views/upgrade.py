"""From one point to another: what breaks, what is fixed, which axis did it, which workarounds may go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from caniexport import versions
from caniexport.answers.calls_between import BETWEEN, places_of, tell_between
from caniexport.answers.decision import NEITHER, call_way, decide_each, order_ways
from caniexport.answers.filters import Filters
from caniexport.answers.model_file import ModelFile
from caniexport.answers.operator_at import tell_uncovered
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.select import exporter_name, exporter_names
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.targets import UpgradeTarget
from caniexport.answers.upgrade import WORSE, Upgrade, WayChanges, upgrade
from caniexport.answers.wanted import name_cases
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, Status
from caniexport.pages import looks
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import case_names
from caniexport.pages.render import opset_name, render
from caniexport.pages.setting import PROFILE_WORDS
from caniexport.pages.sheet import joined, table_file
from caniexport.pages.undecided import undecided
from caniexport.profiles import PERIOD

TITLE = "Which torch may I move to?"
_LEAD = "What breaks between two points, what is fixed, which version did it, and what becomes of each workaround."
_EXPORTERS = [member.value for member in Exporter if member is not Exporter.DEFAULT]
_OWN = "the default call's"
#: signs of an operator list in the title of a tab, and in all
_IN_A_TAB = 60
LONGEST = 4000
_COLUMNS = (
    *("from", "to", "what changes", "case", "title", "before", "after"),
    *("done by", "text", "told", "works there"),
)
_LISTS = (
    ("drop", "Workarounds that may go", "needed before; the failing form works afterwards"),
    ("add", "Workarounds to add", "what they fix breaks on the way; of several beside a case any helps"),
    ("lost", "Workarounds that stop working", "what they fix fails there still"),
    ("keep", "Workarounds that must stay", "needed before and afterwards"),
)


def page(form: Form, kept: Kept) -> Page:
    """What changes between the two points that are asked for."""
    releases = list(kept.rows().torch)
    if not releases:
        form.take(*form.asked)
        return form.page(TITLE, _LEAD, render("nothing.html", nothing="No torch release has been measured yet."))
    opsets = [str(opset) for opset in sorted(kept.rows().offered_opsets)]
    written = form.file.point if form.file else {}
    mine = form.mine.of("torch") or _last_two(kept, form.mine.profile)
    start = written.get("torch") or mine[0]
    own = {name: form.mine.one(name) for name in ("opset", "exporter") if len(form.mine.of(name)) == 1}
    if form.mine.of("exporter") == exporter_names(("TorchScript",)):
        own["exporter"] = exporter_name("TorchScript")
    own |= {name: written[name] for name in ("opset", "exporter") if name in written}
    runtime = tuple(("runtime", name) for name in form.mine.of("runtime")[-1:])
    before = (*_point(form, "from", "From", releases, opsets, start, own), *runtime)
    before += _packages(form, kept, dict(before)["torch"])
    after = (*_point(form, "to", "To", releases, opsets, mine[-1] if len(mine) > 1 else releases[-1]), *runtime)
    form.bar()
    example = "aten::cross, GridSample, pooling; empty: every case"
    named = form.words("ops", "Only these operators or themes", example, width=420, longest=LONGEST)
    form.choose_setting(kept.rows(), ("runtime", "profile"), apart=False)
    narrow = name_cases(filter(None, re.split(r"[,\s]+", named)), kept.rows().catalogue.values())
    if not_known := undecided(form, "upgrade", _asked_of(form)):
        return form.page(TITLE, _LEAD, not_known, takes_file=True, folds=True, searches=True)
    found = kept.answer(_ask, before, after, narrow.filters) if narrow.names or not named.strip() else None
    uncovered = tell_uncovered(kept.operators(), narrow.others, dict(after)["torch"], "Of the rest:" if found else "")
    between = tell_between(kept.operators(), narrow.filters.ops, places_of(found)) if found else ""
    uncovered = " ".join(filter(None, (uncovered, between and f"{between} {BETWEEN}")))
    given: dict[str, Any] = {"found": found, "uncovered": uncovered, "lists": _LISTS, "back": False, "worse": WORSE}
    given["of_file"] = ()
    given["cases"] = kept.answer(case_names)
    if form.file and ("torch" in written or form.asked.get("from") or form.mine.of("torch")):
        decision = decide_for_model(kept, form.file, dict(before), dict(after))
        given["of_file"] = decision and (f"For {form.file.name}: {decision[0]}", *decision[1:])
    given["starts"] = starts(kept) if form.whole else ()
    given["asked_from"] = form.asked.get("from")
    if found:
        given["back"] = versions.parse(found.before.torch) > versions.parse(found.after.torch)
        given["decision"] = decide_each(found, short=True)
        given["neither"] = NEITHER
        given["sides"] = [_side(found, way, form.mine.profile) for way in order_ways(found)]
    packages = dict(before).get("profile", "")
    given["packages"] = f"with the packages {PROFILE_WORDS.get(packages, packages)}" if packages else ""
    way = f"torch {found.before.torch} to {found.after.torch}" if found else ""
    about = (way, given["packages"], named[:_IN_A_TAB]) if found else ()
    body = render("upgrade.html", **given)
    files = (table_file("upgrade", _COLUMNS, lambda: _rows(found) if found else ()),)
    return form.page(TITLE, _LEAD, body, about=about, takes_file=True, folds=True, searches=True, files=files)


def _rows(found: Upgrade) -> Iterator[tuple[object, ...]]:
    """What changes as it is kept, in the order of the columns, by each way of calling the release."""
    for way in order_ways(found):
        to = found.after.text if way is found.target else call_way(found, way).replace("`", "")
        for group in found.changes_by(way).groups:
            for change in group.changes:
                ends = (change.before or Status.NOT_RUN, change.after or Status.NOT_RUN)
                what = (looks.VERDICT[group.verdict].word, change.name, change.title, *(end.value for end in ends))
                said = (change.blamed if change.axes else "", group.cause, change.told, joined(change.told_fixes))
                yield (found.before.text, to, *what, *said)


def _asked_of(form: Form) -> set[str]:
    """The parameters that the two points are made of; those of the setting as far as the points leave them open."""
    points = {f"{end}{axis}" for end in ("from", "to") for axis in ("", "_opset", "_exporter")}
    own = {"torch": "from", "opset": "from_opset", "exporter": "from_exporter", "runtime": "", "profile": ""}
    return points | {name for name, at in own.items() if not form.asked.get(at)}


def _last_two(kept: Kept, profile: str) -> tuple[str, ...]:
    """The newest release with a reader's packages and the newest of all, or the two newest."""
    releases, theirs = kept.rows().torch, kept.of(profile).rows().torch
    return releases[-2:] if profile == NEWEST else (*theirs[-1:], releases[-1])


def _packages(form: Form, kept: Kept, torch: str) -> tuple[tuple[str, str], ...]:
    """The reader's packages as a part of the point that they come from; the newest where they were not measured."""
    profile = form.mine.profile
    if profile == NEWEST:
        return ()
    if torch in kept.of(profile).rows().torch:
        return (("profile", profile),)
    words = PROFILE_WORDS.get(profile, profile)
    form.warnings.append(f"torch {torch} was not measured with packages {words}: it is answered with the newest")
    return ()


def starts(kept: Kept) -> list[dict[str, str]]:
    """Where a file's reader may come from, as addresses: each release, and with the packages of its time."""
    releases = kept.rows().torch
    theirs = kept.of(PERIOD).rows().torch if PERIOD in kept.profiles() else ()
    found = [{"from": torch, "profile": PERIOD} for torch in theirs if torch in releases]
    return [*({"from": torch} for torch in releases[:-1]), *found]


def decide_for_model(
    kept: Kept, model: ModelFile, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[str, ...]:
    """The sentences about a user's file between two points; none where one of them is not known."""
    try:
        return decide_each(upgrade(kept, before, after, Filters(), model))
    except UnknownName:
        return ()


def _point(
    form: Form,
    name: str,
    label: str,
    releases: list[str],
    opsets: list[str],
    torch: str,
    own: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[str, str], ...]:
    """One point, by axis; what is left open is the reader's ``own``, else the release's."""
    opset, exporter = own.get("opset", ""), own.get("exporter", "")
    asked = {
        "torch": form.select(name, f"{label} torch", releases[::-1], text=torch),
        "opset": form.select(f"{name}_opset", f"{label} opset", opsets, text=opset or "the release's own"),
        "exporter": form.select(
            f"{name}_exporter", f"{label} exporter", _EXPORTERS, text=exporter or _OWN, shown=EXPORTER_SHORT
        ),
    }
    found = {axis: value or {**own, "torch": torch}.get(axis, "") for axis, value in asked.items()}
    return tuple((axis, value) for axis, value in found.items() if value)


def _ask(
    kept: Kept, before: tuple[tuple[str, str], ...], after: tuple[tuple[str, str], ...], narrow: Filters
) -> Upgrade:
    return upgrade(kept, dict(before), dict(after), narrow)


@dataclass(frozen=True)
class _Side:
    """One way of calling the release: its heading, what changes, how many by verdict, and its point as ``at``."""

    label: str
    way: UpgradeTarget
    changes: WayChanges
    counts: Mapping[str, int]
    at: Mapping[str, str]

    @property
    def fixes(self) -> bool:
        """Whether a workaround is needed at one of the two points."""
        return any(getattr(self.changes, name) for name, _, _ in _LISTS)


def _side(found: Upgrade, way: UpgradeTarget, profile: str) -> _Side:
    changes = found.changes_by(way)
    counts: dict[str, int] = {}
    for group in changes.groups:
        counts[group.verdict] = counts.get(group.verdict, 0) + len(group.changes)
    return _Side(f"to {call_way(found, way)}", way, changes, counts, _at(way.place, profile))


def _at(place: MeasuredPoint, mine: str) -> dict[str, str]:
    """A point as the case page is asked for it by a reader with packages of their own."""
    provider = "" if place.provider == "cpu" else place.provider
    return {
        "torch": place.torch,
        "exporter": place.exporter,
        "opset": opset_name(place.opset),
        "provider": provider,
        "profile": place.profile if mine != place.profile else "",
    }
