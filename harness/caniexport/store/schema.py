"""Rows brought into the row contract, whose columns :mod:`caniexport.model.rows` names.

Every file carries the contract's version under :data:`VERSION_KEY`; a file without it was not written by us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from typing import Any

from caniexport.model.errors import SchemaMismatch, StoreError
from caniexport.model.rows import BUNDLE_DIGITS, SCHEMA_VERSION, TABLES
from caniexport.model.status import Stage, Status

#: key of the file metadata that holds the version of the row contract
VERSION_KEY = "caniexport_schema"

#: characters of a refused value that are shown
_SHOWN = 80
#: columns whose every value is a word of ours: a word nobody knows would be answered wrongly
_WORDS: dict[str, frozenset[str]] = {
    "stage": frozenset(member.value for member in Stage),
    "status": frozenset(member.value for member in Status),
}


def columns(table: str) -> tuple[str, ...]:
    """Names of a table's columns, in the order of the contract."""
    return tuple(column.name for column in TABLES[table])


def check_version(written: str | None, name: str) -> None:
    """Raise :class:`SchemaMismatch` unless the file called ``name`` was ``written`` under this row contract."""
    if written is None:
        raise SchemaMismatch(f"{name}: not written by caniexport (no version of the row contract in it)")
    if written == str(SCHEMA_VERSION):
        return
    newer = written.isdigit() and int(written) > SCHEMA_VERSION
    again = "remove it and measure its release again with `caniexport measure`"
    way = "a newer caniexport reads it" if newer else again
    raise SchemaMismatch(
        f"{name}: written under version {written} of the row contract, this one is {SCHEMA_VERSION}; {way}"
    )


def normalise(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """``row`` with exactly the table's columns and their Python types; a missing column is ``None``.

    Raises :class:`StoreError` naming the column that the contract does not have or whose value does not fit.
    """
    converters = _converters(table)
    unknown = row.keys() - converters.keys()
    if unknown:
        raise StoreError(f"{table}: no column {', '.join(map(shown, sorted(unknown)[:5]))} in the row contract")
    found: dict[str, Any] = {}
    for name, convert in converters.items():
        value = row.get(name)
        try:
            found[name] = None if value is None else convert(value)
        except (TypeError, ValueError, OverflowError):
            raise StoreError(f"{table}: {shown(value)} is no value of column {name}") from None
    return found


def shown(value: Any) -> str:
    """A value of somebody else's, short and on one line."""
    line = ascii(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


@cache
def _converters(table: str) -> dict[str, Callable[[Any], Any]]:
    kinds: dict[str, Callable[[Any], Any]] = {
        "string": text,
        "int32": lambda value: _integer(value, 31),
        "int64": lambda value: _integer(value, 63),
        "float32": _number,
        "float64": _number,
        "bool": _truth,
        "timestamp": _time,
        "list<string>": _texts,
    }
    found = {column.name: kinds[column.type] for column in TABLES[table]}
    found |= {name: partial(_word, known) for name, known in _WORDS.items() if name in found}
    return found | {"bundle": lambda value: text(value)[:BUNDLE_DIGITS]} if "bundle" in found else found


def text(value: Any) -> str:
    """A text that can be written: half of a surrogate pair is escaped. Raises :class:`TypeError` for anything else."""
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str):
        raise TypeError
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        raise TypeError
    return [text(item) for item in value]


def _word(known: frozenset[str], value: Any) -> str:
    word = text(value)
    if word not in known:
        raise ValueError
    return word


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise TypeError
    if not -(2**bits) <= value < 2**bits:
        raise OverflowError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool | str):
        raise TypeError
    return float(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _time(value: Any) -> datetime:
    """ISO 8601 text or a time; one without a zone is UTC."""
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(time, datetime):
        raise TypeError
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
