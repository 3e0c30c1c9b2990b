"""Whether a known error has a line of a text, or its pattern: the same words with other names and numbers."""

from __future__ import annotations

import re

from caniexport.match.error_index import KnownError
from caniexport.match.evidence import ErrorEvidence, Reason, speaks_alone
from caniexport.operators import operator_key

#: characters from which the beginning of a line stands for the whole
_LEAST_BEGINNING = 48
#: what a pattern has that says something beside names and numbers
_SAYS = re.compile(r"[A-Za-z]{2}")


def speaks_alike(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether a known error has a line or a pattern of the text's."""
    return any(same_line(reason, item) or (reason.tells and same_pattern(reason, item)) for reason in evidence.reasons)


def has_line(evidence: ErrorEvidence, item: KnownError) -> bool:
    """Whether a known error has a line or a pattern of the text's, and its operator where both name one."""
    if evidence.operator and item.key and item.key != operator_key(evidence.operator):
        return False
    return speaks_alike(evidence, item)


def same_line(reason: Reason, item: KnownError) -> str:
    """The line of a known error that the reason is; one that was cut off is its beginning."""
    for line in item.told.lines:
        if line == reason.exact:
            return line
        shorter, longer = (line, reason.exact) if len(line) <= len(reason.exact) else (reason.exact, line)
        if len(shorter) >= _LEAST_BEGINNING and (longer.startswith(shorter) or line in reason.exact):
            return line
        if reason.exact in line and speaks_alone(reason.exact):
            return line
    return ""


def same_pattern(reason: Reason, item: KnownError) -> str:
    """The pattern of a known error that the reason has, or has among other words."""
    if reason.pattern in item.told.patterns:
        return reason.pattern if _SAYS.search(reason.pattern) else ""
    return next((known for known in item.told.patterns if known in reason.pattern and speaks_alone(known)), "")
