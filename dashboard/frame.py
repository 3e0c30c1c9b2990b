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
from caniexport.pages.charts import find_chart
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


def make_page(name: str) -> Callable[[], None]:
    """Return a function that draws the page, or an error message, for the current address."""

    def draw() -> None:
        try:
            kept = source()
            above = st.container()
            with links.with_addresses(_address):
                found = page(name, widgets.read_parameters(), kept, file=upload.read_given())
            if found.read_as is not None:
                st.query_params.from_dict(found.read_as)
            _draw(found, kept)
            # the problems are known after the page is drawn
            with above:
                _problems(kept)
        except CaniexportError as error:
            st.error(widgets.escape_markdown(str(error)), icon=":material/help:")
        except Exception:
            # a damaged dataset must not break the page; the log has the traceback
            _LOG.exception("page %s", name)
            st.error("This page could not be drawn from the dataset. See the server's log.", icon=":material/error:")

    return draw


def _draw(found: Page, kept: Kept) -> None:
    st.set_page_config(page_title=found.tab)
    own = partial(_draw_template, carried=found.mine.address)
    own("heading.html", page=found, above="" if found.is_live else found.above)
    if found.is_live:
        _draw_progress(kept)
        own("box.html", name="top", shown=found.above)
    for warning in found.warnings:
        st.warning(widgets.escape_markdown(warning), icon=":material/help:")
    # a page without filters has its files in a bar, too
    widgets.draw(found.bars or ((),) * bool(found.files), partial(_draw_files, found, kept))
    if found.takes_file:
        upload.show_report()
    own("box.html", name="body", shown=found.body)


def _draw_files(found: Page, kept: Kept) -> None:
    """Draw the upload box and the download buttons, next to the last filters."""
    if found.takes_file:
        upload.draw_box(kept)
    for file in found.files:
        # a download does not draw the page again
        st.download_button(
            file.name, file.content, file.name, on_click="ignore", type="tertiary", icon=":material/download:"
        )


def _address(name: str, asked: Mapping[str, str]) -> str:
    """Return an address within the app; pictures become data URLs, because Streamlit serves no files."""
    if name != "picture":
        return links.make_app_address(name, asked)
    picture = base64.b64encode((find_chart(asked["name"]) or "").encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{picture}"


def _draw_template(template: str, carried: Mapping[str, str], **given: object) -> None:
    """Draw a template without Streamlit's sanitizer, which is slow; the template escapes every value."""
    with links.with_setting(carried):
        st.html(render(template, **given), unsafe_allow_javascript=True)


@st.fragment(run_every=_EVERY)
def _draw_progress(kept: Kept) -> None:
    st.html(runs.progress(kept))


def _problems(kept: Kept) -> None:
    """Show the files and lines that could not be read."""
    if kept.problems:
        lines = "\n\n".join(map(widgets.escape_markdown, kept.problems))
        st.warning(f"Parts of the dataset cannot be read:\n\n{lines}", icon=":material/report:")
