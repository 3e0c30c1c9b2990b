"""In which form a question calls an operator: with ``out=``, in place, with a dynamic axis, with a number of Python."""

from __future__ import annotations

import re

_NUMBER, _DECIMAL = r"-?\d+(?![\w.])", r"-?\d+\.\d*(?!\w)"
_SIGN = r"(?:\*\*|//|[-+*/%&|]|[<>]=?|[!=]=|(?:divided|multiplied)\s+(?:by|with)|modulo)"
#: what stands behind a tensor, in words
_BESIDE = r"\b(?:with|by|and|than|to)\s+an?\s+(?:python\s+)?"
_NO_TENSOR = r"\b(?!\s+(?:tensor|mask|input|axis|dim|model|dtype|output)|\d|-)"
#: a tensor beside a sign, which is neither a version's package nor an opset
_TENSOR = r"(?<![\w.])(?!(?:torch|opset|onnx|python|numpy)\b)[A-Za-z_][\w.]*"
_BEHIND_TENSOR = rf"(?:{_TENSOR}(?:\([^()]*\))?|\))"
#: the forms as the summary of operators has them, with what says so
_FORMS = (
    ("out", re.compile(r"(?<![\w.])out\s*=(?!=)|\bout\s+(?:argument|variant|keyword)\b")),
    ("dynamic", re.compile(r"\bdynamic(?:ally)?\b", re.IGNORECASE)),
    ("inplace", re.compile(r"(?<!\w)[a-z]\w*[a-z\d]_(?=\()|\bin-?\s?place\b", re.IGNORECASE)),
    (
        "bool-right",
        re.compile(
            rf",\s*(?:True|False)\s*\)|{_BEHIND_TENSOR}\s*{_SIGN}\s*(?:True|False)\b|{_BESIDE}bool(?:ean)?{_NO_TENSOR}"
        ),
    ),
    ("bool-left", re.compile(rf"\(\s*(?:True|False)\s*,|\b(?:True|False)\s*{_SIGN}\s*{_TENSOR}")),
    (
        "int-right",
        re.compile(rf",\s*{_NUMBER}\s*\)|{_BEHIND_TENSOR}\s*{_SIGN}\s*{_NUMBER}|{_BESIDE}int(?:eger)?{_NO_TENSOR}"),
    ),
    ("int-left", re.compile(rf"\(\s*{_NUMBER}\s*,|(?<![\w.]){_NUMBER}\s*{_SIGN}\s*{_TENSOR}")),
    (
        "float-right",
        re.compile(rf",\s*{_DECIMAL}\s*\)|{_BEHIND_TENSOR}\s*{_SIGN}\s*{_DECIMAL}|{_BESIDE}float{_NO_TENSOR}"),
    ),
    ("float-left", re.compile(rf"\(\s*{_DECIMAL}\s*,|(?<![\w.]){_DECIMAL}\s*{_SIGN}\s*{_TENSOR}")),
)


def read_forms(query: str) -> tuple[str, ...]:
    """The forms that a query speaks of."""
    return tuple(form for form, pattern in _FORMS if pattern.search(query))
