"""A small dataset of known rows, written through the store, for the tests of answers and commands.

Five releases, as measured on real ones: ``cross`` has no rule before 2.0, ``grid-sample`` needs opset 16 (which 1.10
does not have), ``item`` exports and is wrong wherever it is traced. Each has one fix that works everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from caniexport.model.journal import Journal
from caniexport.model.messages import make_signature
from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import compact, writer

#: release -> lowest and highest opset of the TorchScript exporter, its default, the dynamo exporter's, onnxruntime
RELEASES = {
    "1.10.2": (7, 14, 9, None, "1.19.2"),
    "1.12.1": (7, 16, 13, None, "1.23.2"),
    "2.0.1": (7, 18, 14, None, "1.23.2"),
    "2.8.0": (7, 23, 18, (14, 26), "1.31.1"),
    "2.15.0": (7, 23, 20, (14, 26), "1.31.1"),
}
CROSS = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported."
GRID = "RuntimeError: Exporting the operator grid_sampler to ONNX opset version 9 is not supported."
TEXTS = {"m-cross": CROSS, "m-grid": GRID, "m-refused": "ValueError: Unsupported ONNX opset version"}

ERRORS = {"max_abs_error": 0.5, "max_rel_error": 0.25, "rtol": 1e-4, "atol": 1e-5}

FIXES = {
    "cross": {"stack_rewrite": ("rewrite", ""), "newer_torch": ("version-upgrade", ">=2.0")},
    "grid-sample": {"opset_16": ("raise-opset", "")},
    "item": {"tensor_scale": ("rewrite", ""), "int_scale": ("rewrite", "")},
}


def bundle(name: str) -> str:
    """The bundle of a file known by a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:BUNDLE_DIGITS]


def outcome(case: str, variant: str, torch: str, exporter: str, opset: int) -> tuple[str, str, str | None]:
    """Status, stage and message of a cell, ``opset`` being the one the export call is given."""
    if variant == "stack_rewrite" or variant == "tensor_scale":
        return "pass", "done", None
    if case == "cross" and exporter != "dynamo" and torch in ("1.10.2", "1.12.1"):
        return "fail", "export", "m-cross"
    if case == "grid-sample" and opset < 16:
        return "fail", "export", "m-grid"
    if case == "item" and exporter != "dynamo":
        return "mismatch", "compare", None
    return "pass", "done", None


def cells(torch: str) -> list[dict[str, object]]:
    """Every cell of a release."""
    low, high, _, dynamo, _ = RELEASES[torch]
    asked = [("torchscript-trace", opset) for opset in range(low, high + 2)] + [("default", None)]
    asked += [("dynamo", opset) for opset in range(dynamo[0], dynamo[1] + 1)] if dynamo else []
    found = []
    for case, fixes in FIXES.items():
        for variant in ["plain", *(name for name, (kind, _) in fixes.items() if kind != "version-upgrade")]:
            found += [cell(torch, case, variant, exporter, opset) for exporter, opset in asked]
    return found


def cell(torch: str, case: str, variant: str, exporter: str, opset: int | None) -> dict[str, object]:
    """One row."""
    _, high, default, _, onnxruntime = RELEASES[torch]
    given = opset or default
    if variant == "opset_16":
        given = max(given, 16)
    status, stage, message = outcome(case, variant, torch, exporter, given)
    if exporter != "dynamo" and given > high:
        status, stage, message = "unsupported", "export", "m-refused"
    exported = stage != "export"
    return {
        **{"run_id": f"run-{torch}", "measured_at": "2026-11-20T10:00:00Z", "env_id": f"env-{torch}", "torch": torch},
        **{"python": "3.10.1", "onnx": "1.17.0", "corpus": "documented", "case": case, "variant": variant},
        **{"case_hash": f"{case}-{variant}", "measuring": 1, "exporter": exporter, "opset": opset},
        "exporter_effective": ("torchscript-trace" if exporter == "default" else exporter) if exported else None,
        "opset_effective": given if exported else None,
        **{"runtime": "onnxruntime", "runtime_version": onnxruntime, "provider": "cpu", "device": "cpu"},
        **{"stage": stage, "status": status, "signature": message and told(stage, message), "message_id": message},
        **(ERRORS if exported else {}),
        "attempts": 1,
    }


def told(stage: str, message: str) -> str:
    """The signature of a message, as a run writes it."""
    kind, _, text = TEXTS.get(message, message).partition(": ")
    return make_signature(stage, kind, text)


def environment(torch: str, gate: str = "good") -> dict[str, object]:
    """The environment of a release."""
    packages = {"torch": torch, "onnxruntime": RELEASES[torch][-1], "numpy": "1.26.4"}
    return {
        **{"env_id": f"env-{torch}", "release": torch, "torch": torch, "python": "3.10.1", "platform": "Linux x86_64"},
        **{"packages": json.dumps(packages), "run_id": f"run-{torch}", "gate": gate},
        "measured_at": "2026-11-20T10:00:00Z",
    }


def cases() -> list[dict[str, object]]:
    """The catalogue."""
    ops = {"cross": ["aten::cross"], "grid-sample": ["aten::grid_sampler", "GridSample"], "item": ["aten::item"]}
    found = []
    for case, fixes in FIXES.items():
        for variant, (kind, needs) in {"plain": ("plain", ""), **fixes}.items():
            found.append(
                {
                    **{"case": case, "variant": variant, "corpus": "documented", "title": f"{case} is refused"},
                    **{"theme": "geometry" if case != "item" else "baking", "kind": kind, "needs_torch": needs},
                    **{"aten_ops": ops[case], "onnx_ops": [], "sources": ["seed:000"], "records": []},
                    **{"note": "" if kind == "plain" else "another way", "caution": variant == "int_scale"},
                    **{"documented": variant != "opset_16", "changes_values": False, "case_hash": f"{case}-{variant}"},
                    **{"description": "", "code": "pass"},
                }
            )
    return found


def claims() -> list[dict[str, object]]:
    """Two claims, one of each main outcome."""
    common = {"case": "cross", "variant": "plain", "exporter": "torchscript-trace", "expects": "{}"}
    cell_id = "1.10.2/cross/plain/torchscript-trace/14"
    return [
        {
            **common,
            **{"claim": "cross/1", "record": "cross-no-symbolic", "source": "seed:000", "torch": "==1.10.*"},
            **{"opset": "14", "says": "export at opset 14 is refused", "outcome": "reproduced"},
            **{"reason": "1 of 1 cells", "cells": [cell_id]},
        },
        {
            **common,
            **{"claim": "cross/2", "record": "cross-later", "source": "onnx/onnx#2683", "torch": ">=2.0"},
            **{"opset": "", "says": "later releases refuse it too", "outcome": "not-reproduced"},
            **{"reason": "it passes on 2.0.1", "cells": []},
        },
    ]


def write(
    folder: Path,
    releases: tuple[str, ...] = tuple(RELEASES),
    gate: str = "good",
    keep: Callable[[dict[str, object]], bool] = lambda row: True,
) -> Path:
    """Write a dataset with the rows of these releases, as far as they are to be kept."""
    for torch in releases:
        with Journal(folder / "journal", f"run-{torch}") as journal:
            for row in filter(keep, cells(torch)):
                message = row["message_id"]
                journal.cell(row, {str(message): TEXTS[str(message)]} if message else {})
            journal.environment(environment(torch, gate))
    compact(folder)
    writer.write_rows(folder / "cases.parquet", "cases", cases())
    writer.write_rows(folder / "claims.parquet", "claims", claims())
    return folder


def append(
    folder: Path,
    *rows: dict[str, object],
    texts: dict[str, str] | None = None,
    environments: list[dict[str, object]] | None = None,
) -> None:
    """Add rows, texts and environments to a dataset."""
    with Journal(folder / "journal", "more") as journal:
        for row in rows:
            journal.cell(row, texts or {})
        for environment_row in environments or ():
            journal.environment(environment_row)
    compact(folder)


def write_operators(home: Path) -> None:
    """Beside the dataset of a home: the summary of one operator, ``linalg.cross``, which dynamo alone exports."""
    made = {"op": "linalg.cross", "dtype": "float32", "form": None, "opset": 18, "torch": "2.15.0", "calls": 2}
    ends = {
        "torchscript-trace": {
            "passing": 0,
            "status": "fail",
            "sample": "dim",
            "signature": "export|cross",
            "ops": None,
        },
        "dynamo": {"passing": 2, "status": "pass", "sample": None, "signature": None, "ops": "Mul Sub"},
    }
    rows = [{**made, "exporter": exporter, **ended} for exporter, ended in ends.items()]
    (home / "cases" / "operators").mkdir(parents=True)
    (home / "cases" / "operators" / "operators.py").touch()
    writer.write_rows(home / "results" / "operators" / "operators.parquet", "operators", rows)
