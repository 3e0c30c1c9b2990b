"""The documented cases as pages list them, and how many of them nobody has measured yet."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport.names import plural
from caniexport.pages.kept import Kept
from caniexport.store.views import Views


@dataclass(frozen=True)
class Overview:
    """How many cases there are, and those that have a cell."""

    cases: int
    measured: frozenset[str]

    @property
    def told(self) -> str:
        """``480 cases, each measured on some release.``"""
        missing = self.cases - len(self.measured)
        if not missing:
            return f"{plural(self.cases, 'case')}, each measured on some release."
        return f"{plural(self.cases, 'case')}: {len(self.measured):,} measured, {missing:,} not measured yet."


def overview(kept: Kept) -> Overview:
    """The cases of the dataset."""
    known = {case for (case,) in Views.of(kept).fetch('SELECT DISTINCT "case" FROM cells')}
    entries = kept.inventory.documented
    return Overview(len(entries), frozenset(entry.case for entry in entries if entry.case in known))
