"""What could be measured: the cells that the plan has for a case, release by release, whether they have rows or not."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from caniexport import versions
from caniexport.model import plan, releases
from caniexport.model.corpus import LoadedCase


class Reach:
    """The plans of cases on every release that can be entered; each is made when it is asked for.

    ``barred`` are releases whose environment could not be made: nothing can be measured there.
    """

    def __init__(self, barred: Iterable[str] = ()) -> None:
        self.barred = frozenset(barred)
        self._cells = cache(_cells)

    def releases(self) -> list[str]:
        """The releases of the table, oldest first."""
        return versions.ordered(release.torch for release in releases.table())

    def cells(self, item: LoadedCase, torch: str) -> tuple[plan.Cell, ...]:
        """The planned cells of a case on a release of the table, on cpu; none where it cannot be entered."""
        return () if torch in self.barred else self._cells(item, torch)


def _cells(item: LoadedCase, torch: str) -> tuple[plan.Cell, ...]:
    return tuple(plan.cells({item.id: item}, releases.find(torch), "cpu"))
