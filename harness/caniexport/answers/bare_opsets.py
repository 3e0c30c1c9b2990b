"""Opsets at which an exporter of a release fails for nearly everything: an error from there is about the opset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from caniexport.answers.reading import Rows
from caniexport.model.status import WORKS, Status

#: shares of the cells of an opset that work: at one that nearly nothing is exported at, and at another worth moving to
_FEW, _MOST = 0.1, 0.5


@dataclass(frozen=True)
class BareOpset:
    """An opset at which ``works`` of ``cells`` work, and the nearest at which most do, the next higher before a lower:
    ``other``, with ``works_there``.
    """

    opset: int
    works: int
    cells: int
    other: int
    works_there: int

    @property
    def told(self) -> str:
        """What fails, and what to do: ``…as nearly everything measured does there (…): raise the opset to 18``."""
        counts = f"{self.works:,} of {self.cells:,} cells work; at opset {self.other} {self.works_there:,} do"
        move = "raise" if self.other > self.opset else "lower"
        return f"as nearly everything measured does there ({counts}): {move} the opset to {self.other}"


def find_bare_opset(rows: Rows, torch: str, exporter: str, opset: int | None) -> BareOpset | None:
    """The opset, where nearly everything fails there and most works at another; ``None`` elsewhere, and where the
    exporter refuses the opset, which it says itself.
    """
    known: dict[tuple[str, str], dict[int, BareOpset]] = rows.beside.setdefault("bare opsets", {})
    if (torch, exporter) not in known:
        known[torch, exporter] = _find(rows, torch, exporter)
    return known[torch, exporter].get(opset or 0)


def _find(rows: Rows, torch: str, exporter: str) -> dict[int, BareOpset]:
    cells, works, refused = Counter[int](), Counter[int](), Counter[int]()
    where = {"torch": (torch,), "exporter": (exporter,), "provider": ("cpu", None)}
    for opset, status, number in rows.grouped(("opset", "status"), {"cells": "count(*)"}, where):
        if opset is not None:
            cells[opset] += number
            works[opset] += number if status in WORKS else 0
            refused[opset] += number if status == Status.UNSUPPORTED.value else 0
    good = [opset for opset in sorted(cells) if works[opset] >= _MOST * cells[opset]]
    found = {}
    for opset in cells if good else ():
        if works[opset] < _FEW * cells[opset] and refused[opset] < _MOST * cells[opset]:
            other = next((higher for higher in good if higher > opset), good[-1])
            found[opset] = BareOpset(opset, works[opset], cells[opset], other, works[other])
    return found
