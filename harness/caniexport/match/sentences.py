"""Sentences of torch's own that are said of one operator and do not name it, and attributes of ONNX's standard that one
operator alone has (``cases/sentences.txt``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from caniexport import home

_NAME = "sentences.txt"
#: words of a part that are looked up: its first word may be the end of another one
_FIRST, _LAST = 1, 3
#: a part of a sentence, and the operators that it is said of
Part = tuple[str, tuple[str, ...]]


def read_parts() -> tuple[Part, ...]:
    """The parts of sentences with their operators, and the attributes with theirs."""
    lines = (line.partition("\t") for line in home.packaged_list(_NAME).splitlines())
    return tuple((part, tuple(ops.split())) for ops, _, part in lines)


def normal(text: str) -> str:
    """A text in lower case, in one line."""
    return " ".join(text.split()).casefold()


def anchor(part: str) -> str:
    """Two words of a part by which it is looked up; an attribute is its own, and a part of too few words has none."""
    words = part.split()
    return " ".join(words[_FIRST:_LAST]) if len(words) > _LAST else part if len(words) == 1 else ""


def index_parts(parts: Iterable[Part]) -> Mapping[str, tuple[Part, ...]]:
    """Parts by their anchors."""
    found: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        found[anchor(part[0])].append(part)
    return {words: tuple(each) for words, each in found.items()}


def find_parts(index: Mapping[str, tuple[Part, ...]], text: str) -> Iterator[Part]:
    """The parts that a normal text has."""
    words = text.split()
    for pair in dict.fromkeys(map(" ".join, pairwise(words))):
        yield from (part for part in index.get(pair, ()) if part[0] in text)
