"""The rules that no row may break, as SQL: ``gate.sql``. A new row that breaks one is not published."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple


class GateRule(NamedTuple):
    """A rule: what it says of a row that breaks it, and the query that gives the places of such rows.

    withdraws  a published row that breaks it goes, too: it is known to be wrong, or to be no fact
    settles    it does not hold for a cell that was measured apart and twice (:mod:`caniexport.measure.apart`)
    """

    name: str
    withdraws: bool
    settles: bool
    sentence: str
    query: str


@cache
def read_rules() -> dict[str, GateRule]:
    """Every rule by its name, the gravest first."""
    text = resources.files("caniexport.gate").joinpath("gate.sql").read_text(encoding="utf-8")
    found = re.findall(r"^-- rule ([a-z-]+)((?: withdraws| settles)*): (.+)\n((?s:.*?));$", text, re.MULTILINE)
    return {
        name: GateRule(name, "withdraws" in words, "settles" in words, sentence, query)
        for name, words, sentence, query in found
    }
