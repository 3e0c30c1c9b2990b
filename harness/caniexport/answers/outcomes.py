"""How every variant of a case ends, cell by cell, in few lines: what a program looks one point up in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caniexport import versions
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS
from caniexport.store import Dataset

#: characters of a message's line
_LONGEST = 160
#: what onnxruntime says before the reason of a node that fails
_RUNNING = re.compile(
    r"(?:\[ONNXRuntimeError\] : \d+ : \w+ : )?"
    r"Non-zero status code returned while running (\w+) node\. Name:'[^']*' Status Message: "
)
#: what a kept message puts before each exception that another one wraps, the innermost last
CAUSED = "caused by "
_BY = ("case", "variant", "exporter", "stage", "status", "torch", "signature", "message_id")


@dataclass(frozen=True)
class EndingAlike:
    """A variant with an exporter ends alike on these releases at these opsets, on the cpu.

    An opset is ``None`` for the release's own; ``message`` is an index into :attr:`EveryOutcome.messages`.
    """

    status: str
    stage: str
    message: int | None
    torch: tuple[str, ...]
    opsets: tuple[int | None, ...]


@dataclass(frozen=True)
class EveryOutcome:
    """How a case ends wherever it was measured, by variant and exporter; every cell is in one outcome.

    ``messages`` are lines that say why. One stands for all of its error (its signature), which differ in their numbers.
    """

    outcomes: dict[str, dict[str, list[EndingAlike]]]
    messages: tuple[str, ...]


def outcomes(dataset: Dataset, cases: Collection[str]) -> dict[str, EveryOutcome]:
    """By case: its outcomes, the failing form's first; a case without cells has none."""
    rows = dataset.grouped(_BY, {"opsets": "list(opset ORDER BY opset)"}, {"case": tuple(cases), "provider": ("cpu",)})
    told = _first_causes(dataset, rows)
    ends: dict[str, dict[tuple[Any, ...], dict[str, list[int | None]]]] = {case: {} for case in cases}
    for case, *alike, torch, signature, message, opsets in rows:
        by_torch = ends[case].setdefault((*alike, told.get((case, signature or message), "")), {})
        by_torch.setdefault(torch, []).extend(opsets)
    return {case: _outcomes(_alike_releases(found)) for case, found in ends.items()}


def _first_causes(dataset: Dataset, rows: Sequence[tuple[Any, ...]]) -> dict[tuple[str, str], str]:
    """By case and error: the line that says why, of its message that was seen first."""
    first: dict[tuple[str, str], tuple[Any, ...]] = {}
    for case, *_, torch, signature, message, opsets in rows:
        if message:
            seen = versions.parse(torch), opsets[0] or 0, message
            first[case, signature or message] = min(seen, first.get((case, signature or message), seen))
    known = dataset.messages(message for *_, message in first.values())
    return {error: short_cause(known.get(message, "")) for error, (*_, message) in first.items()}


def _alike_releases(
    ends: Mapping[tuple[Any, ...], Mapping[str, Sequence[int | None]]],
) -> dict[tuple[Any, ...], list[str]]:
    """The releases in which the same ends at the same opsets."""
    made: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for alike, by_torch in ends.items():
        for torch, opsets in by_torch.items():
            made[*alike, tuple(sorted(opsets, key=lambda opset: (opset is None, opset or 0)))].append(torch)
    return made


def cause_line(text: str) -> str:
    """The line of a message that says why: of a chain of causes the innermost's first, without what wraps it; of a
    traceback the last.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    inner = [line.removeprefix(CAUSED) for line in lines if line.startswith(CAUSED)]
    if lines and lines[0].startswith("Traceback ("):
        return lines[-1]
    return inner[-1] if inner else lines[0] if lines else ""


def short_cause(text: str, longest: int = _LONGEST) -> str:
    """That line; of one that is long, what onnxruntime puts before the reason is left out, then it is cut."""
    line = cause_line(text)
    if len(line) > longest:
        line = _RUNNING.sub(r"\1: ", line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _outcomes(releases: dict[tuple[Any, ...], list[str]]) -> EveryOutcome:
    ordered = sorted(releases.items(), key=_reading_order)
    messages = tuple(dict.fromkeys(message for (*_, message, _), _ in ordered if message))
    numbers = {message: number for number, message in enumerate(messages)}
    told: dict[str, dict[str, list[EndingAlike]]] = {}
    for (variant, exporter, stage, status, message, opsets), torch in ordered:
        alike = EndingAlike(status, stage, numbers.get(message), tuple(versions.ordered(torch)), opsets)
        told.setdefault(variant, {}).setdefault(exporter, []).append(alike)
    return EveryOutcome(told, messages)


def _reading_order(item: tuple[tuple[Any, ...], list[str]]) -> tuple[Any, ...]:
    (variant, exporter, _, status, _, opsets), torch = item
    numbers = tuple(opset or 0 for opset in opsets)
    first = versions.parse(versions.ordered(torch)[0])
    return variant != PLAIN, variant, EXPORTERS.index(exporter), first, numbers, status
