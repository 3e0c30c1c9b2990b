"""The same exported files on further runtimes: cells joined with runs on the bundle's content."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.answers.rows import MeasuredCell
from caniexport.corpus.refusals import as_asked, refusal
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


@dataclass(frozen=True)
class RuntimeOutcome:
    """How files end on one release of a runtime: ``counts`` by status, ``reasons`` of what does not work, by count."""

    runtime: str
    provider: str
    counts: dict[str, int]
    reasons: dict[str, int]


def side_by_side(cells: Iterable[MeasuredCell]) -> tuple[RuntimeOutcome, ...]:
    """One line for each release of a runtime, oldest first; cells without a runtime are left out."""
    grouped: dict[tuple[str, str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        if cell.runtime and cell.runtime_version and cell.runtime != "none":
            grouped[cell.runtime, cell.runtime_version, cell.provider or ""].append(cell)
    found = []
    for name, version, provider in sorted(grouped, key=lambda key: (key[0], key[2], versions.parse(key[1]))):
        mine = grouped[name, version, provider]
        counts = Counter(cell.status.value for cell in mine)
        reasons = Counter(_reason(cell.stage, cell.signature) for cell in mine if not cell.works)
        found.append(RuntimeOutcome(f"{name} {version}", provider, dict(counts), dict(reasons.most_common())))
    return tuple(found)


#: what a provider does to a file that works on the CPU, as a sentence has it
_OTHERWISE = {Status.MISMATCH: "give wrong values", Status.UNSUPPORTED: ""}


def otherwise_elsewhere(
    cells: Iterable[MeasuredCell], moved: Iterable[MeasuredCell]
) -> Mapping[str, list[MeasuredCell]]:
    """What other providers do to files of these cells that work on the CPU, and to which.

    ``on cuda (onnxruntime 1.31.1) the same files give wrong values``; of each provider its newest release speaks.
    """
    works = {place_of(cell) for cell in cells if cell.works}
    there = [cell for cell in moved if cell.provider not in ON_CPU and place_of(cell) in works]
    newest: dict[tuple[str, str], str] = {}
    for cell in sorted(there, key=lambda cell: versions.parse(cell.runtime_version or "0")):
        newest[cell.provider or "", cell.runtime or ""] = cell.runtime_version or ""
    found: dict[str, list[MeasuredCell]] = defaultdict(list)
    for cell in there:
        version = newest[cell.provider or "", cell.runtime or ""]
        said = "" if cell.works else _OTHERWISE.get(cell.status, "fail")
        if said and cell.runtime_version == version:
            found[f"on {cell.provider} ({cell.runtime} {version}) the same files {said}"].append(cell)
    return found


@lru_cache(maxsize=4096)
def _reason(stage: str, signature: str | None) -> str:
    cause = refusal(stage, signature)
    if cause is not None and cause.value != "another reason":
        return cause.value
    words = (signature or "").split("|", 2)[-1]
    return f"{stage}: {words[:80]}" if words else stage
