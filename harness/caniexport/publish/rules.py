"""The rules that no row may break, as SQL: ``rules.sql``. A new row that breaks one is not published."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class PublishingRule(NamedTuple):
    """A rule: what it says of a row that breaks it, and the query that gives the places of such rows.

    ``withdraws`` is whether a row that was published goes, too: it says nothing.
    """

    name: str
    withdraws: bool
    sentence: str
    query: str


@cache
def rules() -> tuple[PublishingRule, ...]:
    """Every rule, in the order of the file."""
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    found = re.findall(r"^-- rule ([a-z-]+)( withdraws)?: (.+)\n((?s:.*?));$", text, re.MULTILINE)
    return tuple(PublishingRule(name, bool(withdraws), *item) for name, withdraws, *item in found)
