"""Addresses: of pages of this app with their filters, and of the sources that cases name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, urlencode

_ISSUE = re.compile(r"([A-Za-z0-9][\w.-]*)/([\w.-]+)#(\d+)")
_WEB = re.compile(r"https?://[^\s\"'<>]+")


def page(name: str, **asked: str | Iterable[str] | None) -> str:
    """The address of a page of this app (``""``: the matrix), relative to any of them; empty values are left out."""
    given = {key: value if isinstance(value, str) else ",".join(value or ()) for key, value in asked.items()}
    query = urlencode({key: value for key, value in given.items() if value}, quote_via=quote, safe=",")
    return f"./{name}?{query}" if query else f"./{name}"


def of_source(text: str) -> str | None:
    """Where a source can be read: ``owner/repo#number`` on GitHub, an address as it is; ``None`` for a document."""
    issue = _ISSUE.fullmatch(text.strip())
    if issue:
        return f"https://github.com/{issue[1]}/{issue[2]}/issues/{issue[3]}"
    return text.strip() if _WEB.fullmatch(text.strip()) else None
