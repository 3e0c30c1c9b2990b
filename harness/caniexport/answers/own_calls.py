"""Torch's own operator tables beside the cases, and beside torch's own calls of an operator where its cases all fail.

A documented case is a special call, often in one dtype: that it fails says little of the operator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from caniexport import versions
from caniexport.answers import declared as tables
from caniexport.answers.declared import Agreement, Declared
from caniexport.answers.filters import Filters
from caniexport.answers.torch_operators import TOLD, OperatorRow, OperatorsSummary, operators_beside
from caniexport.store import Dataset

_FAIL = "fail"


def declared_beside_calls(dataset: Dataset, filters: Filters) -> list[Declared]:
    """:func:`caniexport.answers.declared.declared`, with how torch's own calls end where no case passes.

    Raises :class:`UnknownName`.
    """
    found = tables.declared(dataset, filters)
    calls = _OwnCalls(operators_beside(dataset))
    return tables.differences_first(
        _judged(item, calls) if item.agreement in (Agreement.NEVER_PASSES, Agreement.NEITHER) else item
        for item in found
    )


def _judged(item: Declared, calls: _OwnCalls) -> Declared:
    told = calls.tell(item.op, item.exporter, item.torch)
    agreement = item.agreement
    if agreement is Agreement.NEVER_PASSES and told != _FAIL and (told or len(item.cases) == 1):
        agreement = Agreement.OWN_CALLS if told else Agreement.ONE_CASE
    return replace(item, agreement=agreement, calls=told)


class _OwnCalls:
    """How torch's own calls of operators end, the rows of a release read once."""

    def __init__(self, summary: OperatorsSummary | None) -> None:
        self._summary = summary
        self._of: dict[str, dict[tuple[str, str], list[OperatorRow]]] = {}

    def tell(self, name: str, exporter: str, torch: str) -> str:
        """``pass at opset 18, 20``, ``1 of 3 pass at opset 8-23``, ``fail``; empty where none was measured.

        It is of plain calls, in the first dtype of :data:`TOLD` that was measured.
        """
        rows = self._rows(name, exporter, torch)
        dtype = next((dtype for dtype in TOLD if any(row.dtype == dtype for row in rows)), None)
        mine = [row for row in rows if row.dtype == dtype]
        if whole := [row.opset for row in mine if row.works]:
            return f"pass at opset {versions.opset_text(whole)}"
        best = max(mine, key=lambda row: row.passing, default=None)
        if best is None or not best.passing:
            return _FAIL if mine else ""
        opsets = versions.opset_text(row.opset for row in mine if row.passing == best.passing)
        return f"{best.passing} of {best.calls} pass at opset {opsets}"

    def _rows(self, name: str, exporter: str, torch: str) -> Sequence[OperatorRow]:
        if self._summary is None:
            return ()
        if torch not in self._of:
            found: dict[tuple[str, str], list[OperatorRow]] = defaultdict(list)
            for row in self._summary.rows("torch = ? AND form IS NULL AND calls > 0", [torch]):
                found[row.op, row.exporter or ""].append(row)
            self._of[torch] = found
        ops = self._summary.called(name)
        return self._of[torch].get((ops[0], exporter), ()) if ops else ()
