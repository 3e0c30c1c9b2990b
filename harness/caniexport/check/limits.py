"""What a check cannot judge: a file that ended for how it was fed says nothing about the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caniexport.model.status import Status

#: what a run says that ends for how it was fed, and why
_LIMITS = {
    "the file takes ": "the file's inputs could not be told from one another, so that it was not run",
    "Actual: (tensor(float)) , expected: (tensor(double))": (
        "a Python number is an input of the file, in double precision, and could only be fed in single"
    ),
}


def limit(message: str) -> str:
    """Why a cell says nothing about the model; empty where it does."""
    return next((f"{why}: a limit of this check" for text, why in _LIMITS.items() if text in message), "")


def told_as_measured(row: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """A row as it is kept: one that ended for a limit of the check was left out, and did not fail."""
    is_ours = row["status"] == Status.FAIL.value and bool(limit(texts.get(row.get("message_id") or "", "")))
    return {**row, "status": Status.SKIP.value} if is_ours else dict(row)
