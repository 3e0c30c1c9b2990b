"""Operator tables that torch and onnx carry themselves, as the measured environments wrote them down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import versions


def gather(local: Path) -> Iterator[dict[str, Any]]:
    """Rows of ``DECLARED`` from a local dataset's JSON files; one that cannot be read is as if it were not there."""
    for path in sorted((local / "declared").glob("torch-*.json")):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            made = [_row(told, *row) for row in told["rows"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        yield from made


def _row(told: dict[str, Any], by: str, op: str, opsets: Sequence[int]) -> dict[str, Any]:
    version = f"onnx {told['onnx']}" if by == "onnx" else f"torch {told['torch']}"
    return {"release": told["release"], "by": by, "version": version, "op": op, "opsets": _spans(opsets)}


def _spans(opsets: Sequence[int]) -> str:
    """``7-9,11``."""
    spans = versions.spans(opsets, range(min(opsets), max(opsets) + 1))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
