"""The rules that no new row may break, as SQL: ``rules.sql``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class PublishingRule(NamedTuple):
    """A rule: what it says of a row that breaks it, and the query that gives the places of such rows."""

    name: str
    sentence: str
    query: str


@cache
def rules() -> tuple[PublishingRule, ...]:
    """Every rule, in the order of the file."""
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    found = re.findall(r"^-- rule ([a-z-]+): (.+)\n((?s:.*?));$", text, re.MULTILINE)
    return tuple(PublishingRule(*item) for item in found)
