"""The cell that a user named, found in the dataset, and its script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from caniexport.answers.filters import Filters
from caniexport.answers.reasons import Why, why
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CorpusError, UnknownName
from caniexport.reproduce.write import ShownCell, script
from caniexport.store import Dataset


@dataclass(frozen=True)
class Reproduction:
    """One cell with its script. ``cells`` counts those that the filters took; this one was chosen among them."""

    case: str
    variant: str
    torch: str
    exporter: str
    opset: int | None
    stage: str
    status: str
    stale: bool
    cells: int
    script: str


def reproduction(dataset: Dataset, corpus: Mapping[str, LoadedCase], filters: Filters) -> Reproduction:
    """The script of the cell that ``why`` shows whole for the same filters.

    Raises :class:`UnknownName` where the filters name no cell or several variants, and :class:`CorpusError` where the
    corpus does not have the case (a row of a case that was removed).
    """
    found = why(dataset, filters)
    if len(found) != 1:
        several = ", ".join(f"{item.entry.case}/{item.entry.variant}" for item in found[:5])
        raise UnknownName(f"one cell is shown at a time, and these are {len(found)} variants ({several}, …)")
    return of_answer(found[0], dataset, corpus)


def of_answer(item: Why, dataset: Dataset, corpus: Mapping[str, LoadedCase]) -> Reproduction:
    """As :func:`reproduction`, for an answer of ``why``."""
    entry, name = item.entry, f"{item.entry.case}/{item.entry.variant}"
    if item.detail is None:
        raise UnknownName(_unmeasured(name, entry.kind, entry.needs_torch))
    if entry.case not in corpus:
        raise CorpusError(f"case {entry.case}: its rows are there, its case file is not")
    loaded, row = corpus[entry.case], item.detail.row
    if entry.variant not in loaded.variant_names:
        raise CorpusError(f"case {name}: its rows are there, the case no longer has this variant")
    shown = ShownCell(
        entry.variant,
        row["torch"] or "",
        ".".join(str(row["python"] or "").split(".")[:2]),
        row["exporter"] or "",
        None if row["opset"] is None else int(row["opset"]),
        row["stage"],
        row["status"],
        row["provider"] or "cpu",
        str(row["measured_at"] or ""),
        dataset.message(row.get("message_id") or "") or "",
        row["case_hash"] != loaded.case_hash(entry.variant),
        item.detail.packages,
    )
    place = entry.case, entry.variant, shown.torch, shown.exporter, shown.opset
    return Reproduction(*place, shown.stage, shown.status, shown.stale, item.cells, script(loaded, shown))


def _unmeasured(name: str, kind: str, needs_torch: str) -> str:
    if kind == "version-upgrade":
        releases = f" --torch {needs_torch}" if needs_torch else ""
        return f"{name} is an upgrade of torch and not measured itself: its plain form{releases} is what to reproduce"
    return f"{name} has not been measured within these filters (`caniexport measure --case {name}` does)"
