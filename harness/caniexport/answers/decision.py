"""The sentence that an answer about a case opens with: how it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from caniexport import versions
from caniexport.answers.outcomes import short_cause
from caniexport.answers.reasons import FailureGroup, Why
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Status


def decide_why(found: Sequence[Why]) -> str:
    """``cross at torch 1.12.1: fail at export by trace 7-16 (RuntimeError: …).``: each answer's newest release."""
    return " ".join(map(_ends, found))


def _ends(item: Why) -> str:
    entry = item.entry
    name = entry.case if entry.variant == PLAIN else f"{entry.case}/{entry.variant}"
    if not item.groups:
        return f"{name} was not measured there: nothing is known of it."
    # what is installed together has no release of torch
    newest = versions.newest({group.torch for group in item.groups if group.torch}) or ""
    there = [group for group in item.groups if group.torch == newest]
    # a refusal says nothing about the case where anything else is known
    there = [group for group in there if group.status is not Status.UNSUPPORTED] or there
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for group in there:
        called = (EXPORTER_SHORT.get(group.exporter, group.exporter), versions.opset_text(group.opsets))
        told[_ending(group, item.messages)].append(" ".join(dict.fromkeys(called)))
    by = {key: f" by {', '.join(who)}" if newest else "" for key, who in told.items()}
    said = [f"{ending}{by[ending, cause]}{cause}" for ending, cause in told]
    elsewhere = "".join(f" {_capital(words)}." for words in item.elsewhere)
    return f"{name}{f' at torch {newest}' if newest else ''}: {'; '.join(said)}.{elsewhere}"


def _ending(group: FailureGroup, messages: Sequence[str]) -> tuple[str, str]:
    """``fail at export`` and `` (RuntimeError: …)``."""
    if group.status in WORKS:
        return group.status.value, ""
    cause = "" if group.message is None else short_cause(messages[group.message])
    return f"{group.status.value} at {group.stage}", f" ({cause})" if cause else ""


def _capital(text: str) -> str:
    stripped = text.strip()
    return stripped[:1].upper() + stripped[1:]
