"""How a word of the dataset looks: its sign, its color, what it means."""

from __future__ import annotations

from enum import Enum

from caniexport.answers.signs import STATUS, WORKAROUND, Sign
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status

_UNKNOWN = Sign("", "white", "")


def look(word: Enum) -> Sign:
    """The sign of a status, a verdict or an advice; without one, the word stands alone."""
    if isinstance(word, Status):
        return STATUS[word]
    if isinstance(word, Workaround):
        return WORKAROUND[word]
    return _UNKNOWN
