"""The word of every fix on every release, made in one pass over the cells of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from caniexport import versions
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CatalogueEntry, Rows
from caniexport.corpus.verdicts import Workaround, workaround, works
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind

#: variant -> release -> word
Words = dict[str, dict[str, Workaround]]


def words(
    cells: Iterable[MeasuredCell],
    fixes: Iterable[CatalogueEntry],
    rows: Rows,
    exporter: str,
    opset: int | None = None,
    releases: Sequence[str] = (),
) -> Words:
    """The words of a case's fixes with one exporter on some releases, all where none is named. ``cells`` are the case's
    on one provider; those of other exporters are passed over. A release without a cell of the failing form is
    ``unknown``.
    """
    grid = {(cell.variant, cell.torch, cell.opset): cell for cell in cells if cell.exporter == exporter}

    def at(variant: str, torch: str) -> MeasuredCell | None:
        return grid.get((variant, torch, rows.opset(torch, exporter, opset)))

    found: Words = {}
    for fix in fixes:
        found[fix.variant] = {}
        upgrades = fix.kind == FixKind.VERSION_UPGRADE.value
        for torch in releases or rows.torch:
            plain = at(PLAIN, torch)
            helping = _upgraded(fix, torch, rows.torch, at) if upgrades else at(fix.variant, torch)
            word = workaround(plain.status if plain else None, helping.status if helping else None)
            found[fix.variant][torch] = word
    return found


def _upgraded(
    fix: CatalogueEntry, torch: str, releases: Sequence[str], at: Callable[[str, str], MeasuredCell | None]
) -> MeasuredCell | None:
    """The failing form on this release if the fix names it, else on the newest named one that says something."""
    named = [name for name in releases if versions.within(name, fix.needs_torch)]
    for name in [torch] * (torch in named) + named[::-1]:
        cell = at(PLAIN, name)
        if cell is not None and works(cell.status) is not None:
            return cell
    return None
