"""Operator tables that torch and onnx carry themselves, as the measured environments wrote them down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.model.errors import StoreError
from caniexport.store.entering import check_row


def read_declared(local: Path, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Yield rows of ``DECLARED`` from JSON files of a local dataset; note unusable files in ``problems``."""
    for path in sorted((local / "declared").glob("torch-*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            made = [check_row("declared", _row(content, *row))[0] for row in content["rows"]]
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError) as error:
            problem = f"{path}: cannot be used ({error}); `caniexport measure` of its release writes it anew"
            if problem not in problems:
                problems.append(problem)
            continue
        yield from made


def _row(content: dict[str, Any], by: str, op: str, opsets: Sequence[int]) -> dict[str, Any]:
    version = f"onnx {content['onnx']}" if by == "onnx" else f"torch {content['torch']}"
    spans = versions.spans(opsets, range(min(opsets), max(opsets) + 1))
    shown = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
    return {"release": content["release"], "by": by, "version": version, "op": op, "opsets": shown}
