"""Writes docs/data.md, the data dictionary, from the row contract and the words of a row.

``python docs/make_dictionary.py`` (``--check`` only says whether the file is up to date).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.model.rows import SCHEMA_VERSION, TABLES
from caniexport.model.status import Exporter, FixKind, Stage, Status
from caniexport.store.merge import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import Enum

ROOT = Path(__file__).resolve().parent.parent

TARGET = ROOT / "docs" / "data.md"

_FILES = {
    "cells": "`cells/torch-2.8.0-cpu.parquet`, one file per release and provider: one row per measured cell",
    "runs": "a bundle run by a further runtime",
    "environments": "`environments.parquet`: one row per environment and run",
    "messages": "`messages.parquet`: every error text once",
    "cases": "`cases.parquet`: the corpus, one row per case and variant",
    "claims": "`claims.parquet`: what documents say, judged by the cells",
    "sources": "`sources.parquet`: what became of sources upstream, from `cases/upstream.csv`",
    "declared": "`declared.parquet`: the operator tables that torch and onnx carry themselves",
    "graphs": "`graphs.parquet`: the operators of exported files, for pictures; of the bundles that lay beside a "
    "dataset when it was published, not of all",
    "audit": "`audit.parquet`: the last audit (`caniexport audit --save`), one row per release in its sample",
}

STAGES: Mapping[Stage, str] = {
    Stage.RESOLVE: "the environment could not be made",
    Stage.IMPORT: "a package does not import",
    Stage.EAGER: "the module runs in torch; a fix is held against the failing form",
    Stage.EXPORT: "the export call",
    Stage.CHECK: "`onnx.checker` with full check",
    Stage.LOAD: "the runtime reads the file",
    Stage.PARSE: "TensorRT's parser",
    Stage.BUILD: "TensorRT's builder",
    Stage.PLACE: "nodes stay on another provider than the one asked for",
    Stage.RUN: "the runtime runs every input set",
    Stage.COMPARE: "its outputs against eager",
    Stage.DONE: "nothing stopped it",
}

STATUSES: Mapping[Status, str] = {
    Status.PASS: "everything works as asked, and the values agree",
    Status.DEGRADED: "the values agree, but the file is not what was asked for (another opset, another exporter)",
    Status.UNSUPPORTED: "refused by the exporter or the runtime: this opset, this provider",
    Status.FAIL: "an error",
    Status.TIMEOUT: "longer than the limit, twice (the second time with the limit doubled)",
    Status.OOM: "more memory than the limit, twice",
    Status.CRASH: "the process was killed or ended",
    Status.UNSTABLE: "no row has it: what an answer says of a cell whose repetitions differ (column `unstable`)",
    Status.MISMATCH: "no error anywhere, and the values differ from eager",
    Status.SKIP: "left out by us",
    Status.NOT_RUN: "never started: the environment could not be made",
    Status.INVALID: "our own infrastructure failed; says nothing about torch",
}

EXPORTERS: Mapping[Exporter, str] = {
    Exporter.TRACE: "`torch.onnx.export` of the module, `dynamo=False` where there is such an argument",
    Exporter.SCRIPT: "the same of `torch.jit.script(module)`",
    Exporter.DYNAMO: "`dynamo=True`, and `torch.onnx.dynamo_export` in 2.1-2.4",
    Exporter.DEFAULT: "the bare call: no opset, no exporter named",
}

KINDS: Mapping[FixKind, str] = {
    FixKind.REWRITE: "another form of the same computation",
    FixKind.RAISE_OPSET: "the same module at a higher opset",
    FixKind.CUSTOM_SYMBOLIC: "a rule registered with the exporter",
    FixKind.AUTOGRAD_FUNCTION: "`torch.autograd.Function` with a `symbolic`",
    FixKind.EXPORT_OPTION: "another argument of the export call, or another exporter",
    FixKind.MODULE_SWAP: "another layer in the model",
    FixKind.VERSION_UPGRADE: "another torch release; judged on the failing form's rows there",
    FixKind.GRAPH_SURGERY: "a change to the exported file",
    FixKind.RUNTIME_OPTION: "an option of the runtime's session",
}


def text() -> str:
    """The page."""
    parts = [
        "# Data dictionary\n\nThe files of `results/` (and of `results-local/`), zstd parquet under version "
        f"{SCHEMA_VERSION} of the row contract. Written by `python docs/make_dictionary.py` from the code that writes "
        "and reads them.\n",
        '```python\nimport pandas as pd\n\ncells = pd.read_parquet("results/cells")  # every release\n```\n',
    ]
    for name in TABLES:
        parts.append("\n".join(_table(name)))
    parts.append("\n".join(_words("Stages, in the order in which a cell passes through them", STAGES, Stage)))
    parts.append("\n".join(_words("Statuses, the measured ones from best to worst", STATUSES, Status)))
    parts.append("\n".join(_words("Exporters", EXPORTERS, Exporter)))
    parts.append("\n".join(_words("Kinds of fixes", KINDS, FixKind)))
    return "\n".join(parts)


def _table(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{_FILES[name][0].upper()}{_FILES[name][1:]}. One row for each ({', '.join(KEYS[name])}).\n"
    yield "| column | type | meaning |\n| --- | --- | --- |"
    for column in TABLES[name]:
        yield f"| `{column.name}` | {column.type} | {column.meaning} |"
    yield ""


def _words(title: str, meanings: Mapping[Enum, str], words: type[Enum]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| word | meaning |\n| --- | --- |"
    for word in words:
        yield f"| `{word.value}` | {meanings[word]} |"
    yield ""


def main() -> int:
    """Write the page, or with ``--check`` compare it."""
    made = text()
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == made else 1
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
