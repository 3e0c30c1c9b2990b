"""The matrix in short: of each theme, how many cases work as a release exports them by default."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from caniexport.answers.along import lines, statuses
from caniexport.answers.filters import Filters
from caniexport.answers.select import load, select
from caniexport.corpus.verdicts import works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.store import Dataset


@dataclass(frozen=True)
class CountOfCases:
    """Of ``measured`` cases so many ``work``."""

    work: int
    measured: int


@dataclass(frozen=True)
class ThemeLine:
    """A theme, and by release how many of its cases work with a bare call."""

    theme: str
    cases: int
    releases: Mapping[str, CountOfCases]


@dataclass(frozen=True)
class ThemesTable:
    """``releases`` oldest first; themes in order."""

    releases: tuple[str, ...]
    themes: tuple[ThemeLine, ...]


def themes(dataset: Dataset, filters: Filters) -> ThemesTable:
    """The failing forms of the cases in the filters on torch, by theme."""
    selection = select(load(dataset), filters)
    of_theme: dict[str, list[str]] = defaultdict(list)
    for (case, variant), entry in selection.catalogue.items():
        if variant == PLAIN:
            of_theme[entry.theme].append(case)
    ends: dict[tuple[str, str], bool] = {}
    for (case, *_), told in lines(selection.rows, {"variant": (PLAIN,), "exporter": (Exporter.DEFAULT.value,)}).items():
        for torch, text in told.items():
            found = works(statuses(text).get(None))
            if found is not None:
                ends[case, torch] = ends.get((case, torch), False) or found
    return ThemesTable(
        selection.torch,
        tuple(
            ThemeLine(theme, len(cases), {torch: _count(ends, cases, torch) for torch in selection.torch})
            for theme, cases in sorted(of_theme.items())
            if any((case, torch) in ends for case in cases for torch in selection.torch)
        ),
    )


def _count(ends: Mapping[tuple[str, str], bool], cases: list[str], torch: str) -> CountOfCases:
    found = [ends[case, torch] for case in cases if (case, torch) in ends]
    return CountOfCases(sum(found), len(found))
