"""In what the output of calls that end without an error is another one than eager's: its values, shape or dtype."""

from __future__ import annotations

import re
from enum import StrEnum

#: a comparison's signature: what was expected, and what came
_COMPARED = re.compile(
    r"^compare\|\w*\|"
    r"(?:[^:]*: (?P<what>dtype|shape) (?P<expected>\[.*?\]|\w+) expected, \S+ gave (?P<given>\[.*?\]|\w+))?"
)


class WrongOutput(StrEnum):
    """What is another one than eager's. Of a call whose shape or dtype is another, the values may be others, too."""

    VALUES = "values"
    SHAPE = "shape"
    DTYPE = "dtype"


def read_wrong(signature: str | None) -> WrongOutput | None:
    """What is wrong in an output by the signature of its comparison; ``None`` of an error's."""
    found = _COMPARED.search(signature or "")
    return None if found is None else WrongOutput(found["what"] or WrongOutput.VALUES)


def tell_wrong(signature: str | None) -> str:
    """``gives float32 in place of float16``, ``gives another shape``, ``gives wrong values``; empty of an error's."""
    found = _COMPARED.search(signature or "")
    if found is None:
        return ""
    if found["what"] == WrongOutput.DTYPE:
        return f"gives {found['given']} in place of {found['expected']}"
    return "gives another shape" if found["what"] == WrongOutput.SHAPE else "gives wrong values"
