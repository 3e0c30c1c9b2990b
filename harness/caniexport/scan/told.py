"""What a place of a file shows of why it is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from caniexport.scan import backends
from caniexport.scan.forms import words_of
from caniexport.scan.normal import operator_of
from caniexport.scan.wording import PLAIN_WORD, is_on_export


class Told(StrEnum):
    """How the author says it."""

    COMMENT = "comment"
    DOCSTRING = "docstring"
    NAME = "name"
    GATE = "gate"
    PATCH = "patch"


@dataclass(frozen=True)
class ToldPlace:
    """Lines from ``first`` to ``last`` that are there for an export; ``line`` is where that is shown.

    ``named`` are the operators that the author names, ``avoided`` those of them of which it is said that they fail or
    are left out, ``blamed`` those in a sentence that tells of a failure, ``shown`` those in a branch's own names,
    ``said`` the author's text, ``instead`` the lines of the branch that is taken elsewhere, ``runtime`` another runtime
    than ONNX Runtime that it is for, ``asked`` whether a branch asks for an export (and not for scripting), ``refuses``
    whether that branch only raises, ``left_out`` the operators that it does without.
    """

    line: int
    first: int
    last: int
    told: Told
    said: str
    named: frozenset[str] = frozenset()
    instead: tuple[int, int] | None = None
    runtime: str = ""
    quoted: tuple[str, ...] = ()
    avoided: frozenset[str] = frozenset()
    blamed: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    asked: bool = False
    refuses: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def is_about_export(self) -> bool:
        """Whether its author speaks of an export or another runtime, and not of scripting or a function of torch."""
        return self.told is Told.PATCH or self.asked or is_on_export(self.said) or bool(backends.of_text(self.said))

    def most_told(self, operators: frozenset[str]) -> str:
        """Of these operators the only one, or the one that its author names most often; empty where several are."""
        if len(operators) < 2:
            return next(iter(operators), "")
        counts = Counter(map(operator_of, PLAIN_WORD.findall(self.said)))
        first, second = sorted(operators, key=lambda name: (-counts[name], name))[:2]
        return first if counts[first] > counts[second] else ""

    @property
    def words(self) -> frozenset[str]:
        """The words of what the author says."""
        return words_of(self.said)
