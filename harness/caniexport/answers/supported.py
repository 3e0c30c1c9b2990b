"""Where the failing form of each case works: one line for each exporter, over every release and opset measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from caniexport.answers.filters import Filters
from caniexport.answers.select import load, select
from caniexport.answers.shown import Answers, Shown
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.support import Support, all_supports
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS, WORKS, Status
from caniexport.names import plural
from caniexport.store import Dataset


@dataclass(frozen=True)
class CaseSupport(Shown):
    """One case and where it works; ``support`` is empty for a case that no exporter was measured with."""

    case: str
    title: str
    theme: str
    support: tuple[Support, ...]


def supported(dataset: Dataset, filters: Filters) -> Answers[CaseSupport]:
    """The cases in the filters, in catalogue order; without filters all but the canaries."""
    rows = load(dataset)
    chosen = select(rows, replace(filters, variants=(PLAIN,))).catalogue.values()
    found = all_supports(rows)
    return Answers(
        CaseSupport(entry.case, entry.title, entry.theme, found.get(entry.case, ()))
        for entry in chosen
        if entry.corpus != CANARY or filters.any
    )


def decide_support(found: Sequence[CaseSupport]) -> str:
    """One sentence on several cases: how many pass by each exporter, and which are silently wrong."""
    lines = [(item.case, line) for item in found for line in item.support]
    words = []
    for exporter in (name for name in EXPORTERS if any(line.exporter == name for _, line in lines)):
        own = [(case, line.status) for case, line in lines if line.exporter == exporter]
        passing = sum(status in WORKS for _, status in own)
        wrong = [case for case, status in own if status is Status.MISMATCH]
        silent = f" (wrong values: {', '.join(wrong)})" if wrong else ""
        words.append(f"{EXPORTER_SHORT[exporter]} {passing} of {len(own)}{silent}")
    if not words:
        return f"Of {plural(len(found), 'case')} none was measured with any exporter."
    return f"Of {plural(len(found), 'case')}, passing in the newest release of each at some opset: {', '.join(words)}."
