"""Filters: what a user asked for, under the names of the command line's options and of the API's keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TypedDict

from caniexport import names

#: a filter's value as it is given: one name or several
Named = str | int | Iterable[str | int]


class CaseFilterNames(TypedDict, total=False):
    """The filters of an answer about one case."""

    variant: Named
    torch: Named
    opset: Named
    exporter: Named
    provider: Named
    status: Named


class FilterNames(CaseFilterNames, total=False):
    """The filters that a user may name."""

    case: Named
    theme: Named
    op: Named


@dataclass(frozen=True)
class Filters:
    """What a user asked for; an empty tuple takes everything. Names may be globs, versions series, opsets ranges."""

    cases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    opsets: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything was asked for at all."""
        return any(getattr(self, item.name) for item in fields(self))


#: the field that a filter fills
FIELDS = {
    "case": "cases",
    "variant": "variants",
    "torch": "torch",
    "opset": "opsets",
    "exporter": "exporters",
    "provider": "providers",
    "status": "statuses",
    "theme": "themes",
    "op": "ops",
}

_ALL = tuple(FIELDS)
_OF_A_CASE = ("case", "variant", "torch", "opset", "exporter", "provider", "status")
_OF_A_MOVE = ("case", "theme", "op")

#: the filters that each answer takes
TAKEN: dict[str, tuple[str, ...]] = {
    "cells": _ALL,
    "table": _ALL,
    "why": _OF_A_CASE,
    "reproduce": _OF_A_CASE,
    "workaround": _ALL,
    "claims": ("case", "status", "theme", "op"),
}


def read_filters(answer: str, given: Mapping[str, object]) -> Filters:
    """The filters of ``answer`` that are ``given`` by name; ``None`` and an empty collection take everything.

    Raises :class:`caniexport.model.errors.UnknownName` for a filter that the answer does not take, :class:`TypeError`
    for a value that is neither text nor a whole number (``2.10`` as a number would be 2.1).
    """
    found = {}
    for name, value in given.items():
        field = FIELDS[names.require(f"filter of {answer}", name, TAKEN[answer])]
        found[field] = _texts(name, value)
    return Filters(**found)


def _texts(name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    values = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    for item in values:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise TypeError(f"{name}={item!r}: text or a whole number is wanted")
    return tuple(map(str, values))
