"""The cell that a user named, found in the dataset, and its script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from caniexport.answers.cell import find_most_telling, read_packages
from caniexport.answers.filters import Filters
from caniexport.answers.scope import select
from caniexport.model.case import PLAIN
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CorpusError, UnknownName
from caniexport.reproduce.write import ShownCell, write_script
from caniexport.store import Dataset
from caniexport.store.sql import moment


@dataclass(frozen=True)
class Reproduction(ShownCell):
    """One cell with its script. ``cells`` counts those that the filters took; this one was chosen among them."""

    case: str = ""
    cells: int = 0
    script: str = ""


def find_reproduction(dataset: Dataset, corpus: Mapping[str, LoadedCase], filters: Filters) -> Reproduction:
    """The script of the most telling cell of one variant that the filters take.

    Raises :class:`UnknownName` where the filters name no cell or several variants, and :class:`CorpusError` where the
    corpus does not have the case (a row of a case that was removed).
    """
    if not filters.variants and not any("/" in case for case in filters.cases):
        filters = replace(filters, variants=(PLAIN,))
    selection = select(dataset, filters)
    if len(selection.catalogue) != 1:
        several = ", ".join("/".join(key) for key in list(selection.catalogue)[:5])
        raise UnknownName(f"one cell is shown at a time, and these are {len(selection.catalogue)} variants ({several})")
    ((key, entry),) = selection.catalogue.items()
    statuses = {"status": tuple(status.value for status in selection.statuses)} if selection.statuses else {}
    where = {**selection.where, "case": (entry.case,), "variant": (entry.variant,), **statuses}
    row, cells = find_most_telling(dataset, where)
    name = "/".join(key)
    if row is None:
        raise UnknownName(_unmeasured(name, entry.kind, entry.needs_torch))
    if entry.case not in corpus:
        raise CorpusError(f"case {entry.case}: its rows are there, its case file is not")
    loaded = corpus[entry.case]
    if entry.variant not in loaded.variant_names:
        raise CorpusError(f"case {name}: its rows are there, the case no longer has this variant")
    shown = ShownCell(
        entry.variant,
        row["torch"] or "",
        ".".join(str(row["python"] or "").split(".")[:2]),
        row["exporter"] or "",
        row["opset"],
        row["stage"],
        row["status"],
        row["provider"] or "cpu",
        moment(row["measured_at"]).isoformat() if row["measured_at"] else "",
        dataset.message(row["message_id"] or "") or "",
        row["case_hash"] != loaded.case_hash(entry.variant),
        read_packages(dataset, row),
    )
    return Reproduction(**vars(shown), case=entry.case, cells=cells, script=write_script(loaded, shown))


def _unmeasured(name: str, kind: str, needs_torch: str) -> str:
    if kind == "version-upgrade":
        releases = f" --torch {needs_torch}" if needs_torch else ""
        return f"{name} is an upgrade of torch and not measured itself: its plain form{releases} is what to reproduce"
    return f"{name} has not been measured within these filters (`caniexport measure --case {name}` does)"
