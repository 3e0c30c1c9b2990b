"""The template engine of the pages: tags are written in ``templates/`` alone, and every value in them is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import shorten
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from caniexport.answers.answer import cell_text
from caniexport.answers.filters import DEFAULT_OPSET
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upstream import source_address
from caniexport.names import plural
from caniexport.pages import links, looks

#: names, signs and spaces of code, which style.css gives no colour
_WITHOUT_COLOUR = re.compile(r'<span class="(?:n|o|p|w)">([^<]*)</span>')
_TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, **given: Any) -> Markup:
    """A template with these values, as HTML."""
    return Markup(_environment().get_template(template).render(given))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    made.globals.update(url=links.page, looks=looks)
    made.filters.update(
        kind_of=lambda cell: type(cell).__name__,
        css=looks.css,
        marked=looks.marked,
        signed=looks.signed,
        describe=looks.describe,
        words=cell_text,
        plural=plural,
        slug=links.slug,
        web_address=source_address,
        runs=_runs,
        short=shorten,
        opset=opset_name,
        exporter=lambda name: EXPORTER_SHORT.get(name or "", name or ""),
        python=highlight_python,
        ticked=_ticked,
    )
    return made


def opset_name(opset: int | None) -> str:
    """An opset as URLs and filters write it."""
    return DEFAULT_OPSET if opset is None else str(opset)


def _runs(items: Iterable[Any], attribute: str) -> list[tuple[Any, list[Any]]]:
    """Neighbours that are alike in an attribute, with it."""
    return [(key, list(found)) for key, found in groupby(items, attrgetter(attribute))]


def _ticked(text: str) -> Markup:
    """A sentence whose words between back-ticks are code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


@lru_cache(maxsize=1024)
def highlight_python(text: str) -> Markup:
    """Python code in the colours of its syntax.

    Not Streamlit's own element: its highlighter is 1.6 MB of script, which a browser loads for the first line of code.
    """
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    # both take a text as it is: nothing is stripped from its ends, and every sign of HTML is escaped
    found = highlight(text, PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    return Markup(_WITHOUT_COLOUR.sub(r"\1", found))
