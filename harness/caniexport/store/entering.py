"""What a row must be to enter a dataset, whoever wrote it: this machine's journals, and those of others.

Types are those of the row contract (:func:`caniexport.store.schema.normalise`). Beyond them, what becomes a file's
name, a line of a script or a word of an answer has to be a name; what is JSON has to be JSON. One row that is not so is
refused with the column that says why, and the others are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from caniexport.model.errors import StoreError
from caniexport.model.rows import BUNDLE_DIGITS, NAME, TABLES
from caniexport.model.status import Exporter, Status
from caniexport.store.schema import normalise, shown

#: the highest number of an opset or of an IR version that anybody would believe
_HIGHEST = 999
#: levels of a JSON object
_DEEPEST = 50
#: the largest number that a column of floats can hold
_LARGEST = 3.4028235e38

_PLAIN_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,99}")
_VERSION = re.compile(r"(?!.*\.\.)[0-9][A-Za-z0-9_.!+-]{0,99}")
_TORCH = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}(?!.*\.\.)[A-Za-z0-9_.+-]{0,60}")
_BUNDLE = re.compile(f"[0-9a-f]{{{BUNDLE_DIGITS}}}")
_LINE = re.compile(r"[^\x00-\x1f\x7f\x85\u2028\u2029]{0,300}")
_EXPORTER = re.compile("|".join(re.escape(member.value) for member in Exporter))

_PATTERNS: Mapping[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "a name": (NAME, ("case", "variant", "corpus")),
    "a plain name": (_PLAIN_NAME, ("runtime", "provider")),
    "an identifier": (
        _ID,
        ("run_id", "env_id", "message_id", "warning_id", "checker_id", "case_hash", "code"),
    ),
    "a version": (_VERSION, ("python", "onnx", "onnxscript", "runtime_version", "torch_build")),
    "a version of torch": (_TORCH, ("torch",)),
    "a bundle's name": (_BUNDLE, ("bundle",)),
    "one line of text": (
        _LINE,
        ("device", "platform", "cpu", "gpu", "release", "spec", "shard", "contributor", "contributed_from"),
    ),
    "an exporter": (_EXPORTER, ("exporter", "exporter_effective")),
}
_JSON = ("facts", "session", "placement", "packages")
_COUNTS = ("opset", "opset_effective", "ir_version")
#: columns that every answer looks at
_REQUIRED = {
    "cells": ("run_id", "measured_at", "stage", "status"),
    "runs": ("run_id", "measured_at", "runtime", "provider", "stage", "status"),
    "environments": ("env_id", "run_id", "measured_at"),
    "declared": ("release", "by", "op", "opsets"),
}

#: why a value does not fit; empty where it does
_Judge = Callable[[Any], str]


def check_row(table: str, row: Any) -> tuple[dict[str, Any], list[str]]:
    """The row as the contract has it, and a sentence for each number that is none and is kept as null.

    Raises :class:`StoreError` naming the column that does not fit.
    """
    if not isinstance(row, Mapping):
        raise StoreError(f"{table}: a row is an object, this is {shown(row)}")
    found = normalise(table, row)
    for name, judge in _find_judges(table).items():
        why = "" if found[name] is None else judge(found[name])
        if why:
            raise StoreError(f"{table}: {name} is {shown(found[name])}, which is {why}")
    _check_whole(table, found)
    return found, _replace_infinities(found)


def _check_whole(table: str, row: Mapping[str, Any]) -> None:
    """What no column says alone."""
    missing = [name for name in _REQUIRED[table] if row[name] is None]
    if missing:
        raise StoreError(f"{table}: {', '.join(missing)} must not be null")
    if table == "cells" and row["torch"] is None and row["exporter"] is not None:
        raise StoreError("cells: a row with an exporter names its torch, and this one's is null")
    if table in ("cells", "runs") and (row["case"] is None) != (row["variant"] is None):
        raise StoreError(f"{table}: case and variant go together, and one of them is null")


def _replace_infinities(row: dict[str, Any]) -> list[str]:
    """Numbers that are none become null; a sentence for each."""
    bad = [name for name, value in row.items() if isinstance(value, float) and not abs(value) <= _LARGEST]
    notes = [f"{name} is {row[name]}, which is not a finite number: null" for name in bad]
    row.update(dict.fromkeys(bad))
    return notes


@lru_cache
def _find_judges(table: str) -> dict[str, _Judge]:
    found: dict[str, _Judge] = dict.fromkeys(_JSON, _is_object)
    found.update(dict.fromkeys(_COUNTS, _is_count))
    found["unstable"] = _are_statuses
    found["measured_at"] = _is_of_our_time
    for words, (pattern, names) in _PATTERNS.items():
        found.update(dict.fromkeys(names, _fits(pattern, f"not {words}")))
    return {column.name: found[column.name] for column in TABLES[table] if column.name in found}


def _fits(pattern: re.Pattern[str], words: str) -> _Judge:
    return lambda value: "" if pattern.fullmatch(value) else words


def _is_count(value: int) -> str:
    return "" if 0 <= value <= _HIGHEST else f"not between 0 and {_HIGHEST}"


def _is_of_our_time(moment: datetime) -> str:
    return "" if 1970 <= moment.year < 2900 else "no time at which anything was measured"


def _is_object(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "no JSON"
    if not isinstance(value, dict):
        return "no JSON object"
    return "nested too deeply" if _is_deep(value) else ""


def _is_deep(value: Any) -> bool:
    """Whether values lie within more others than anybody could read."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
    return bool(level)


def _are_statuses(values: list[str]) -> str:
    return "" if {*values} <= {member.value for member in Status} else "not a list of statuses"
