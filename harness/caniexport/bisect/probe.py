"""One version looked at: its row from a dataset, or measured in an environment that is removed again.

What a bisection measures stays in ``results-bisect/<package>-<version>`` beside the local dataset, each version a
dataset of its own: asked again, also after a kill, it is not measured again, and nothing of it is ever published.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.home import Home
from caniexport.model import releases
from caniexport.profiles import NEWEST_PACKAGES, find_profile
from caniexport.store import Dataset

_COLUMNS = (
    *("measured_at", "torch", "env_id", "case_hash", "message_id", "origin", "status", "stage", "signature"),
    *("exporter_effective", "opset_effective"),
)
#: statuses that say nothing about the version
_SILENT = ("invalid", "not_run", "skip")


@dataclass(frozen=True)
class BisectedCell:
    """The cell that is followed along an axis; ``torch`` is the release held fixed where the axis is another."""

    case: str
    variant: str
    case_hash: str
    exporter: str
    opset: int | None
    axis: str
    torch: str = ""


@dataclass(frozen=True)
class ProbedVersion:
    """What a version gave; ``origin`` is published, local or measured (now or by an earlier bisection).

    A version that could not be measured has no ``status`` and the reason as its ``message``.
    """

    version: str
    origin: str
    status: str = ""
    stage: str = ""
    signature: str = ""
    message: str = ""
    exporter_effective: str = ""
    opset_effective: int | None = None
    packages: Mapping[str, str] | None = None

    @property
    def works(self) -> bool:
        """Whether a user's model works there."""
        return self.status in ("pass", "degraded")

    @property
    def first(self) -> str:
        """The first line of its message."""
        return next(iter(self.message.strip().splitlines()), "")

    @property
    def text(self) -> str:
        """``fail at export``; ``pass, opset 18 by dynamo`` where a file came of it."""
        if not self.status:
            return "could not be measured"
        said = self.status if self.stage == "done" else f"{self.status} at {self.stage}"
        opset = f"opset {self.opset_effective} by {self.exporter_effective}" if self.opset_effective else ""
        return f"{said}, {opset}" if opset else said


def known(dataset: Dataset, asked: BisectedCell) -> dict[str, ProbedVersion]:
    """Outcomes by version, from rows of the same case code; the newest row of each version is used.

    Of the profiles beside the dataset those count whose packages differ on the axis alone.
    """
    swaps = [name for name in dataset.profiles() if name.startswith(f"{asked.axis}-")]
    rows = {key: row for name in swaps for key, row in _known(dataset.of(name), asked).items()}
    return {**rows, **_known(dataset, asked)}


def _known(dataset: Dataset, asked: BisectedCell) -> dict[str, ProbedVersion]:
    where: dict[str, tuple[Any, ...]] = {
        **{name: (getattr(asked, name),) for name in ("case", "variant", "exporter", "opset")},
        **({"torch": (asked.torch,)} if asked.torch else {}),
        "provider": ("cpu",),
    }
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in dataset.select(_COLUMNS, where, runtimes=True)]
    found = {}
    for row in sorted(rows, key=lambda row: row["measured_at"] or 0):
        if row["case_hash"] != asked.case_hash or row["status"] in _SILENT:
            continue
        packages = _packages(dataset, row["env_id"])
        version = versions.public(packages.get(asked.axis) or row["torch"])
        found[version] = ProbedVersion(
            version,
            row["origin"],
            row["status"],
            row["stage"],
            row["signature"] or "",
            dataset.message(row["message_id"] or "") or "",
            row["exporter_effective"] or "",
            row["opset_effective"],
            packages,
        )
    return found


@dataclass(frozen=True)
class Prober:
    """Measures one version after the other; ``disk_budget`` is in bytes, ``timeout`` seconds a cell."""

    home: Home
    asked: BisectedCell
    disk_budget: int
    timeout: float
    say: Callable[[str], None]

    def kept(self, version: str) -> ProbedVersion | None:
        """What an earlier bisection measured."""
        found = known(Dataset.open(None, self._local(version)), self.asked).get(version)
        return None if found is None else replace(found, origin="measured")

    def measure(self, version: str) -> ProbedVersion:
        """Make the environment, measure the cell, remove the environment."""
        from caniexport.measure.cells import measure
        from caniexport.measure.job import MeasureOptions

        asked = self.asked
        release = releases.find(asked.torch or version)._replace(torch=asked.torch or version)
        local = self._local(version)
        local.mkdir(parents=True, exist_ok=True)
        options = MeasureOptions(
            # environments of its own: those of `measure` stay as they are
            home=replace(self.home, root=folder(self.home), local=local),
            releases=(release,),
            cases=(f"{asked.case}/{asked.variant}",),
            exporters=(asked.exporter,),
            opsets=release.with_sure([] if asked.opset is None else [asked.opset], [asked.exporter]),
            workers=1,
            fresh=True,
            rolling=True,
            disk_budget=self.disk_budget,
            timeout=self.timeout,
            tables=False,
            profile=NEWEST_PACKAGES if asked.axis == "torch" else find_profile(f"{asked.axis}-{version}"),
        )
        reports = measure(options, self.say)
        problem = next((report.problem for report in reports if report.problem), "")
        return self.kept(version) or ProbedVersion(version, "measured", message=problem or "its run left no row")

    def _local(self, version: str) -> Path:
        held = f"-torch-{self.asked.torch}" if self.asked.torch else ""
        return folder(self.home) / f"{self.asked.axis}-{version}{held}"


def folder(home: Home) -> Path:
    """Where bisections keep their environments and rows: beside the local dataset, whose readers never look there."""
    return home.local.with_name("results-bisect")


def _packages(dataset: Dataset, env_id: str) -> dict[str, str]:
    """What is installed in an environment, and its Python."""
    found = dataset.records("environments", {"env_id": (env_id,)})
    return {**json.loads(found[0]["packages"] or "{}"), "python": found[0]["python"]} if found else {}
