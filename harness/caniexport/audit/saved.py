"""The last audit in the published dataset: written by ``audit --save``, shown on the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.audit.run import ReleaseAudit
from caniexport.store import Dataset, digests, writer

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True)
class LastAudit:
    """The audit that the dataset keeps; ``differing`` has a line for each cell that was not as published."""

    measured_at: datetime
    seed: int
    releases: tuple[str, ...]
    cells: int
    agreeing: int
    differing: tuple[str, ...]


def audit_rows(found: Sequence[ReleaseAudit]) -> list[dict[str, Any]]:
    """A row of the table ``audit`` for each release."""
    return [
        {
            "torch": item.torch,
            "measured_at": item.measured_at,
            "seed": item.seed,
            "cells": item.cells,
            "agreeing": item.agreeing,
            "differing": list(item.lines),
        }
        for item in found
    ]


def save_audit(published: Path, found: Sequence[ReleaseAudit]) -> None:
    """Keep the result, durably, in the place of the one before."""
    with digests.update_manifest(published):
        writer.write_rows(published / "audit.parquet", "audit", audit_rows(found))


def read_last_audit(dataset: Dataset) -> LastAudit | None:
    """The audit that a dataset keeps; ``None`` where it keeps none."""
    kept = {row["torch"]: row for row in dataset.records("audit")}
    ordered = [kept[release] for release in versions.ordered(kept)]
    if not ordered:
        return None
    return LastAudit(
        max(row["measured_at"] for row in ordered),
        ordered[-1]["seed"],
        tuple(row["torch"] for row in ordered),
        sum(row["cells"] for row in ordered),
        sum(row["agreeing"] for row in ordered),
        tuple(line for row in ordered for line in row["differing"]),
    )
