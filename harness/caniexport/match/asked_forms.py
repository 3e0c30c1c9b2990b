"""In which form a question calls an operator: with ``out=``, in place, with a dynamic axis, with a number of Python."""

from __future__ import annotations

import re

_NUMBER, _DECIMAL = r"-?\d+(?![\w.])", r"-?\d+\.\d*(?!\w)"
_SIGN = r"(?:\*\*|//|[-+*/%]|[<>]=?|[!=]=)"
#: a tensor beside a sign, which is neither a version's package nor an opset
_TENSOR = r"(?<![\w.])(?!(?:torch|opset|onnx|python|numpy)\b)[A-Za-z_][\w.]*"
#: the forms as the summary of operators has them, with what says so
_FORMS = (
    ("out", re.compile(r"(?<![\w.])out\s*=(?!=)|\bout\s+(?:argument|variant|keyword)\b")),
    ("dynamic", re.compile(r"\bdynamic(?:ally)?\b", re.IGNORECASE)),
    ("inplace", re.compile(r"\.[a-z]\w*[a-z\d]_(?=\()|\bin-?\s?place\b", re.IGNORECASE)),
    ("bool-right", re.compile(r",\s*(?:True|False)\s*\)")),
    ("bool-left", re.compile(r"\(\s*(?:True|False)\s*,")),
    ("int-right", re.compile(rf",\s*{_NUMBER}\s*\)|{_TENSOR}\s*{_SIGN}\s*{_NUMBER}")),
    ("int-left", re.compile(rf"\(\s*{_NUMBER}\s*,|(?<![\w.]){_NUMBER}\s*{_SIGN}\s*{_TENSOR}")),
    ("float-right", re.compile(rf",\s*{_DECIMAL}\s*\)|{_TENSOR}\s*{_SIGN}\s*{_DECIMAL}")),
    ("float-left", re.compile(rf"\(\s*{_DECIMAL}\s*,|(?<![\w.]){_DECIMAL}\s*{_SIGN}\s*{_TENSOR}")),
)


def read_forms(query: str) -> tuple[str, ...]:
    """The forms that a query speaks of."""
    return tuple(form for form, pattern in _FORMS if pattern.search(query))
