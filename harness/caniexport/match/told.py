"""What each error of a dataset says, read once and kept: to read them all takes seconds, and a command begins anew.

Kept in the user's cache folder (:mod:`caniexport.store.summary`) under everything that the reading depends on: the code
that reads, its lists, Python. Nothing rests on it: what is not kept is read.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from caniexport import home, operators
from caniexport.match import evidence
from caniexport.match.evidence import clauses_of, read_error
from caniexport.model import messages
from caniexport.store import summary

#: what the reading depends on beside the text
_CODE = (evidence, messages, operators)
_LIST = "onnx_operators.txt"
#: of how many times as many texts as are asked for what they say stays kept
_OTHERS = 3


@dataclass(frozen=True)
class ToldError:
    """What an error text says.

    ``operator`` is the one that fails, ``kinds`` the exceptions, ``lines`` the first lines of its reasons with their
    names, ``patterns`` those without that tell enough, ``others`` those that tell too little alone.
    """

    operator: str
    kinds: tuple[str, ...]
    lines: tuple[str, ...]
    patterns: tuple[str, ...]
    others: tuple[str, ...]
    words: frozenset[str]

    @property
    def clauses(self) -> frozenset[str]:
        """The parts of its patterns that say something by themselves."""
        return frozenset(clause for pattern in (*self.patterns, *self.others) for clause in clauses_of(pattern))


def read_told(texts: Iterable[str]) -> list[ToldError]:
    """What each of these error texts says."""
    every = list(texts)
    names = [hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24] for text in every]
    kept = _kept()
    new = {name: tell(text) for name, text in zip(names, every, strict=True) if name not in kept}
    if new:
        asked = frozenset(names) if len(kept) > _OTHERS * len(every) else frozenset(kept)
        stays = {name: record for name, record in kept.items() if name in asked}
        _keep({**stays, **{name: _record(told) for name, told in new.items()}})
    return [new[name] if name in new else _told(kept[name]) for name in names]


def tell(text: str) -> ToldError:
    """What one error text says."""
    read = read_error(text)
    patterns = tuple(dict.fromkeys(reason.pattern for reason in read.reasons if reason.tells))
    others = dict.fromkeys(reason.pattern for reason in read.reasons if reason.pattern not in patterns)
    lines = tuple(dict.fromkeys(reason.exact for reason in read.reasons if reason.exact))
    return ToldError(read.operator, read.kinds, lines, patterns, tuple(others), read.words)


def _record(told: ToldError) -> list[Any]:
    return [told.operator, told.kinds, told.lines, told.patterns, told.others, sorted(told.words)]


def _told(record: list[Any]) -> ToldError:
    operator, kinds, lines, patterns, others, words = record
    return ToldError(operator, tuple(kinds), tuple(lines), tuple(patterns), tuple(others), frozenset(words))


@lru_cache(maxsize=1)
def _key() -> str:
    sources = (Path(module.__file__ or "").read_bytes() for module in (*_CODE, sys.modules[__name__]))
    said = (sys.version.encode(), home.packaged_list(_LIST).encode(), *sources)
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in said)).hexdigest()[:32]


def _kept() -> Mapping[str, list[Any]]:
    data = summary.read_kept(_key())
    return json.loads(zlib.decompress(data)) if data else {}


def _keep(records: Mapping[str, list[Any]]) -> None:
    summary.keep(_key(), zlib.compress(json.dumps(records).encode(), 3))
