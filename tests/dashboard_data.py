"""A small published dataset for the dashboard's tests, written by the store's own writer: four releases, one case for
each thing that a page must tell apart, and texts that would do harm if they were taken as HTML.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from caniexport.model.messages import make_signature
from caniexport.model.rows import MEASURING_VERSION
from caniexport.store import writer
from caniexport.store.onnx_graph import Graph, Node

RELEASES = ("1.10.2", "2.0.1", "2.8.0", "2.15.0")
OPSETS = {"1.10.2": range(9, 16), "2.0.1": range(9, 18), "2.8.0": range(9, 21), "2.15.0": range(9, 21)}
OWN_OPSET = {"1.10.2": 9, "2.0.1": 14, "2.8.0": 17, "2.15.0": 18}
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
CROSS = "Exporting the operator cross to ONNX opset version {} is not supported"
#: the error of a release with the packages of its time
OF_ITS_TIME = "onnxscript of that time has no rule for aten.linalg_cross"
#: the case whose exported graphs are kept, and one whose files are known and no graph of them is
DRAWN, UNDRAWN = "cross-no-symbolic", "item-baked"
MARKED_ID = 'a"b<c>&d'

#: case -> (theme, title, fixes by name: kind, note, caution)
CASES: dict[str, tuple[str, str, dict[str, tuple[str, str, bool]]]] = {
    "cross-no-symbolic": (
        "geometry",
        "torch.cross before a convolution is refused",
        {
            "stack_rewrite": ("rewrite", "three slice products, stacked on the same dim", False),
            "exchanged": ("rewrite", "two components exchanged", True),
        },
    ),
    "item-baked": (
        "baking",
        "x[0].item() is baked into the file",
        {"index_rewrite": ("rewrite", "keep it a tensor", False)},
    ),
    "roll-negative": ("indexing", "torch.roll by a negative shift kills the process", {}),
    "only-at-2-8": ("indexing", "a case that one release alone has measured", {}),
    MARKED_ID: ("hostile", HOSTILE, {"fix": ("rewrite", HOSTILE, False)}),
}


def build(root: Path) -> Path:
    """A home in ``root``: an empty cases/ and a published dataset under results/. Gives ``root``."""
    results = root / "results"
    (root / "cases").mkdir(parents=True)
    (results / "cells").mkdir(parents=True)
    texts: dict[str, str] = {}
    for torch in RELEASES:
        rows = [row for case in CASES for row in _rows(torch, case, texts)]
        _write(results / "cells" / writer.cells_file(torch, "cpu"), "cells", rows)
    _write(results / "cells" / writer.cells_file(None, None), "cells", _environment_cells(texts))
    _write(results / "messages.parquet", "messages", [{"message_id": key, "text": text} for key, text in texts.items()])
    _write(results / "environments.parquet", "environments", [_environment(torch) for torch in RELEASES])
    _write(results / "cases.parquet", "cases", [row for case in CASES for row in _catalogue(case)] + _pinned())
    _write(results / "claims.parquet", "claims", _claims())
    _write(results / "graphs.parquet", "graphs", _graphs())
    _write(results / "sources.parquet", "sources", _sources())
    _write(results / "declared.parquet", "declared", _declared())
    _write_period(results / "profiles" / "period")
    return root


def _write_period(results: Path) -> None:
    """What was measured of one release with the packages of its time: dynamo fails at the case of torch.cross."""
    (results / "cells").mkdir(parents=True)
    texts: dict[str, str] = {}
    rows = [row for case in ("cross-no-symbolic", "item-baked") for row in _rows("2.8.0", case, texts)]
    failed = {"status": "fail", "stage": "export", "message_id": _message(OF_ITS_TIME, texts), "bundle": None}
    failed |= {"signature": make_signature("export", "RuntimeError", OF_ITS_TIME)}
    for row in rows:
        if (row["case"], row["variant"], row["exporter"]) == ("cross-no-symbolic", "plain", "dynamo"):
            row |= {**failed, "exporter_effective": None, "opset_effective": None}
    _write(results / "cells" / writer.cells_file("2.8.0", "cpu"), "cells", rows)
    _write(results / "messages.parquet", "messages", [{"message_id": key, "text": text} for key, text in texts.items()])
    _write(results / "cases.parquet", "cases", [row for case in CASES for row in _catalogue(case)])
    environment = _environment("2.8.0")
    packages = {**json.loads(environment["packages"]), "onnxscript": "0.3.2"}
    changed = {"packages": json.dumps(packages), "profile": "period", "as_of": "2025-08-20"}
    _write(results / "environments.parquet", "environments", [{**environment, **changed}])


def _write(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    writer.write_rows(path, table, rows)


def _rows(torch: str, case: str, texts: dict[str, str]) -> list[dict[str, Any]]:
    if case == "only-at-2-8" and torch != "2.8.0":
        return []
    exporters = ["torchscript-trace"] + (["dynamo"] if torch in ("2.8.0", "2.15.0") else [])
    variants = ["plain", *CASES[case][2]]
    found = []
    for variant in variants:
        for exporter in exporters:
            found += [_row(torch, case, variant, exporter, opset, texts) for opset in OPSETS[torch]]
        found.append(_row(torch, case, variant, "default", None, texts))
    return found


def outcome(torch: str, case: str, variant: str, exporter: str, opset: int) -> tuple[str, str, str]:
    """Status, stage and text of a cell."""
    if torch == "1.10.2" and opset == 15:
        return "unsupported", "export", "opset 15 is above what this exporter takes (14)"
    if case == "cross-no-symbolic" and variant == "plain" and torch == "1.10.2":
        return "fail", "export", CROSS.format(opset)
    if case == "cross-no-symbolic" and variant == "exchanged":
        return "mismatch", "eager", "largest difference 1.25"
    if case == "item-baked" and variant == "plain" and exporter != "dynamo":
        return "mismatch", "compare", "largest difference 0.5"
    if case == "item-baked" and torch == "1.10.2" and opset < 11:
        return "fail", "export", "index_put is not supported below opset 11"
    if case == "roll-negative" and torch != "1.10.2":
        return "crash", "export", "killed by SIGSEGV"
    if case == MARKED_ID and (variant == "plain" or torch == "2.0.1"):
        return "fail", "export", HOSTILE
    if exporter == "dynamo" and opset < 18:
        return "degraded", "done", ""
    return "pass", "done", ""


def _row(
    torch: str, case: str, variant: str, exporter: str, opset: int | None, texts: dict[str, str]
) -> dict[str, Any]:
    at = OWN_OPSET[torch] if opset is None else opset
    status, stage, text = outcome(torch, case, variant, exporter, at)
    exported = status in ("pass", "degraded") or stage == "compare"
    return {
        **_common(torch),
        "corpus": "documented",
        "case": case,
        "variant": variant,
        "case_hash": hashlib.sha256(f"{case}/{variant}".encode()).hexdigest()[:16],
        "measuring": MEASURING_VERSION,
        "exporter": exporter,
        "exporter_effective": ("torchscript-trace" if exporter == "default" else exporter) if exported else None,
        "opset": opset,
        "opset_effective": max(at, 18) if status == "degraded" else at if exported else None,
        "ir_version": 8 if exported else None,
        "runtime": "onnxruntime",
        "runtime_version": "1.20.1",
        "provider": "cpu",
        "device": "cpu",
        "stage": stage,
        "status": status,
        "signature": make_signature(stage, "RuntimeError", text) if text else None,
        "message_id": _message(text, texts),
        "max_abs_error": (0.5 if status == "mismatch" else 1e-7) if exported else None,
        "max_rel_error": (0.5 if status == "mismatch" else 1e-7) if exported else None,
        "rtol": 1e-3 if exported else None,
        "atol": 1e-5 if exported else None,
        "node_count": 7 if exported else None,
        "bundle": _bundle(case, variant, exporter) if exported and case in (DRAWN, UNDRAWN) else None,
        "ops": "Mul*6 Sub" if exported else None,
        "facts": json.dumps({"axis": 1}) if exported else None,
        "attempts": 1,
    }


def _bundle(case: str, variant: str, exporter: str) -> str:
    return hashlib.sha256(f"{case}/{variant}/{exporter}".encode()).hexdigest()


def _graphs() -> list[dict[str, Any]]:
    """Of the failing form two pictures that are alike, of its first fix another; of the second there is none."""
    plain = Graph((Node("Sub", ("x", "x"), ("y",), 0),), ("x",), ("y",), {"x": "f32[3]"})
    fixed = Graph((Node("Mul", ("x",), ("m",), 1), Node("Sub", ("m", "x"), ("y",), 0)), ("x",), ("y",), {})
    forms = {"plain": plain, "stack_rewrite": fixed}
    return [
        {"bundle": _bundle(DRAWN, variant, exporter), "nodes": len(graph.nodes), "graph": graph.to_json()}
        for variant, graph in forms.items()
        for exporter in ("torchscript-trace", "dynamo")
    ]


def _common(torch: str) -> dict[str, Any]:
    return {
        "run_id": "20261120T120000-test",
        "measured_at": "2026-11-20T12:00:00+00:00",
        "env_id": f"env-{torch}",
        "torch": torch,
        "python": "3.10.0",
    }


def _message(text: str, texts: dict[str, str]) -> str | None:
    if not text:
        return None
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    texts[key] = text
    return key


def _environment(torch: str) -> dict[str, Any]:
    packages = {"torch": torch, "onnx": "1.16.0", "onnxruntime": "1.20.1", "numpy": "1.26.4"}
    more = {"release": torch, "torch_build": f"{torch}+cpu", "packages": json.dumps(packages), "gate": "good"}
    return {**_common(torch), **more, "platform": "Linux-x86_64", "cpu": "a processor", "planned": 100, "rows": 100}


def _catalogue(case: str) -> list[dict[str, Any]]:
    theme, title, fixes = CASES[case]
    common = {
        "case": case,
        "corpus": "documented",
        "title": title,
        "description": "What is behind it.",
        "theme": theme,
        "records": [case],
        "aten_ops": ["aten::cross"] if theme == "geometry" else ["aten::roll", "aten::roll_"],
        "onnx_ops": ["Mul", "Sub"],
        "sources": ["seed:000", "onnx/onnx#2683", "javascript:alert(1)"],
        "documented": True,
        "changes_values": False,
        "needs_torch": "",
    }
    plain = {"variant": "plain", "kind": "plain", "note": "", "caution": False}
    rows = [plain, *({"variant": name, **_fix(*fix)} for name, fix in fixes.items())]
    return [{**common, **row, "code": f"def forward(self, x):  # {row['variant']}\n    return x"} for row in rows]


def _fix(kind: str, note: str, caution: bool) -> dict[str, Any]:
    return {"kind": kind, "note": note, "caution": caution}


def _pinned() -> list[dict[str, Any]]:
    common = {"case": "numpy-2-breaks", "corpus": "documented", "title": "numpy 2 breaks an old torch"}
    common |= {
        "theme": "versions",
        "sources": ["seed:003"],
        "documented": True,
        "caution": False,
        "changes_values": False,
    }
    plain = {**common, "variant": "plain", "kind": "plain", "code": 'packages = ("torch==1.10.2", "numpy==2.0")'}
    return [plain, {**common, "variant": "older_numpy", "kind": "version-upgrade", "note": "numpy below 2"}]


def _environment_cells(texts: dict[str, str]) -> list[dict[str, Any]]:
    common = {"corpus": "documented", "case": "numpy-2-breaks", "measured_at": "2026-11-20T12:00:00+00:00"}
    common |= {"run_id": "20261120T120000-test", "python": "3.10.0", "measuring": MEASURING_VERSION}
    text = "ImportError: numpy.core.multiarray failed to import"
    return [
        {**common, "variant": "plain", "stage": "import", "status": "fail", "message_id": _message(text, texts)},
        {**common, "variant": "older_numpy", "stage": "done", "status": "pass"},
    ]


def _declared() -> list[dict[str, Any]]:
    common = {"release": "2.15.0", "by": "torchscript", "version": "torch 2.15.0", "opsets": "9-20"}
    return [{**common, "op": "aten::cross"}, {**common, "op": "aten::roll"}]


def _sources() -> list[dict[str, Any]]:
    return [{"source": "onnx/onnx#2683", "kind": "issue", "state": "closed", "as_of": "", "seen": "2026-11-22"}]


def _claims() -> list[dict[str, Any]]:
    cross = {"case": "cross-no-symbolic", "variant": "plain", "record": "cross-no-symbolic", "source": "seed:000"}
    about = {"torch": "==1.10.*", "exporter": "torchscript-trace", "opset": "14", "expects": "{}"}
    cell = ["1.10.2/cross-no-symbolic/plain/torchscript-trace/14"]
    baked = {"case": "item-baked", "variant": "plain", "record": "item-baked", "source": "onnx/onnx#2683"}
    return [
        {"claim": "cross-no-symbolic/1", **cross, **about, "says": "cross is refused at opset 14"}
        | {"outcome": "reproduced", "reason": "1 cell on torch 1.10.2", "cells": cell},
        {"claim": "item-baked/1", **baked, **about, "says": "the export of item() fails", "cells": []}
        | {"outcome": "not-reproduced", "reason": "torch 1.10.2, opset 14: mismatch at compare"},
        {"claim": f"{MARKED_ID}/1", "case": MARKED_ID, "variant": "plain", "source": HOSTILE, "says": HOSTILE}
        | {"record": "", "torch": "", "exporter": "", "opset": "", "expects": "{}", "cells": []}
        | {"outcome": "not-measured", "reason": "needs tensorrt, on which nothing was measured"},
    ]
