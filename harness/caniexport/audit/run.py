"""The audit: draw cells, measure them again release by release, hold what is found against what is published."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.audit.environments import make_environment, measure_cells
from caniexport.audit.judge import AuditDifference, ScriptOutcome, find_difference
from caniexport.audit.sample import PublishedCell, draw_sample, read_published
from caniexport.home import DOCUMENTED, Home
from caniexport.machine.disk import require_room
from caniexport.model import releases
from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import EnvironmentUnavailable, UnknownName
from caniexport.model.made_cases import OPERATORS
from caniexport.reproduce.write import name_export_function
from caniexport.store import Dataset

_LOST = ScriptOutcome("eager", "invalid", "Lost", "the script ended before it came to this cell")


@dataclass(frozen=True)
class AuditOptions:
    """What is asked for; empty ``releases`` are all that are published. ``timeout`` is in seconds a cell."""

    home: Home
    corpus: str = DOCUMENTED
    cells: int = 300
    seed: int = 0
    releases: tuple[str, ...] = ()
    workers: int = 2
    timeout: float = 60.0

    @property
    def has_local_rows(self) -> bool:
        """Whether the corpus is one whose rows stay where they were measured: torch's operators."""
        return self.corpus == OPERATORS


@dataclass(frozen=True)
class ReleaseAudit:
    """One release of the sample; ``problem`` says why none of its cells could be measured, empty where they were."""

    torch: str
    measured_at: datetime
    seed: int
    cells: int
    differing: tuple[AuditDifference, ...]
    problem: str = ""

    @property
    def agreeing(self) -> int:
        """Cells that are as they are published."""
        return 0 if self.problem else self.cells - len(self.differing)

    @property
    def summary(self) -> str:
        """``torch 2.8.0: 30 of 30 cells agree``."""
        ended = f"not audited: {self.problem}" if self.problem else f"{self.agreeing} of {self.cells} cells agree"
        return f"torch {self.torch}: {ended}"

    @property
    def row(self) -> dict[str, Any]:
        """The row of the table ``audit``; ``differing`` has a line for each cell that is not as published."""
        lines = [item.text for item in self.differing] or [self.problem] * bool(self.problem)
        row = {name: getattr(self, name) for name in ("torch", "measured_at", "seed", "cells", "agreeing")}
        return {**row, "differing": lines}


def audit(options: AuditOptions, say: Callable[[str], None]) -> list[ReleaseAudit]:
    """Measure a sample of the published cells again; a release that has no environment here does not stop the others.

    Raises :class:`UnknownName` for a release without published cells, before anything is made.
    """
    home = options.home.of_corpus(options.corpus)
    dataset = Dataset.open(None, home.local) if options.has_local_rows else Dataset.open(home.published, None)
    corpus = home.read_cases()
    sample = _sample(dataset, corpus, options)
    by_release: dict[str, list[PublishedCell]] = {}
    for cell in sample:
        by_release.setdefault(cell.torch, []).append(cell)
    with tempfile.TemporaryDirectory(prefix="caniexport-audit-", ignore_cleanup_errors=True) as folder:
        found = []
        for release in versions.ordered(by_release):
            say(f"torch {release}: {len(by_release[release])} cells, making an environment")
            require_room(Path(folder))
            found.append(_release(dataset, corpus, options, release, by_release[release], Path(folder)))
            say(found[-1].summary)
    return found


def _sample(dataset: Dataset, corpus: Mapping[str, LoadedCase], options: AuditOptions) -> list[PublishedCell]:
    have = [torch for (torch,) in dataset.grouped(("torch",), {}, {"provider": ("cpu",)}) if torch]
    if not have:
        home = options.home.of_corpus(options.corpus)
        where = f"{home.local} has no cells" if options.has_local_rows else f"{home.published} has no published cells"
        raise UnknownName(f"{where}: there is nothing to audit")
    wanted = [versions.resolve(text, have) for text in options.releases] or have
    kept: list[PublishedCell] = []
    for release in wanted:
        # no more than the sample can take of one release: the whole dataset would be a million rows
        kept += draw_sample(read_published(dataset, release, corpus), options.cells, options.seed)
    return draw_sample(kept, options.cells, options.seed)


def _release(
    dataset: Dataset,
    corpus: Mapping[str, LoadedCase],
    options: AuditOptions,
    release: str,
    cells: Sequence[PublishedCell],
    folder: Path,
) -> ReleaseAudit:
    asked = [
        {
            "file": str(corpus[cell.case].path.resolve()),
            "export": name_export_function(corpus[cell.case].variants[cell.variant], cell.exporter, release),
            **{name: getattr(cell, name) for name in ("case", "variant", "opset")},
        }
        for cell in cells
    ]
    problem, differing = "", []
    try:
        with make_environment(releases.find(release), folder, folder / "downloads") as python:
            ends = measure_cells(python, asked, folder, options.timeout, options.workers, options.corpus)
        if any(ends):
            texts = dataset.messages(cell.message_id for cell in cells)
            both = [
                (cell, texts.get(cell.message_id or "", ""), end or _LOST)
                for cell, end in zip(cells, ends, strict=True)
            ]
            differing = [found for cell, text, end in both if (found := find_difference(cell, text, end))]
        else:
            problem = "the script measured nothing in this environment: torch, onnx or onnxruntime does not import"
    except (EnvironmentUnavailable, UnknownName) as error:
        problem = f"no environment: {error}"
    return ReleaseAudit(release, datetime.now(UTC), options.seed, len(cells), tuple(differing), problem)
