"""What surrounds every page: its heading, its notes, and what it says where there is nothing to show."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import streamlit as st

from caniexport import pages
from caniexport.model.errors import CaniexportError
from caniexport.pages import code_html, links
from caniexport.pages.markup import escape, link
from caniexport.pages.page import page
from caniexport.pages.render import render
from dashboard import params, widgets
from dashboard.reading import Kept, source

_SCRIPT = Path(pages.__file__).with_name("nav.js")
_LOG = logging.getLogger(__name__)


def brand() -> None:
    """The app's name above every page."""
    name = link(links.page(""), "Can I export it?")
    line = f'<div class="brand">{name} <span>PyTorch → ONNX → runtime, measured</span></div>'
    # nothing of the dataset or the address goes into the script
    st.html(f"{line}<script>{_SCRIPT.read_text(encoding='utf-8')}</script>", unsafe_allow_javascript=True)


def guarded(page: Callable[[Kept], None]) -> Callable[[], None]:
    """``page`` with the dataset as it is now; what is wrong with it is said in words, never as a traceback."""

    @functools.wraps(page)
    def draw() -> None:
        try:
            kept = source()
            above = st.container()
            if kept.rows().count or kept.rows().environment:
                page(kept)
            else:
                _nothing(kept)
            # above the page, though it is known only when the page has been drawn
            with above:
                problems(kept)
        except CaniexportError as error:
            st.error(params.plain(str(error)), icon=":material/help:")
        except Exception:
            # whatever a damaged dataset makes of the code below, a reader gets a page; the log has the traceback
            _LOG.exception("page %s", page.__module__)
            st.error(
                "This page could not be drawn from the dataset. The server's log says why.", icon=":material/error:"
            )

    return draw


def drawn(name: str) -> Callable[[], None]:
    """Draws the page of this name for the address as it is now."""

    def draw(kept: Kept) -> None:
        found = page(name, st.query_params.to_dict(), kept)
        st.html(f'<div class="top">{render("heading.html", page=found)}</div>')
        for warning in found.warnings:
            st.warning(widgets.plain(warning), icon=":material/help:")
        widgets.draw(found.bars)
        own(f'<div class="body">{found.body}</div>')

    return guarded(draw)


def heading(title: str, lead: str) -> None:
    """A page's title and one sentence under it."""
    st.html(f'<header class="page"><h1>{escape(title)}</h1><p>{escape(lead)}</p></header>')


def section(title: str, *parts: str) -> None:
    """A part of a page under its own heading; the parts are HTML."""
    st.html(f'<section class="part"><h2 class="sub">{escape(title)}</h2>{"".join(parts)}</section>')


def own(grid: str) -> None:
    """HTML of this package's own making as it is: Streamlit's sanitizer takes a second over a table of the matrix.

    Every text in it went through :func:`caniexport.pages.markup.escape`, as in the first reply.
    """
    st.html(grid, unsafe_allow_javascript=True)


def notes(said: Iterable[str]) -> None:
    """What an answer assumed or left out."""
    items = "".join(f"<li>{escape(item)}</li>" for item in dict.fromkeys(said))
    if items:
        st.html(f'<ul class="notes">{items}</ul>')


def problems(kept: Kept) -> None:
    """Files and lines that could not be read: on every page, for they may be what a reader misses."""
    if kept.problems:
        lines = "\n\n".join(params.plain(item) for item in kept.problems)
        st.warning(f"Parts of the dataset cannot be read:\n\n{lines}", icon=":material/report:")


def _nothing(kept: Kept) -> None:
    heading("Nothing has been measured yet", "The dataset has no rows. This measures a release and fills these pages:")
    st.html(code_html.block("caniexport measure --release 2.8.0"))
    notes(kept.rows().notes)


def back() -> None:
    """Links to the search and the matrix."""
    st.html(f'<p class="back">{link(links.page(""), "← search")} · {link(links.page("matrix"), "all cases")}</p>')
