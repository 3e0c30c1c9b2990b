"""How every variant of a case ends, cell by cell, in few lines: what a program looks one point up in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from caniexport import versions
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS
from caniexport.store import Dataset

#: characters of a message's line
_LONGEST = 160
_BY = ("case", "variant", "exporter", "stage", "status", "torch", "message_id")


@dataclass(frozen=True)
class EndingAlike:
    """One variant with one exporter ends alike on these releases at these opsets, on the cpu.

    An opset is ``None`` for the release's own; ``message`` is an index into :attr:`EveryOutcome.messages`.
    """

    variant: str
    exporter: str
    status: str
    stage: str
    message: int | None
    torch: tuple[str, ...]
    opsets: tuple[int | None, ...]


@dataclass(frozen=True)
class EveryOutcome:
    """How a case ends wherever it was measured: every cell is in one outcome; ``messages`` are first lines."""

    outcomes: tuple[EndingAlike, ...]
    messages: tuple[str, ...]


def outcomes(dataset: Dataset, cases: Collection[str]) -> dict[str, EveryOutcome]:
    """By case: its outcomes, the failing form's first; a case without cells has none."""
    rows = dataset.grouped(_BY, {"opsets": "list(opset ORDER BY opset)"}, {"case": tuple(cases), "provider": ("cpu",)})
    known = dataset.messages(row[-2] for row in rows)
    releases: dict[str, dict[tuple[Any, ...], list[str]]] = {case: defaultdict(list) for case in cases}
    for case, *alike, torch, message, opsets in rows:
        releases[case][*alike, first_line(known.get(message, "")), tuple(opsets)].append(torch)
    return {case: _outcomes(found) for case, found in releases.items()}


def first_line(text: str) -> str:
    """The first line of a message that has words, cut where it is long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _outcomes(releases: dict[tuple[Any, ...], list[str]]) -> EveryOutcome:
    messages = tuple(dict.fromkeys(message for *_, message, _ in releases if message))
    numbers = {message: number for number, message in enumerate(messages)}
    found = (
        EndingAlike(variant, exporter, status, stage, numbers.get(message), tuple(versions.ordered(torch)), opsets)
        for (variant, exporter, stage, status, message, opsets), torch in releases.items()
    )
    return EveryOutcome(tuple(sorted(found, key=_reading_order)), messages)


def _reading_order(found: EndingAlike) -> tuple[Any, ...]:
    opsets: Iterable[int] = (opset or 0 for opset in found.opsets)
    exporter = EXPORTERS.index(found.exporter)
    return found.variant != PLAIN, found.variant, exporter, versions.parse(found.torch[0]), tuple(opsets), found.status
