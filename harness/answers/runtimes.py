"""Runtime releases side by side: what each takes (measured with probes), and how the same bundles end on it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from harness import node_tests, probes, versions
from harness.answers.rows import plain_values
from harness.worker.status import WORKS, Stage

if TYPE_CHECKING:
    from harness.store import Dataset

_WORKS = frozenset(status.value for status in WORKS)


class Refusal(StrEnum):
    """Why a runtime did not load a file."""

    IR = "IR version too new"
    OPSET = "opset too new"
    KERNEL = "no kernel for the type"
    OPERATOR = "unknown operator or domain"
    MODEL = "invalid model"
    OTHER = "another reason"


#: first match counts; onnxruntime's own words (the signature has numbers and names stripped)
_WORDS: tuple[tuple[str, Refusal], ...] = (
    (r"Unknown model file format version", Refusal.IR),
    (r"Unsupported model IR version|IR version .* (?:higher|not supported)", Refusal.IR),
    (r"official released onnx opset|opset .* (?:under development|not supported)", Refusal.OPSET),
    (r"Could not find an implementation for|NOT_IMPLEMENTED|NotImplemented\|", Refusal.KERNEL),
    (r"is not a registered function/op|No Op registered|No opset import for domain", Refusal.OPERATOR),
    (r"INVALID_GRAPH|InvalidGraph\||Type Error|ShapeInferenceError|not a valid model|invalid model", Refusal.MODEL),
)


def refusal(stage: str, signature: str | None) -> Refusal | None:
    """Why a file was not loaded; ``None`` for a row that came further."""
    if stage not in (Stage.LOAD.value, Stage.PARSE.value, Stage.BUILD.value):
        return None
    return next((cause for words, cause in _WORDS if re.search(words, signature or "")), Refusal.OTHER)


@dataclass(frozen=True)
class RuntimeLine:
    """One release of a runtime on one provider.

    max_opset, max_ir  the highest that a probe passes with; ``None`` where none passes or none was run
    bundles   how many exported files (or node tests) it has run, probes not counted
    statuses  of these, by status
    refusals  of those that it did not load, by reason
    local     whether rows of this machine are among them
    """

    runtime: str
    version: str
    provider: str
    device: str
    max_opset: int | None
    max_ir: int | None
    bundles: int
    statuses: dict[str, int]
    refusals: dict[str, int]
    local: bool


def runtimes(dataset: Dataset, corpus: str = "") -> list[RuntimeLine]:
    """Every release of a runtime that has run bundles, oldest first.

    corpus  ``onnx-node`` counts ONNX's own tests, those that are marked left out; else they are not among the files
    """
    names = ("runtime", "runtime_version", "provider", "device", "corpus", "case", "variant", "stage", "status")
    frame = dataset.runs(columns=[*names, "signature"])
    grouped: dict[tuple[Any, ...], list[_Row]] = defaultdict(list)
    values = zip(*plain_values(frame, (*names, "signature", "origin")), strict=True)
    for runtime, version, provider, device, *rest in values:
        row = _Row(*rest)
        if _counts(row, corpus):
            grouped[runtime, version, provider, device].append(row)
    keys = sorted(grouped, key=lambda key: (key[0], key[2], versions.parse(key[1] or "0"), key[3] or ""))
    lines = [_line(key, grouped[key]) for key in keys]
    return [line for line in lines if line.bundles] if corpus else lines


def _counts(row: _Row, corpus: str) -> bool:
    if row.corpus in (probes.CORPUS, None):
        return True
    if row.corpus != node_tests.CORPUS:
        return not corpus
    return corpus == node_tests.CORPUS and not node_tests.about(row.variant or "").mark


@dataclass(frozen=True)
class _Row:
    corpus: str | None
    case: str | None
    variant: str | None
    stage: str
    status: str
    signature: str | None
    origin: str


def _line(key: tuple[Any, ...], rows: list[_Row]) -> RuntimeLine:
    runtime, version, provider, device = key
    files = [row for row in rows if row.corpus != probes.CORPUS and row.case is not None]
    refused = Counter(cause.value for row in files if (cause := _refused(row)) is not None)
    return RuntimeLine(
        runtime,
        version or "",
        provider,
        device or "",
        _highest(rows, probes.OPSET),
        _highest(rows, probes.IR),
        len(files),
        dict(Counter(row.status for row in files)),
        dict(refused),
        any(row.origin == "local" for row in rows),
    )


def _refused(row: _Row) -> Refusal | None:
    return refusal(row.stage, row.signature) if row.status not in _WORKS else None


def _highest(rows: Iterable[_Row], case: str) -> int | None:
    passed = [probes.number(row.variant or "") for row in rows if row.case == case and row.status in _WORKS]
    return max(passed, default=None)
