"""The last audit in the published dataset: written by ``publish --audit --save``, shown on the pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.audit.run import ReleaseAudit
from caniexport.store import Dataset, digests, writer


def save_audit(published: Path, found: Sequence[ReleaseAudit]) -> None:
    """Keep the result, durably, in the place of the one before."""
    with digests.update_manifest(published):
        writer.write_rows(published / "audit.parquet", "audit", [item.row for item in found])


def read_last_audit(dataset: Dataset) -> list[dict[str, Any]]:
    """The row of each audited release, the oldest first; none where the dataset keeps no audit."""
    kept = {row["torch"]: row for row in dataset.records("audit")}
    return [kept[release] for release in versions.ordered(kept)]
