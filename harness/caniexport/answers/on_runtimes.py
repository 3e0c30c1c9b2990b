"""The same exported files on further runtimes: cells joined with runs on the bundle's content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caniexport.answers.rows import MeasuredCell
from caniexport.corpus.refusals import as_asked
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind, Status

if TYPE_CHECKING:
    from caniexport.answers.select import CatalogueEntry, Key
    from caniexport.store import Dataset

#: the content hash of each cell's exported file, by :func:`place_of`
Files = Mapping[tuple[Any, ...], str | None]
_CELL = ("torch", "case", "variant", "exporter", "opset")
_RUN = (
    "bundle",
    "session",
    "runtime",
    "runtime_version",
    "provider",
    "stage",
    "status",
    "signature",
    "message_id",
    "env_id",
    "unstable",
)
#: providers of what was measured on the processor, or whose file no runtime ran
ON_CPU = frozenset({"cpu", "none", None})
_STATUS = {status.value: status for status in Status}


def on_runtimes(
    dataset: Dataset, cells: Sequence[MeasuredCell], catalogue: Mapping[Key, CatalogueEntry], files: Files | None = None
) -> list[MeasuredCell]:
    """These cells as they end on every other runtime that has run their file; ``files`` are those, where known.

    A file that a variant runs with session options of its own has runs of its own; the cell's own runtime and version
    is not repeated. A file that is not as asked stays so (the rules are those of :mod:`caniexport.store.elsewhere`).
    """
    if not cells:
        return []
    if files is None:
        files = _files(dataset, cells)
    runs = _runs(dataset, {name for name in files.values() if name})
    found = []
    for cell in cells:
        entry = catalogue.get((cell.case, cell.variant))
        own_session = entry is not None and entry.kind == FixKind.RUNTIME_OPTION.value
        own = cell.runtime, cell.runtime_version, cell.provider
        for place, end in runs.get((files.get(place_of(cell)) or "", own_session), ()):
            if place != own:
                found.append(_moved(cell, place, end))
    return found


def _moved(cell: MeasuredCell, place: tuple[str, str, str], end: _End) -> MeasuredCell:
    stage, status, signature, text, env_id, unstable, local = end
    asked, written = (cell.exporter, cell.opset), (cell.exporter_effective, cell.opset_effective)
    if status is Status.PASS and not as_asked(cell.status, cell.variant, asked, written):
        status = Status.DEGRADED
    rest = (signature, text, env_id, cell.checker, unstable, cell.case_hash, local)
    return MeasuredCell._make((*cell[:_AT], *place, stage, status, *rest))


#: runtime, version, provider; and the rest of a cell: stage, status, signature, text, environment, words seen, local
_End = tuple[str, Status, str | None, str | None, str | None, tuple[str, ...] | None, bool]
_Run = tuple[tuple[str, str, str], _End]
#: where a cell's runtime, version and provider begin
_AT = MeasuredCell._fields.index("runtime")


def place_of(cell: MeasuredCell) -> tuple[Any, ...]:
    """What names a cell's file among others: its release, case, variant, exporter and opset."""
    return cell.torch, cell.case, cell.variant, cell.exporter, cell.opset


def _files(dataset: Dataset, cells: Iterable[MeasuredCell]) -> dict[tuple[Any, ...], str | None]:
    """The bundle of each cell."""
    torch, cases = {cell.torch for cell in cells}, {cell.case for cell in cells}
    where: dict[str, set[str]] = {"torch": torch}
    if len(cases) <= len(torch):
        where["case"] = cases
    found = {}
    for torch_, case, variant, exporter, opset, bundle in dataset.select((*_CELL, "bundle"), where):
        found[torch_, case, variant or PLAIN, exporter, opset] = bundle
    return found


def _runs(dataset: Dataset, bundles: set[str]) -> dict[tuple[str, bool], list[_Run]]:
    """By bundle, and whether it ran with session options: one run per runtime, version and provider."""
    found: dict[tuple[str, bool], list[_Run]] = defaultdict(list)
    for bundle, session, *place, stage, status, signature, text, env_id, seen, origin in dataset.replays(bundles, _RUN):
        end = (stage, _STATUS[status], signature, text, env_id, seen and tuple(seen), origin == "local")
        found[bundle, bool(session)].append(((place[0], place[1] or "", place[2]), end))
    return found
