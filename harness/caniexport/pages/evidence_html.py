"""The evidence of one cell as names and values: how it ended, what was written, what was installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from caniexport.answers.on_runtimes import RuntimeOutcome
from caniexport.answers.reasons import Detail
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.status import Status
from caniexport.pages.markup import columns, escape, status_badge, table

#: packages named first: what decides an export
_PACKAGES = ("torch", "onnx", "onnxscript", "onnx-ir", "onnx_ir", "onnxruntime", "numpy", "protobuf")


def runtimes(found: Sequence[RuntimeOutcome]) -> str:
    """How the same files end on each release of a runtime; ``found`` is empty where one alone has run them."""
    if not found:
        return ""
    alike = groupby(found, key=lambda item: (item.runtime.partition(" ")[0], item.provider, item.counts, item.reasons))
    rows = "".join(_runtime(list(mine)) for _, mine in alike)
    heads = columns(("runtime", "provider", "files by outcome", "why not"))
    return table("The same files on other runtimes", "plain", heads, rows, whole=True)


def _runtime(alike: Sequence[RuntimeOutcome]) -> str:
    """Neighbouring releases of a runtime that end alike, in one line."""
    item = alike[0]
    more = f" to {alike[-1].runtime.partition(' ')[2]}" if len(alike) > 1 else ""
    order = list(Status)
    counts = " ".join(
        f"{status_badge(status)} {item.counts[status.value]}" for status in order if item.counts.get(status.value)
    )
    reasons = "; ".join(f"{reason} ({count})" for reason, count in item.reasons.items())
    return (
        f'<tr><th scope="row" class="tight">{escape(item.runtime + more)}</th>'
        f'<td class="tight">{escape(item.provider)}</td><td class="tight">{counts}</td><td>{escape(reasons)}</td></tr>'
    )


def place(row: Mapping[str, Any]) -> str:
    """Where a cell is, as HTML: release, exporter, opset."""
    parts = []
    if row["torch"]:
        parts.append(f"torch {row['torch']}")
    if row["exporter"]:
        parts.append(EXPORTER_SHORT.get(row["exporter"], row["exporter"]))
        parts.append("its own opset" if row["opset"] is None else f"opset {int(row['opset'])}")
    return escape(" · ".join(parts) or "this environment")


def facts_of(row: Mapping[str, Any], detail: Detail) -> list[tuple[str, str]]:
    """Names and values of a cell\'s row; values are HTML."""
    runtime = f"{row['runtime']} {row['runtime_version']} on {row['provider']}" if row["runtime_version"] else ""
    when = str(row["measured_at"] or "")[:16].replace("T", " ")
    return [
        ("ended at stage", escape(row["stage"])),
        ("beside the outcome", escape(detail.told)),
        ("onnx's checker says", escape(detail.checker or "")),
        ("file written", escape(_file(row))),
        ("operators in it", escape(row["ops"] or "")),
        ("noted of the file", escape(", ".join(f"{name}: {value}" for name, value in detail.facts.items()))),
        ("largest difference", escape(_difference(row))),
        ("runtime", escape(runtime)),
        ("signature", escape(row["signature"] or "")),
        (
            "measured",
            escape(
                f"{when} UTC, {'on this machine' if row['origin'] == 'local' else 'published'}, run {row['run_id']}"
            ),
        ),
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


def packages(detail: Detail) -> list[tuple[str, str]]:
    """What was installed: what decides an export first."""
    first = [(name, detail.packages[name]) for name in _PACKAGES if name in detail.packages]
    others = [(name, version) for name, version in sorted(detail.packages.items()) if name not in _PACKAGES]
    named = [*first, *others, ("Python", str(detail.row["python"] or "")), ("platform", detail.platform)]
    return [(name, escape(version)) for name, version in named]
