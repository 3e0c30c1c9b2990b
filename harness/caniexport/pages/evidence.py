"""The evidence of one cell: how it ended, its text, what was written and installed, how its files end elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from caniexport import versions
from caniexport.answers.on_runtimes import RuntimeOutcome
from caniexport.answers.reasons import Detail, Why
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.status import Status
from caniexport.pages.graph import Drawing, drawing
from caniexport.pages.kept import Kept
from caniexport.store import graphs

#: packages named first: what decides an export
_PACKAGES = ("torch", "onnx", "onnxscript", "onnx-ir", "onnx_ir", "onnxruntime", "numpy", "protobuf")
#: names and values, the empty ones to be left out
_Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class OnRuntime:
    """Neighbouring releases of a runtime on which the same files end alike: how many files end how, and why not."""

    runtime: str
    provider: str
    counts: tuple[tuple[Status, int], ...]
    reasons: str


@dataclass(frozen=True)
class CellEvidence:
    """What a page tells of a cell; ``nearest`` is where a picture of the file is kept, where this one's is not."""

    place: str
    status: Status
    row: Mapping[str, Any]
    text: str | None
    facts: _Facts
    packages: _Facts
    runtimes: list[OnRuntime]
    warnings: str | None
    repeat: str
    picture: Drawing | None = None
    nearest: tuple[str, int | None] | None = None


def of(kept: Kept, shown: Why) -> CellEvidence | None:
    """The evidence of the cell that an answer shows; ``None`` where it shows none."""
    if shown.detail is None:
        return None
    detail, row = shown.detail, shown.detail.row
    name = row["message_id"]
    graph = kept.graph(row["bundle"]) if row["bundle"] else None
    places = kept.answer(graphs.elsewhere, row["case"], row["variant"], row["exporter"]) if row["bundle"] else []
    return CellEvidence(
        _place(row),
        Status(row["status"]),
        row,
        kept.message(name) or f"(the text {name} is missing in the dataset)" if name else None,
        [*_facts(row, detail), ("on other providers", "; ".join(shown.elsewhere))],
        _packages(detail),
        on_runtimes(shown.runtimes),
        detail.warnings,
        detail.repeat,
        drawing(graph) if graph else None,
        nearest(row, places) if places and graph is None else None,
    )


def nearest(row: Mapping[str, Any], places: Sequence[tuple[str, int | None]]) -> tuple[str, int | None] | None:
    """Of the places with a picture the nearest to a cell: its own release, then its opset, then the next release."""
    own, ranked = versions.parse(row["torch"]), sorted(places, key=lambda place: versions.parse(place[0]))
    opset = row["opset"] or 0

    def distance(place: tuple[int, tuple[str, int | None]]) -> tuple[bool, int, bool, int]:
        index, (torch, other) = place
        older = versions.parse(torch) < own
        return torch != row["torch"], abs((other or 0) - opset), older, -index if older else index

    return min(enumerate(ranked), key=distance, default=(0, None))[1]


def on_runtimes(found: Sequence[RuntimeOutcome]) -> list[OnRuntime]:
    """How the same files end on each release of a runtime; empty where one alone has run them."""
    alike = groupby(found, key=lambda item: (item.runtime.partition(" ")[0], item.provider, item.counts, item.reasons))
    return [_runtime(list(mine)) for _, mine in alike]


def _runtime(alike: Sequence[RuntimeOutcome]) -> OnRuntime:
    item = alike[0]
    more = f" to {alike[-1].runtime.partition(' ')[2]}" if len(alike) > 1 else ""
    counts = tuple((status, item.counts[status.value]) for status in Status if item.counts.get(status.value))
    reasons = "; ".join(f"{reason} ({count})" for reason, count in item.reasons.items())
    return OnRuntime(item.runtime + more, item.provider, counts, reasons)


def _place(row: Mapping[str, Any]) -> str:
    """Where a cell is: release, exporter, opset."""
    parts = [f"torch {row['torch']}"] if row["torch"] else []
    if row["exporter"]:
        parts.append(EXPORTER_SHORT.get(row["exporter"], row["exporter"]))
        parts.append("its own opset" if row["opset"] is None else f"opset {int(row['opset'])}")
    return " · ".join(parts) or "this environment"


def _facts(row: Mapping[str, Any], detail: Detail) -> _Facts:
    """Names and values of a cell's row."""
    runtime = f"{row['runtime']} {row['runtime_version']} on {row['provider']}" if row["runtime_version"] else ""
    when = str(row["measured_at"] or "")[:16].replace("T", " ")
    where = "on this machine" if row["origin"] == "local" else "published"
    return [
        ("ended at stage", row["stage"]),
        ("beside the outcome", detail.told),
        ("onnx's checker says", detail.checker or ""),
        ("file written", _file(row)),
        ("operators in it", row["ops"] or ""),
        ("noted of the file", ", ".join(f"{name}: {value}" for name, value in detail.facts.items())),
        ("largest difference", _difference(row)),
        ("runtime", runtime),
        ("signature", row["signature"] or ""),
        ("measured", f"{when} UTC, {where}, run {row['run_id']}"),
    ]


def _file(row: Mapping[str, Any]) -> str:
    if row["opset_effective"] is None:
        return ""
    exporter = EXPORTER_SHORT.get(row["exporter_effective"] or "", row["exporter_effective"] or "")
    nodes = f", {int(row['node_count'])} nodes" if row["node_count"] is not None else ""
    ir = f", IR version {int(row['ir_version'])}" if row["ir_version"] is not None else ""
    return f"opset {int(row['opset_effective'])} by {exporter or 'an unnamed exporter'}{ir}{nodes}"


def _difference(row: Mapping[str, Any]) -> str:
    if row["max_abs_error"] is None:
        return ""
    allowed = f" (allowed: {row['rtol']:.2g} relative, {row['atol']:.2g} absolute)" if row["rtol"] is not None else ""
    relative = f", {row['max_rel_error']:.3g} relative" if row["max_rel_error"] is not None else ""
    return f"{row['max_abs_error']:.3g} absolute{relative}{allowed}"


def _packages(detail: Detail) -> _Facts:
    """What was installed: what decides an export first."""
    first = [(name, detail.packages[name]) for name in _PACKAGES if name in detail.packages]
    others = [(name, version) for name, version in sorted(detail.packages.items()) if name not in _PACKAGES]
    return [*first, *others, ("Python", str(detail.row["python"] or "")), ("platform", detail.platform)]
