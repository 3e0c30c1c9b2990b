"""Why a cell is what it is: stage, status, the real message, versions, the claims it bears on, how to repeat it."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.answers.declared import Declared, of_case
from caniexport.answers.documents import JudgedClaim, all_claims
from caniexport.answers.filters import Filters
from caniexport.answers.on_runtimes import (
    Files,
    RuntimeOutcome,
    on_runtimes,
    otherwise_elsewhere,
    place_of,
    side_by_side,
)
from caniexport.answers.rows import NO_EXPORTER, MeasuredCell, told
from caniexport.answers.select import CatalogueEntry, Key, load, select
from caniexport.answers.shown import Answers, Shown
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.upstream import SourceState, upstream
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.store.schema import columns
from caniexport.store.sql import moment

if TYPE_CHECKING:
    from caniexport.store import Dataset

_EXPORTERS = [member.value for member in Exporter]


@dataclass(frozen=True)
class FailureGroup:
    """Cells of one release and exporter that ended alike; ``opsets`` ascending, ``None`` for the release's own.

    ``message`` is the index of its text in :attr:`Why.messages`, ``None`` where it has none. ``checker`` is what onnx's
    checker said of the files, ``unstable`` the statuses seen where repetitions differ, ``told`` either in a sentence.
    """

    torch: str
    exporter: str
    provider: str | None
    stage: str
    status: Status
    signature: str | None
    opsets: tuple[int | None, ...]
    opsets_effective: tuple[int, ...]
    exporters_effective: tuple[str, ...]
    runtime: str
    local: bool
    message: int | None
    checker: str | None = None
    unstable: tuple[str, ...] = ()
    told: str = ""


@dataclass(frozen=True)
class Detail:
    """One cell: its ``row`` with every column, the ``packages`` installed, ``repeat`` the shell command for it.

    ``told`` is what its status leaves out in one sentence: that its repetitions differ, or what onnx's checker makes of
    the file and what the runtime does; ``checker`` the checker's own words.
    """

    row: dict[str, Any]
    facts: dict[str, Any]
    warnings: str | None
    packages: dict[str, str]
    platform: str
    repeat: str
    told: str = ""
    checker: str | None = None


@dataclass(frozen=True)
class Why(Shown):
    """Why one variant of a case stands as it does; ``detail`` is one of its cells, one that does not work if any.

    ``runtimes`` is how the same files end on every runtime that has run them (empty where no other has); ``elsewhere``
    what other providers do to those of the newest release that work on the CPU, in a sentence each; ``declared``
    is what torch's own operator tables say, for the newest release among the cells; ``sources`` what became of the
    case's sources upstream.
    """

    entry: CatalogueEntry
    groups: tuple[FailureGroup, ...]
    messages: tuple[str, ...]
    detail: Detail | None
    claims: tuple[JudgedClaim, ...]
    declared: tuple[Declared, ...]
    cells: int
    runtimes: tuple[RuntimeOutcome, ...] = ()
    elsewhere: tuple[str, ...] = ()
    sources: tuple[SourceState, ...] = ()


def why(dataset: Dataset, filters: Filters) -> Answers[Why]:
    """One answer for each variant that the filters take; the failing form alone where no variant is named.

    A variant that is known and was not measured there has no groups. Raises :class:`UnknownName`.
    """
    named = any("/" in case for case in filters.cases)
    if not named and not filters.variants:
        filters = replace(filters, variants=(PLAIN,))
    selection = select(load(dataset), filters)
    measured = selection.rows.with_files(**selection.where())
    files = {place_of(cell): bundle for cell, bundle in measured}
    by_variant: dict[Key, list[MeasuredCell]] = defaultdict(list)
    for cell in selection.in_order(cell for cell, _ in measured) + selection.environment:
        if not selection.statuses or cell.status in selection.statuses:
            by_variant[cell.case, cell.variant].append(cell)
    cases = {case for case, _ in selection.catalogue}
    claims = all_claims(dataset, cases)
    sources = upstream(dataset, cases)
    return Answers(
        replace(_why(dataset, entry, by_variant.get(key, []), claims, files), sources=sources.get(entry.case, ()))
        for key, entry in selection.catalogue.items()
    )


def _why(
    dataset: Dataset, entry: CatalogueEntry, cells: list[MeasuredCell], claims: Iterable[JudgedClaim], files: Files
) -> Why:
    texts: dict[str, int] = {}
    messages: list[str] = []
    groups = []
    alike = _alike(cells)
    known = dataset.messages(found[-1].message_id for found in alike)
    for found in alike:
        index = _message(known, found[-1], texts, messages)
        groups.append(_group(found, index))
    mine = [claim for claim in claims if (claim.case, claim.variant) == (entry.case, entry.variant)]
    bears = tuple(claim for claim in mine if any(claim.is_about(cell) for cell in cells))
    shown = _most_telling(cells, load(dataset).default_exporters)
    detail = _detail(dataset, shown) if shown else None
    newest = versions.newest(cell.torch for cell in cells if cell.torch)
    declared = tuple(of_case(dataset, entry, [newest] if newest else []))
    moved = on_runtimes(dataset, cells, {(entry.case, entry.variant): entry}, files)
    runtimes = side_by_side([*cells, *moved]) if moved else ()
    elsewhere = _elsewhere([cell for cell in cells if cell.torch == newest], moved)
    return Why(entry, tuple(groups), tuple(messages), detail, bears, declared, len(cells), runtimes, elsewhere)


def _elsewhere(cells: list[MeasuredCell], moved: list[MeasuredCell]) -> tuple[str, ...]:
    """``on cuda (onnxruntime 1.31.1) the same files give wrong values: dynamo 18-26``."""
    found = []
    for said, mine in otherwise_elsewhere(cells, moved).items():
        by_exporter: dict[str, list[int | None]] = defaultdict(list)
        for cell in mine:
            by_exporter[EXPORTER_SHORT.get(cell.exporter, cell.exporter)].append(cell.opset)
        who = (" ".join(dict.fromkeys((name, versions.opset_text(opsets)))) for name, opsets in by_exporter.items())
        found.append(f"{said}: {', '.join(who)}")
    return tuple(found)


def _alike(cells: list[MeasuredCell]) -> list[list[MeasuredCell]]:
    """Cells grouped by release, exporter, provider and how they ended; releases oldest first, opsets ascending."""
    grouped: dict[tuple[Any, ...], list[MeasuredCell]] = defaultdict(list)
    for cell in sorted(cells, key=_reading_order):
        ended = (cell.stage, cell.status, cell.signature, cell.refused and cell.checker, cell.unstable)
        grouped[cell.torch, cell.exporter, cell.provider, *ended].append(cell)
    return list(grouped.values())


def _reading_order(cell: MeasuredCell) -> tuple[Any, ...]:
    exporter = _EXPORTERS.index(cell.exporter) if cell.exporter in _EXPORTERS else len(_EXPORTERS)
    return versions.parse(cell.torch or "0"), exporter, cell.provider or "", cell.opset or 0


def _message(known: Mapping[str, str], cell: MeasuredCell, texts: dict[str, int], messages: list[str]) -> int | None:
    """The index of a cell's text; one text stands for every cell with the same signature."""
    if not cell.message_id:
        return None
    key = cell.signature or cell.message_id
    if key not in texts:
        texts[key] = len(messages)
        missing = f"(the text {cell.message_id} is missing in the dataset)"
        messages.append(known.get(cell.message_id, missing))
    return texts[key]


def _group(cells: list[MeasuredCell], message: int | None) -> FailureGroup:
    first = cells[0]
    runtimes = dict.fromkeys(f"{cell.runtime} {cell.runtime_version}" for cell in cells if cell.runtime_version)
    return FailureGroup(
        first.torch,
        first.exporter,
        first.provider,
        first.stage,
        first.status,
        first.signature,
        tuple(cell.opset for cell in cells),
        tuple(sorted({cell.opset_effective for cell in cells if cell.opset_effective is not None})),
        tuple(sorted({cell.exporter_effective for cell in cells if cell.exporter_effective})),
        ", ".join(runtimes),
        any(cell.local for cell in cells),
        message,
        first.checker,
        first.unstable or (),
        told(first),
    )


def _most_telling(cells: list[MeasuredCell], own: Mapping[str, str]) -> MeasuredCell | None:
    """The cell shown whole: one that does not work if any, on the newest release, with the exporter of a bare call of
    that release (``own``) before tracing and the others, at the highest opset.
    """
    telling = [cell for cell in cells if cell.status is not Status.UNSUPPORTED] or cells
    return max(telling, key=lambda cell: _telling(cell, own.get(cell.torch, "")), default=None)


def _telling(cell: MeasuredCell, own: str) -> tuple[Any, ...]:
    preferred = (own, Exporter.TRACE.value, Exporter.DYNAMO.value, Exporter.SCRIPT.value)
    rank = preferred.index(cell.exporter) if cell.exporter in preferred else len(preferred)
    return not cell.works, versions.parse(cell.torch or "0"), -rank, cell.opset or 0


def _detail(dataset: Dataset, cell: MeasuredCell) -> Detail:
    row = _row(dataset, cell)
    environment = _environment(dataset, cell.env_id, row["run_id"])
    return Detail(
        row,
        json.loads(row.get("facts") or "{}"),
        dataset.messages([row.get("warning_id")]).get(row.get("warning_id") or ""),
        json.loads(environment.get("packages") or "{}"),
        environment.get("platform") or "",
        repeat(cell, dataset.profile),
        told(cell),
        dataset.messages([row.get("checker_id")]).get(row.get("checker_id") or ""),
    )


def _row(dataset: Dataset, cell: MeasuredCell) -> dict[str, Any]:
    """A cell's row with every column; its time as text."""
    wanted = (*columns("cells"), "origin")
    where: dict[str, tuple[Any, ...]] = {
        "case": (cell.case,),
        "variant": (cell.variant,),
        "torch": (cell.torch or None,),
        "exporter": (None if cell.exporter == NO_EXPORTER else cell.exporter,),
        "opset": (cell.opset,),
        "provider": (cell.provider,),
        "runtime_version": (cell.runtime_version,),
    }
    found = [dict(zip(wanted, row, strict=True)) for row in dataset.select(wanted, where, runtimes=True)]
    row = next(row for row in reversed(found) if (row["origin"] == "local") == cell.local)
    return {**row, "measured_at": moment(row["measured_at"]).isoformat() if row["measured_at"] else None}


def _environment(dataset: Dataset, env_id: str | None, run_id: str | None) -> dict[str, Any]:
    """The environment's row of a run; where it has none, that of the newest run in the same environment."""
    found = dataset.records("environments", {"env_id": (env_id,)}) if env_id else []
    return max(found, key=lambda row: (row["run_id"] == run_id, str(row["measured_at"])), default={})


def repeat(cell: MeasuredCell, profile: str = NEWEST) -> str:
    """The command that measures this one cell again on this machine, with the packages of a profile."""
    packages = () if profile == NEWEST else ("--profile", profile)
    if cell.exporter == NO_EXPORTER:
        return shlex.join(["caniexport", "measure", "--case", cell.case, *packages, "--fresh"])
    words = ["caniexport", "measure", "--release", cell.torch, "--case", f"{cell.case}/{cell.variant}"]
    words += ["--exporter", cell.exporter]
    if cell.opset is not None:
        words += ["--opset", str(cell.opset)]
    if cell.provider and cell.provider != "cpu":
        words += ["--provider", cell.provider]
    return shlex.join([*words, *packages, "--fresh"])
