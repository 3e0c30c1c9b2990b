"""The environments behind the rows, when each was measured, and what does not speak."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from dashboard import frame
from dashboard.markup import claim_legend, columns, escape, status_legend, table, word_legend
from dashboard.reading import Kept
from harness import versions
from harness.answers.rows import records

_PACKAGES = ("onnx", "onnxscript", "onnxruntime", "numpy")
_COLUMNS = ("torch", "build", "Python", *_PACKAGES, "platform", "processor", "measured (UTC)", "rows", "run", "gate")


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "About these measurements",
        "Every row was measured by running an export in an environment of its own; nothing is copied from a document.",
    )
    rows = kept.rows()
    local = sum(cell.local for cell in rows.measured)
    st.html(
        f'<p class="hint">{len(rows.measured):,} cells of {len(rows.torch)} torch releases; '
        f"{local:,} of them measured on this machine, the others published.</p>"
    )
    st.html('<h2 class="sub">Environments</h2>' + _environments(records(kept.environments())))
    frame.notes(rows.notes)
    st.html(f'<h2 class="sub">Outcomes of a cell</h2>{status_legend()}')
    st.html(f'<h2 class="sub">Words for a fix</h2>{word_legend()}')
    st.html(f'<h2 class="sub">Outcomes of a claim</h2>{claim_legend()}')
    st.html('<h2 class="sub">The dataset</h2>')
    if not kept.problems:
        st.html('<p class="hint">Every file of the dataset could be read.</p>')


def _environments(found: list[dict[str, Any]]) -> str:
    ordered = sorted(found, key=lambda row: (versions.parse(row["torch"] or "0"), row["measured_at"] or ""))
    return table("Environments", "plain", columns(_COLUMNS), "".join(map(_row, ordered)))


def _row(row: dict[str, Any]) -> str:
    packages = json.loads(row["packages"] or "{}")
    values = [
        row["torch"] or row["release"],
        row["torch_build"],
        row["python"],
        *(packages.get(name) for name in _PACKAGES),
        row["platform"],
        row["gpu"] or row["cpu"],
        str(row["measured_at"] or "")[:16].replace("T", " "),
        _rows(row),
        f"{row['run_id']} ({row['origin']})",
    ]
    cells = "".join(f'<td class="tight">{escape(value or "-")}</td>' for value in values)
    return f"<tr>{cells}<td>{_gate(row)}</td></tr>"


def _rows(row: dict[str, Any]) -> str:
    if row["rows"] is None:
        return ""
    planned = f" of {int(row['planned'])}" if row["planned"] is not None else ""
    return f"{int(row['rows'])}{planned}"


def _gate(row: dict[str, Any]) -> str:
    if row["gate"] is None:
        return '<span class="badge w-unknown">· not judged yet</span>'
    if row["quarantined"]:
        return f'<span class="badge c-not-reproduced">✗ quarantined</span> {escape(row["gate"])}'
    return '<span class="badge c-reproduced">✓ good</span>'
