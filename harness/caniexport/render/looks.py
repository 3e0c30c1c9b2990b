"""Signs of statuses and verdicts."""

from __future__ import annotations

from enum import Enum

from caniexport.answers.signs import STATUS, WORKAROUND, Sign
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status

_UNKNOWN = Sign("", "white", "")


def find_sign(word: Enum) -> Sign:
    """Return the sign of a status or a verdict; an empty one for other enums."""
    if isinstance(word, Status):
        return STATUS[word]
    if isinstance(word, Workaround):
        return WORKAROUND[word]
    return _UNKNOWN
