"""What a search found in the dataset, as HTML: for the app and for the first reply."""

from __future__ import annotations

from caniexport.answers import search as searching
from caniexport.answers.search import Hit, SearchHits
from caniexport.model.case import PLAIN
from caniexport.pages import links, search_html
from caniexport.pages.kept import Kept
from caniexport.pages.markup import escape, link, plural

#: hits that are told whole; the others are in the matrix
_SHOWN = 12


def answer(kept: Kept, query: str) -> list[str]:
    """The parts of the answer, each HTML, in reading order."""
    found = searching.find(kept.answer(searching.index), query)
    others = search_html.others(found)
    parts = [others] if others else []
    if not found.hits:
        return [*parts, search_html.nothing(found), search_html.questions()]
    shown = found.hits[:_SHOWN]
    working = {hit.entry.case: _working(kept, hit) for hit in shown if hit.torch}
    supports = {hit.entry.case: kept.supports(hit.entry.case, PLAIN) for hit in shown}
    parts += [_count(found), search_html.hits(shown, supports, working)]
    if not found.error:
        parts.append(f"<p>{link(links.page('matrix', q=query), 'All of them in the matrix')}</p>")
    return parts


def _count(found: SearchHits) -> str:
    what = "this error or one like it" if found.error else "these words"
    more = f", the best {_SHOWN} are shown" if len(found.hits) > _SHOWN else ""
    return f'<p class="hint">{plural(len(found.hits), "case")} with {escape(what)}{more}.</p>'


def _working(kept: Kept, hit: Hit) -> list[str]:
    """The fixes that work in the cell where the error was seen, those that sources warn of left out."""
    entries = kept.rows().catalogue
    found = [
        cell.variant
        for cell in kept.cells_of(hit.entry.case)
        if (cell.torch, cell.exporter, cell.opset) == (hit.torch, hit.exporter, hit.opset)
        and cell.works
        and cell.variant != PLAIN
    ]
    return [name for name in dict.fromkeys(found) if not entries[hit.entry.case, name].caution]
