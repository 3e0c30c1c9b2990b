"""Torch's own operator tables beside what was measured, differences first."""

from __future__ import annotations

from collections import Counter

from caniexport.answers.declared import Declared
from caniexport.answers.filters import Filters
from caniexport.answers.own_calls import declared_beside_calls
from caniexport.model.status import Exporter
from caniexport.pages import looks
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.sheet import joined, table_file

_TITLE = "Declared against measured"
_LEAD = (
    "The tables of operators that torch carries itself, read in each environment, beside the cells. "
    "A registered rule is not yet a passing export."
)
_EXPORTERS = (Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value)
#: rows that are a table of their own where nothing is searched for
_FEW = 60
_COLUMNS = (
    "torch",
    "operator",
    "exporter",
    "so",
    "torch declares opsets",
    "cases pass at opsets",
    "cases",
    "torch's own calls",
)


def page(form: Form, kept: Kept) -> Page:
    """The operators that the filters take."""
    releases = kept.rows().torch[::-1]
    if not releases:
        form.take(*form.asked)
        return form.page(_TITLE, _LEAD, render("nothing.html", nothing="No torch release has been measured yet."))
    agreements = {item.name.lower().replace("_", "-"): item for item in looks.AGREEMENT}
    query = form.words("q", "Search", "operator or case")
    names = {name: looks.AGREEMENT[item].name for name, item in agreements.items()}
    torch = form.mine.one("torch") or releases[0]
    exporters = tuple(name for name in form.mine.of("exporter") if name in _EXPORTERS) or _EXPORTERS
    wanted = {agreements[name] for name in form.pills("is", "Show", list(agreements), shown=names)}
    form.choose_setting(kept.rows(), ("torch", "exporter"), _EXPORTERS)
    found = kept.answer(declared_beside_calls, Filters(torch=(torch,), exporters=exporters))
    shown = [item for item in found if _has(item, query) and (not wanted or item.agreement in wanted)]
    seen = Counter(item.agreement for item in shown)
    about = {"torch": torch, "newest": torch == releases[0], "known": bool(found), "seen": seen, "found": shown}
    body = render("declared.html", **about, folds=len(shown) > _FEW and not query and not wanted)
    return form.page(
        _TITLE, _LEAD, body, folds=True, files=(table_file("declared", _COLUMNS, lambda: map(_row, shown)),)
    )


def _row(item: Declared) -> tuple[object, ...]:
    """A row as it is kept, in the order of the columns."""
    so = looks.AGREEMENT[item.agreement].word
    return item.torch, item.op, item.exporter, so, item.declared, item.passing, joined(item.cases), item.calls


def _has(item: Declared, query: str) -> bool:
    text = " ".join((item.op, *item.cases)).casefold()
    return all(part in text for part in query.casefold().split())
