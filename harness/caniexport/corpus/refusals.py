"""Why a runtime did not load a file: its own words, brought into few reasons."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Stage, Status


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
    (r"No conversion rule found for operations|does not support the following ONNX operations", Refusal.OPERATOR),
    (r"INVALID_GRAPH|InvalidGraph\||Type Error|ShapeInferenceError|not a valid model|invalid model", Refusal.MODEL),
)


@lru_cache(maxsize=4096)
def classify_refusal(stage: str, signature: str | None) -> Refusal | None:
    """Why a file was not loaded; ``None`` for a row that came further."""
    if stage not in (Stage.LOAD.value, Stage.PARSE.value, Stage.BUILD.value):
        return None
    return next((cause for words, cause in _WORDS if re.search(words, signature or "")), Refusal.OTHER)


def is_as_asked(
    status: str, variant: str, asked: tuple[str | None, int | None], written: tuple[str | None, int | None]
) -> bool:
    """Return whether a file has the exporter and the opset that it was asked for.

    ``asked`` and ``written`` are an exporter and an opset; ``None`` agrees with everything. A workaround may ask for
    others itself: only its status counts.
    """
    if status == Status.DEGRADED:
        return False
    if variant != PLAIN or asked[0] == Exporter.DEFAULT:
        return True
    return all(None in pair or pair[0] == pair[1] for pair in zip(asked, written, strict=True))
