"""Whether the fixes that somebody asks about are still needed, and what else fails of their operator."""

from __future__ import annotations

from dataclasses import replace

from caniexport.answers.decide_fixes import answer_needed, decide_some, still_needing
from caniexport.answers.filters import Filters
from caniexport.answers.select import load
from caniexport.answers.standings import Workarounds, workarounds
from caniexport.answers.wanted import about_first, asked_operator
from caniexport.store import Dataset


def decide_asked(
    dataset: Dataset,
    filters: Filters,
    found: Workarounds,
    words: str,
    beside: str = "",
    *,
    is_brief: bool = True,
) -> str:
    """The sentence about the fixes ``found`` with ``filters``, which ``words`` ask about (``cumsum/triangle``): where
    these name an operator, its other cases that still need a workaround are in it. ``beside`` says why it is of its
    release; before it stands the answer in a few words where it ``is_brief``.
    """
    operator, others = _find_others(dataset, filters, found, words)
    return answer_needed(found, beside, operator, others, is_brief=is_brief)


def decide_narrowed(dataset: Dataset, filters: Filters, found: Workarounds, words: str) -> str:
    """The sentence about some of the cases of the operator that ``words`` name, those that have the other words, too:
    whether its other cases need a workaround is in it.
    """
    return decide_some(found, *_find_others(dataset, filters, found, words))


def _find_others(dataset: Dataset, filters: Filters, found: Workarounds, words: str) -> tuple[str, list[str]]:
    """The operator that words name, and its cases that still need a workaround and are not among the fixes found."""
    catalogue = load(dataset).catalogue
    told = {item.case for item in (*found.standings, *found.cautions)}
    operator = asked_operator(words.replace("/", " ").split(), told, catalogue)
    if not operator:
        return "", []
    every = workarounds(dataset, replace(filters, cases=(), variants=(), themes=(), statuses=(), ops=(operator,)))
    return operator, about_first(operator, still_needing(every, told), catalogue)
