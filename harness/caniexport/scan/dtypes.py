"""The types of tensors that code names, and that its author speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from caniexport.operators import DTYPE_WORDS, dtypes_of

_METHODS = "half|double|bfloat16|long|int|byte|bool"
_CODE = re.compile(rf"\btorch\.(?P<dtype>{'|'.join(DTYPE_WORDS)})\b|\.(?P<method>{_METHODS})\(\)")
#: a word that is no other word of a sentence, or stands before what has a type
_SAID = re.compile(
    r"\b(?P<word>b?fp?(?:16|64)|bfloat16|u?int(?:8|16|32|64)|float(?:16|64)|half(?=[- ]precision|\s+tensor)"
    r"|(?:bool(?:ean)?|int|long|double)(?=s?\s+(?:tensor|mask|input)))",
    re.IGNORECASE,
)


def types_in_code(code: str) -> frozenset[str]:
    """The types that code makes tensors of."""
    return _types(found["dtype"] or found["method"] for found in _CODE.finditer(code))


def types_said(text: str) -> frozenset[str]:
    """The types that somebody speaks of."""
    return _types(found["word"] for found in _SAID.finditer(text))


def _types(words: Iterable[str]) -> frozenset[str]:
    return frozenset(dtype for word in words for dtype in dtypes_of(word))
