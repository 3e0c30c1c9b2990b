"""The pages by the names in their addresses, for both hosts: the app and the static copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from caniexport.answers.model_file import ModelFile
from caniexport.pages import links
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.setting import CELL_PAGES, MINE
from caniexport.pages.views import (
    about,
    alerts,
    case,
    claims,
    declared,
    glossary,
    matrix,
    op,
    runs,
    search,
    upgrade,
    workarounds,
)

_VIEWS: Mapping[str, Callable[[Form, Kept], Page]] = {
    "search": search.page,
    "matrix": matrix.page,
    "case": case.page,
    "op": op.page,
    "upgrade": upgrade.page,
    "workarounds": workarounds.page,
    "claims": claims.page,
    "declared": declared.page,
    "alerts": alerts.page,
    "runs": runs.page,
    "glossary": glossary.page,
    "about": about.page,
}
#: the pages that choose the packages themselves
_OWN = frozenset({"search", "upgrade"})
#: the name in the address and the title of what is in the navigation
NAVIGATION = {
    "search": "Search",
    "matrix": "Table",
    "op": "Operators",
    "upgrade": "Upgrade",
    "workarounds": "Workarounds",
    "about": "Data & method",
}
#: the tabs of Data & method
_TABS = {
    "about": "Overview",
    "alerts": "Alerts",
    "claims": "Claims",
    "declared": "Declared",
    "runs": "Runs",
    "glossary": "Glossary",
}
#: the same of every page, those of the navigation first and by its titles
PAGES = {**NAVIGATION, **_TABS, **NAVIGATION, "case": "Cases"}


def page(
    name: str,
    asked: Mapping[str, str],
    kept: Kept,
    *,
    whole: bool = False,
    file: ModelFile | None = None,
) -> Page:
    """The page of an address: its name and its parameters. What the rest means stands at :class:`Form`."""
    if name != "glossary" and kept.inventory.is_empty:
        lead = "The dataset has no rows. This measures a release and fills these pages:"
        return Page("Nothing has been measured yet", lead, render("unmeasured.html", notes=kept.inventory.notes))
    given = search.with_typed_filters(asked) if name == "search" else asked
    form = Form(given, whole=whole, file=file)
    form.read_setting(kept.inventory, MINE if name in CELL_PAGES else "")
    with links.with_setting(form.mine.address):
        found = _VIEWS[name](form, kept if name in _OWN else kept.of(form.mine.profile))
    tabs = tuple((tab, title, tab == name) for tab, title in _TABS.items()) if name in _TABS else ()
    return replace(found, tabs=tabs, read_as=None if given is asked else given)
