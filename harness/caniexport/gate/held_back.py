"""Cells that are not published before they were measured apart and twice (:mod:`caniexport.measure.apart`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caniexport.gate.rules import read_rules
from caniexport.gate.staging import Staging


def cells_to_settle(published: Path, local: Path) -> list[str]:
    """Names (``torch/case/variant/exporter/opset``) of the cells that break a rule which that settles."""
    with Staging.open(published, local) as staging:
        gone, doubtful = staging.settle()
        cells = (flaw for flaw in (*gone, *doubtful) if flaw.file.startswith("cells/"))
        return list(dict.fromkeys(flaw.label for flaw in cells if flaw.rule.settles))


def moved_cells(published: Path, local: Path, torch: str) -> list[str]:
    """Names of the local cells of a release that came out otherwise than they were published."""
    with Staging.open(published, local, torch=torch) as staging:
        return [place["label"] for (place,) in staging.fetch(read_rules()["moved"].query)]


def differing_variants(environment: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """(case, variant, exporter) of which a run's A/A sample saw a cell differ."""
    names = (line.partition(": ")[0].split("/") for line in environment["differing"] or ())
    return {(case, variant, exporter) for case, variant, exporter, _ in names}
