"""What a page answers at once: plain HTML in the very first reply, until the app behind it has been loaded.

A browser needs two to three seconds of its own for Streamlit's scripts. A link that somebody was sent shows its answer
before that: where the case works, the strip, the forms as code. The links in it work, also without JavaScript; the app
takes its place as soon as it has drawn the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from caniexport.answers import search as searching
from caniexport.pages import links, matrix_asked, search_html, search_told
from caniexport.pages.kept import Kept
from caniexport.pages.markup import escape, link, status_legend
from caniexport.pages.overview import EXPORTERS, overview
from caniexport.pages.page import page

#: of the app, in the order of its navigation: the name in the address and the title
PAGES = (
    ("search", "Search"),
    ("matrix", "Matrix"),
    ("case", "Cases"),
    ("op", "Operators"),
    ("upgrade", "Upgrade"),
    ("workarounds", "Workarounds"),
    ("claims", "Claims"),
    ("declared", "Declared"),
    ("alerts", "Alerts"),
    ("runs", "Runs"),
    ("about", "About"),
)
#: characters of the largest table that is told at once as a whole
_LARGEST = 700_000
_HERE = Path(__file__).parent


def answer(kept: Kept, path: str, asked: Mapping[str, str]) -> str | None:
    """What goes before the end of the body of a page; ``None`` where the app alone answers."""
    if not kept.rows().count:
        return None  # the app says how to measure
    name = path.strip("/")
    if name in ("", "search") and not asked.get("q"):
        return _whole("Can I export it?", search_html.LEAD, _front(kept), until=".questions")
    if name in ("", "search"):
        return _search(kept, asked["q"])
    if name == "case":
        return _case(kept, asked)
    return _matrix(kept, asked) if name == "matrix" else None


def _front(kept: Kept) -> str:
    found = kept.answer(overview)
    return (
        f'{search_html.questions()}<h2 class="sub">What works today, by theme</h2>'
        f"{status_legend(only=found.seen)}{search_html.themes(found, EXPORTERS)}"
    )


def _case(kept: Kept, asked: Mapping[str, str]) -> str | None:
    found = page("case", asked, kept)
    if not asked.get("case") or found.warnings:
        return None
    body = f'{found.above}<div class="body">{found.body}</div>'
    return _whole(found.title, found.lead, body, until=".body")


def _search(kept: Kept, query: str) -> str | None:
    found = "".join(search_told.answer(kept, query[: searching.LONGEST]))
    return _whole("Can I export it?", search_html.LEAD, found, until=".counts, #root .hits")


def _matrix(kept: Kept, asked: Mapping[str, str]) -> str | None:
    question = matrix_asked.of_address(asked, kept.rows())
    told = matrix_asked.tell(kept, question) if question else None
    if question is None or told is None or told.table is None or not told.grid:
        return None
    # a browser that holds a large table twice is slower than one that waits for the app's
    large = len(told.grid) > _LARGEST
    grid = matrix_asked.beginning(kept, question, told.table) if large else told.grid
    return _whole(matrix_asked.TITLE, matrix_asked.lead(question.rows), told.above + grid, until=".matrix")


def _whole(title: str, lead: str, body: str, *, until: str) -> str:
    nav = "".join(f"<li>{link(links.page(name if name != 'search' else ''), title)}</li>" for name, title in PAGES)
    style, own, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "first.css", "first.js"))
    return (
        f'<div id="first" class="stApp stHtml" data-until="{until}"><style>{style}{own}</style>'
        f'<nav aria-label="Pages"><ul>{nav}</ul></nav>'
        f'<header class="page"><h1>{escape(title)}</h1><p>{escape(lead)}</p></header>'
        f"<main>{body}</main></div><script>{script}</script>"
    )
