"""What the documents say against what was measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import names, versions
from harness.answers.rows import Cell
from harness.answers.select import Filters, load, select
from harness.answers.signs import CLAIM
from harness.worker.errors import UnknownName

if TYPE_CHECKING:
    from harness.store import Dataset

_WORDS = ("claim", "case", "variant", "record", "source", "says", "torch", "exporter", "opset", "outcome", "reason")


@dataclass(frozen=True)
class Claim:
    """One claim: who says what about which versions, and what the rows say. ``expects`` is its judgeable form."""

    claim: str
    case: str
    variant: str
    record: str
    source: str
    says: str
    torch: str
    exporter: str
    opset: str
    expects: dict[str, Any]
    outcome: str
    reason: str
    cells: tuple[str, ...]

    @property
    def versions(self) -> str:
        """The versions it names, for a person: ``torch ==1.10.*, torchscript-trace, opset 14``."""
        parts = [f"torch {self.torch}" if self.torch else "any torch", self.exporter]
        return ", ".join([*filter(None, parts), *([f"opset {self.opset}"] if self.opset else [])])

    def is_about(self, cell: Cell) -> bool:
        """Whether a cell is one of those the claim speaks of."""
        if (cell.case, cell.variant) != (self.case, self.variant) or self.exporter not in ("", cell.exporter):
            return False
        try:
            in_torch = versions.within(cell.torch, self.torch)
            return in_torch and (cell.opset is None or versions.opset_in(cell.opset, self.opset))
        except UnknownName:
            return False


@dataclass(frozen=True)
class Claims:
    """Counts of every outcome, whatever the filter on outcomes, and the claims one by one."""

    counts: dict[str, int]
    claims: tuple[Claim, ...]


def claims(dataset: Dataset, filters: Filters, sources: Iterable[str] = ()) -> Claims:
    """The claims that the filters and sources take; ``filters.statuses`` are outcomes here.

    ``sources`` are source names or record ids, globs allowed. Raises :class:`UnknownName` for a name nobody knows.
    """
    found = all_claims(dataset)
    outcomes = names.require_all("outcome", filters.statuses, CLAIM)
    wanted = names.require_all("source", sources, _places(found))
    selection = select(load(dataset), Filters(cases=filters.cases, themes=filters.themes, ops=filters.ops))
    about = [
        item
        for item in found
        if (item.case, item.variant) in selection.catalogue
        and (not wanted or item.source in wanted or item.record in wanted)
    ]
    counts = Counter(item.outcome for item in about)
    kept = tuple(item for item in about if not outcomes or item.outcome in outcomes)
    return Claims({outcome: counts[outcome] for outcome in CLAIM}, kept)


def all_claims(dataset: Dataset, cases: Iterable[str] = ()) -> list[Claim]:
    """Every claim of the dataset, or those about ``cases``, by case and number."""
    wanted = tuple(dict.fromkeys(cases))
    rows = dataset.records("claims", {"case": wanted} if wanted else None)
    return [_claim(row) for row in sorted(rows, key=lambda row: str(row["claim"]))]


def _places(found: Iterable[Claim]) -> list[str]:
    return list(dict.fromkeys(name for item in found for name in (item.source, item.record) if name))


def _claim(row: dict[str, Any]) -> Claim:
    words = {name: str(row.get(name) or "") for name in _WORDS}
    return Claim(**words, expects=json.loads(row.get("expects") or "{}"), cells=tuple(row.get("cells") or ()))
