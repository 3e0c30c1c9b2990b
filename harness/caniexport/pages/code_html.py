"""Code and raw texts as they stand, with a button that copies them.

Not Streamlit's own element: its highlighter is 1.6 MB of script, which a browser loads for the first line of code.
"""

from __future__ import annotations

from functools import lru_cache

from caniexport.pages.markup import escape


def block(text: str, *, python: bool = False, wrap: bool = False) -> str:
    """A block of text, ``python`` in the colours of its syntax, ``wrap`` without a line that must be scrolled to."""
    shown = _coloured(text) if python else escape(text)
    name = "code wrap" if wrap else "code"
    return f'<div class="{name}"><button class="copy" type="button">Copy</button><pre tabindex="0">{shown}</pre></div>'


@lru_cache(maxsize=1024)
def _coloured(text: str) -> str:
    from pygments import highlight
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    # both take a text as it is: nothing is stripped from its ends, and every sign of HTML is escaped
    lexer, formatter = PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True)
    made: str = highlight(text, lexer, formatter)
    return made
