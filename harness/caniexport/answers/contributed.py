"""Runs that others measured and handed in: whose they are, how their files ended, and whether a sample agrees."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caniexport.store import Dataset


@dataclass(frozen=True)
class ContributedRun:
    """A run with its contributor.

    files     that it ran, probes and canaries counted; ``statuses`` of these
    repeated  files that were run here too, ``differing`` those of them that ended otherwise
    gate      ``good`` where its rows are used like our own
    """

    contributor: str
    contributed_from: str
    runtime: str
    version: str
    provider: str
    device: str
    platform: str
    run_id: str
    measured_at: str
    files: int
    statuses: dict[str, int]
    repeated: int
    differing: tuple[str, ...]
    gate: str


def contributed_runs(dataset: Dataset) -> list[ContributedRun]:
    """Every run of bundles that somebody else measured, the newest first."""
    found = []
    for environment in dataset.records("environments"):
        if not environment["contributor"]:
            continue
        rows = dataset.records("runs", {"run_id": (environment["run_id"],), "env_id": (environment["env_id"],)})
        if not rows:
            continue
        first = rows[0]
        run = ContributedRun(
            contributor=environment["contributor"],
            contributed_from=environment["contributed_from"] or "",
            runtime=first["runtime"],
            version=first["runtime_version"] or "",
            provider=first["provider"],
            device=first["device"] or "",
            platform=environment["platform"] or "",
            run_id=environment["run_id"],
            measured_at=str(environment["measured_at"]),
            files=len(rows),
            statuses=dict(sorted(Counter(row["status"] for row in rows).items())),
            repeated=environment["repeated"] or 0,
            differing=tuple(environment["differing"] or ()),
            gate=environment["gate"] or "",
        )
        found.append(run)
    return sorted(found, key=lambda run: run.measured_at, reverse=True)
