"""From one point to another: how to call the release, what breaks, which workarounds may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from markupsafe import Markup

from caniexport.answers.answer import Answer
from caniexport.answers.filters import exporter_name, exporter_names
from caniexport.answers.model import answer_model_upgrade
from caniexport.answers.model_file import ModelFile
from caniexport.answers.scope import find_scope
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upgrade import answer_ladder, answer_upgrade
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.setting import PROFILE_WORDS
from caniexport.pages.undecided import render_undecided
from caniexport.profiles import PERIOD
from caniexport.store.views import Views

TITLE = "Which torch may I move to?"
_LEAD = "How to call a newer release, what breaks there, and which workarounds to remove, add and keep."
_EXPORTERS = [member.value for member in Exporter if member is not Exporter.DEFAULT]
#: signs of an operator list in the title of a tab, and in all
_IN_A_TAB = 60
LONGEST = 4000


def page(form: Form, kept: Kept) -> Page:
    """What changes between the two points that are asked for; how far to go where no target is."""
    releases = list(kept.inventory.torch)
    if not releases:
        form.take(*form.asked)
        return form.page(TITLE, _LEAD, render("nothing.html", nothing="No torch release has been measured yet."))
    opsets = [str(opset) for opset in kept.inventory.opsets]
    written = form.file.point if form.file else {}
    own = {name: form.mine.one(name) for name in ("opset", "exporter") if len(form.mine.of(name)) == 1}
    if form.mine.of("exporter") == exporter_names(("TorchScript",)):
        own["exporter"] = exporter_name("TorchScript")
    own |= {name: written[name] for name in ("opset", "exporter") if name in written}
    mine = form.mine.of("torch") or _last_two(kept, form.mine.profile)
    start = written.get("torch") or mine[0]
    runtime = dict(zip(("runtime",), form.mine.of("runtime")[-1:], strict=False))
    before = _point(form, "from", "From", releases, opsets, start, own) | runtime
    before |= _packages(form, kept, before["torch"])
    after = _point(form, "to", "To", releases, opsets, mine[-1] if len(mine) > 1 else releases[-1]) | runtime
    form.bar()
    example = "aten::cross, GridSample; empty: every case"
    named = form.words("ops", "Only these operators", example, width=420, longest=LONGEST)
    form.choose_setting(kept.inventory, ("runtime", "profile"), apart=False)
    if not_known := render_undecided(form, "upgrade", _asked_of(form)):
        return form.page(TITLE, _LEAD, not_known, takes_file=True, folds=True, searches=True)
    ops, unknown = _operators(kept, named)
    form.warnings += unknown.values()
    found = kept.answer(_ask, tuple(before.items()), tuple(after.items()), ops, tuple(unknown))
    body = render_answer(found)
    if form.file and ("torch" in written or form.asked.get("from") or form.mine.of("torch")):
        body = _of_model(kept, form.file, before, after) + Markup("<h2>All documented cases</h2>") + body
    if form.whole:
        body += render("starts.html", starts=starts(kept))
    way = f"torch {before['torch']} to {after['torch']}"
    about = (way, named[:_IN_A_TAB])
    files = make_files("upgrade", found)
    return form.page(TITLE, _LEAD, body, about=about, takes_file=True, folds=True, searches=True, files=files)


def _asked_of(form: Form) -> set[str]:
    """The parameters that the two points are made of; those of the setting as far as the points leave them open."""
    points = {f"{end}{axis}" for end in ("from", "to") for axis in ("", "_opset", "_exporter")}
    own = {"torch": "from", "opset": "from_opset", "exporter": "from_exporter", "runtime": "", "profile": ""}
    return points | {name for name, at in own.items() if not form.asked.get(at)}


def _last_two(kept: Kept, profile: str) -> tuple[str, ...]:
    """The newest release with a reader's packages and the newest of all, or the two newest."""
    releases, theirs = kept.inventory.torch, kept.of(profile).inventory.torch
    return releases[-2:] if profile == NEWEST else (*theirs[-1:], releases[-1])


def _operators(kept: Kept, text: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The operators between commas or blanks, and a message for each unknown name."""
    views, known, unknown = Views.of(kept), [], {}
    for part in filter(None, map(str.strip, text.split(","))):
        # a name may have a blank: layer norm
        for name in [part] if _refused(views, part) is None else part.split():
            message = _refused(views, name)
            if message is None:
                known.append(name)
            else:
                unknown[name] = message
    return tuple(known), unknown


def _refused(views: Views, name: str) -> str | None:
    """Why nobody knows an operator; ``None`` for one that is known."""
    try:
        find_scope(views, ops=(name,))
    except UnknownName as error:
        return str(error)
    return None


def _ask(
    kept: Kept,
    before: Sequence[tuple[str, str]],
    after: Sequence[tuple[str, str]],
    ops: tuple[str, ...],
    unknown: tuple[str, ...],
) -> Answer:
    asked = find_scope(Views.of(kept), ops=ops)
    if unknown:
        cases = asked.cases if ops else frozenset()
        asked = replace(asked, cases=cases, ops=(*ops, *unknown), uncovered=(*asked.uncovered, *unknown))
    if dict(before)["torch"] == dict(after)["torch"] and len(before) == len(after) == 1:
        return answer_ladder(kept, dict(before), asked)
    return answer_upgrade(kept, dict(before), dict(after), asked)


def _of_model(kept: Kept, file: ModelFile, before: Mapping[str, str], after: Mapping[str, str]) -> Markup:
    """The answer about a file; nothing where a point of it is not known, which the page says."""
    try:
        return render_answer(answer_model_upgrade(kept, file, before, after))
    except UnknownName:
        return Markup()


def _point(
    form: Form,
    name: str,
    label: str,
    releases: list[str],
    opsets: list[str],
    torch: str,
    own: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """One point, by axis; what is left open is the reader's ``own``, else the release's."""
    opset, exporter = own.get("opset", ""), own.get("exporter", "")
    asked = {
        "torch": form.select(name, f"{label} torch", releases[::-1], text=torch),
        "opset": form.select(f"{name}_opset", f"{label} opset", opsets, text=opset or "the release's own"),
        "exporter": form.select(
            f"{name}_exporter", f"{label} exporter", _EXPORTERS, text=exporter or "default", shown=EXPORTER_SHORT
        ),
    }
    found = {axis: value or {**own, "torch": torch}.get(axis, "") for axis, value in asked.items()}
    return {axis: value for axis, value in found.items() if value}


def _packages(form: Form, kept: Kept, torch: str) -> dict[str, str]:
    """The reader's packages as a part of the point that they come from; the newest where they were not measured."""
    profile = form.mine.profile
    if profile == NEWEST:
        return {}
    if torch in kept.of(profile).inventory.torch:
        return {"profile": profile}
    words = PROFILE_WORDS.get(profile, profile)
    form.warnings.append(f"torch {torch} was not measured with packages {words}: it is answered with the newest")
    return {}


def starts(kept: Kept) -> list[dict[str, str]]:
    """Where a file's reader may come from, as addresses: each release, and with the packages of its time."""
    releases = kept.inventory.torch
    theirs = kept.of(PERIOD).inventory.torch if PERIOD in kept.profiles() else ()
    found = [{"from": torch, "profile": PERIOD} for torch in theirs if torch in releases]
    return [*({"from": torch} for torch in releases[:-1]), *found]
