"""Rows and datasets for the tests of the store, written the way the measuring side writes them."""

from __future__ import annotations

import json
from pathlib import Path

from caniexport.model.journal import Journal
from caniexport.model.rows import CELLS, ENVIRONMENTS
from caniexport.store import writer

TEXT = "Exporting the operator cross to ONNX opset version 14 is not supported"


def cell(**changes):
    """A measured cell; ``changes`` replace its values."""
    row = dict.fromkeys(column.name for column in CELLS)
    row.update(
        run_id="run-1",
        measured_at="2026-01-02T03:04:05.000006Z",
        env_id="env-1",
        torch="1.10.2",
        python="3.8.20",
        corpus="documented",
        case="cross-no-symbolic",
        variant="plain",
        case_hash="hash-1",
        measuring=1,
        exporter="torchscript-trace",
        opset=14,
        runtime="onnxruntime",
        runtime_version="1.19.2",
        provider="cpu",
        stage="done",
        status="pass",
        attempts=1,
    )
    row.update(changes)
    return row


def environment(**changes):
    """The row of a good run."""
    row = dict.fromkeys(column.name for column in ENVIRONMENTS)
    row.update(
        env_id="env-1",
        release="1.10.2",
        torch="1.10.2",
        packages=json.dumps({"torch": "1.10.2+cpu"}),
        run_id="run-1",
        measured_at="2026-01-02T03:00:00Z",
        gate="good",
        planned=1,
        rows=1,
    )
    row.update(changes)
    return row


def write_journal(dataset: Path, cells=(), environments=(), messages=None, name="measure"):
    """A finished journal, written by the real writer."""
    with Journal(dataset / "journal", name) as journal:
        for row in environments:
            journal.environment(row)
        for row in cells:
            journal.cell(row, messages or {})
        return journal.path


def identities(frame):
    """What a frame has, in a form that sets can compare."""
    names = ["torch", "case", "variant", "opset", "status"]
    return sorted(tuple(row) for row in frame[names].astype(object).itertuples(index=False, name=None))


def write_cells(dataset, rows):
    """Write rows as finished parquet files, one per release and provider."""
    by_file = {}
    for row in rows:
        by_file.setdefault(writer.cells_file(row["torch"], row["provider"]), []).append(row)
    for name, some in by_file.items():
        writer.write_rows(dataset / "cells" / name, "cells", some)
