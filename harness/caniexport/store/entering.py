"""What a row must be to enter a dataset from a journal or a table that an environment wrote.

Types and words are those of the row contract (:func:`caniexport.store.schema.normalise`). Beyond them, what becomes a
file's name or a line of a script has to be a name, and what is JSON has to be JSON. One row that is not so is refused
with the column that says why, and the others are taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from caniexport import versions
from caniexport.model.errors import StoreError, UnknownName
from caniexport.model.rows import NAME
from caniexport.model.status import Status
from caniexport.store.schema import normalise, shown

#: columns that every answer looks at
_REQUIRED = {
    "cells": ("run_id", "measured_at", "stage", "status"),
    "runs": ("run_id", "measured_at", "runtime", "provider", "stage", "status"),
    "environments": ("env_id", "run_id", "measured_at"),
    "declared": ("release", "by", "op", "opsets"),
}
#: the largest number that a column of floats can hold
_LARGEST = 3.4028235e38


def check_row(table: str, row: Any) -> tuple[dict[str, Any], list[str]]:
    """The row as the contract has it, and a sentence for each number that is none and is kept as null.

    Raises :class:`StoreError` naming the column that does not fit.
    """
    if not isinstance(row, Mapping):
        raise StoreError(f"{table}: a row is an object, this is {shown(row)}")
    found = normalise(table, row)
    for names, is_fit, words in _FORMS:
        for name in names:
            if found.get(name) is not None and not is_fit(found[name]):
                raise StoreError(f"{table}: {name} is {shown(found[name])}, which is {words}")
    missing = [name for name in _REQUIRED[table] if found[name] is None]
    if missing:
        raise StoreError(f"{table}: {', '.join(missing)} must not be null")
    if table == "cells" and found["torch"] is None and found["exporter"] is not None:
        raise StoreError("cells: a row with an exporter names its torch, and this one's is null")
    bad = [name for name, value in found.items() if isinstance(value, float) and not abs(value) <= _LARGEST]
    notes = [f"{name} is {found[name]}, which is not a finite number: null" for name in bad]
    return found | dict.fromkeys(bad), notes


def _is_version(text: str) -> bool:
    try:
        return bool(versions.parse(text))
    except UnknownName:
        return False


def _are_statuses(values: list[str]) -> bool:
    return {*values} <= {member.value for member in Status}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


#: columns, what their values must be, and the words for one that is not
_FORMS: tuple[tuple[tuple[str, ...], Callable[[Any], object], str], ...] = (
    (("case", "variant", "corpus", "torch", "runtime", "provider", "bundle"), NAME.fullmatch, "not a name"),
    (("torch", "runtime_version"), _is_version, "not a version"),
    (("facts", "session", "placement", "packages"), _is_object, "no JSON object"),
    (("unstable",), _are_statuses, "not a list of statuses"),
)
