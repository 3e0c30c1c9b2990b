"""Where the failing form of each case works: one line for each exporter, over every release and opset measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

from caniexport.answers.filters import Filters
from caniexport.answers.select import load, select
from caniexport.answers.shown import Answers, Shown
from caniexport.answers.support import Support, all_supports
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
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
