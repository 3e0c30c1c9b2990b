"""Answers: functions from a dataset to frozen dataclasses. Nothing here prints, measures or writes.

::

    table(dataset, filters, by)        the matrix                               -> Table
    why(dataset, filters)              one or several cells, explained          -> list[Why]
    workarounds(dataset, filters)      needed, obsolete, broken, harmful        -> Workarounds
    claims(dataset, filters, sources)  what documents say against measurements  -> Claims

``dataset`` is a :class:`caniexport.store.Dataset`, ``filters`` a :class:`Filters`. Every function raises
:class:`caniexport.model.errors.UnknownName` for a case, release, opset, exporter, provider, status, theme or op that
nobody knows, with the nearest known ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caniexport.answers.documents import Claims, JudgedClaim, claims
    from caniexport.answers.matrix import By, Table, table
    from caniexport.answers.reasons import Why, why
    from caniexport.answers.select import Filters
    from caniexport.answers.standings import Standing, Workarounds, workarounds

__all__ = [
    "By",
    "Claims",
    "Filters",
    "JudgedClaim",
    "Standing",
    "Table",
    "Why",
    "Workarounds",
    "claims",
    "table",
    "why",
    "workarounds",
]

_HOMES = {
    **dict.fromkeys(("JudgedClaim", "Claims", "claims"), "documents"),
    **dict.fromkeys(("By", "Table", "table"), "matrix"),
    **dict.fromkeys(("Why", "why"), "reasons"),
    "Filters": "select",
    **dict.fromkeys(("Standing", "Workarounds", "workarounds"), "standings"),
}


def __getattr__(name: str) -> Any:
    # a question imports its own answer only: the others would take longer than it does
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
