"""A page in the app: its heading, its filters as widgets, its body; and what stands there where none can be drawn."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from caniexport import pages
from caniexport.model.errors import CaniexportError
from caniexport.pages import links
from caniexport.pages.charts import drawn_picture
from caniexport.pages.form import Page
from caniexport.pages.kept import Kept
from caniexport.pages.page import page
from caniexport.pages.render import render
from caniexport.pages.views import runs
from dashboard import upload, widgets
from dashboard.reading import source

_SCRIPTS = [Path(pages.__file__).with_name(name) for name in ("tables.js", "nav.js")]
_LOG = logging.getLogger(__name__)
#: seconds between two looks at a run that goes on
_EVERY = 5


def brand() -> None:
    """The app's name above every page."""
    st.html(f"{render('brand.html')}<script>{script()}</script>", unsafe_allow_javascript=True)


def script() -> str:
    """The app's own script, whose listeners are for the whole session: Streamlit runs it again whenever it draws the
    element anew. Nothing of the dataset or the address goes into it.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in _SCRIPTS)
    return f"if (!window.caniexport) {{\nwindow.caniexport = true\n{text}}}\n"


def drawn(name: str) -> Callable[[], None]:
    """Draws the page of this name for the address as it is now; what is wrong is said in words."""

    def draw() -> None:
        try:
            kept = source()
            above = st.container()
            with links.addressed(_address):
                found = page(name, widgets.address(), kept, file=upload.given())
            if found.read_as is not None:
                st.query_params.from_dict(found.read_as)
            _draw(found, kept)
            # above the page, though it is known only when the page has been drawn
            with above:
                _problems(kept)
        except CaniexportError as error:
            st.error(widgets.plain(str(error)), icon=":material/help:")
        except Exception:
            # whatever a damaged dataset makes of the code below, a reader gets a page; the log has the traceback
            _LOG.exception("page %s", name)
            st.error(
                "This page could not be drawn from the dataset. The server's log says why.", icon=":material/error:"
            )

    return draw


def _draw(found: Page, kept: Kept) -> None:
    st.set_page_config(page_title=found.tab)
    own = partial(_own, carried=found.mine.address)
    own("heading.html", page=found, above="" if found.is_live else found.above)
    if found.is_live:
        _going_on(kept)
        own("box.html", name="top", shown=found.above)
    for warning in found.warnings:
        st.warning(widgets.plain(warning), icon=":material/help:")
    # a page without filters has its files in a bar, too
    widgets.draw(found.bars or ((),) * bool(found.files), partial(_beside, found, kept))
    if found.takes_file:
        upload.tell()
    own("box.html", name="body", shown=found.body)


def _beside(found: Page, kept: Kept) -> None:
    """What stands beside the last filters: the box for an ONNX file, and the files to save."""
    if found.takes_file:
        upload.box(kept)
    for file in found.files:
        # the page is not drawn again for it
        st.download_button(
            file.name, file.content, file.name, on_click="ignore", type="tertiary", icon=":material/download:"
        )


def _address(name: str, asked: Mapping[str, str]) -> str:
    """The address within the app; a picture is its own, for Streamlit serves no file of ours."""
    if name != "picture":
        return links.of_app(name, asked)
    drawn = base64.b64encode((drawn_picture(asked["name"]) or "").encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{drawn}"


def _own(template: str, carried: Mapping[str, str], **given: object) -> None:
    """HTML of our own making as it is: every value in it is escaped, and Streamlit's sanitizer takes a second over a
    table of the matrix.
    """
    with links.carrying(carried):
        st.html(render(template, **given), unsafe_allow_javascript=True)


@st.fragment(run_every=_EVERY)
def _going_on(kept: Kept) -> None:
    st.html(runs.progress(kept))


def _problems(kept: Kept) -> None:
    """Files and lines that could not be read: on every page, for they may be what a reader misses."""
    if kept.problems:
        lines = "\n\n".join(map(widgets.plain, kept.problems))
        st.warning(f"Parts of the dataset cannot be read:\n\n{lines}", icon=":material/report:")
