"""What happened at every opset of every release, as short texts: a million cells are too many to look at each.

The database folds the cells of a line (a variant with an exporter on a provider) into one text for each release. Few
of these texts differ, so each is read once, and what follows from it is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from caniexport.answers.reading import Rows
from caniexport.answers.rows import NO_EXPORTER
from caniexport.model.case import PLAIN
from caniexport.model.status import Checker, Exporter, Status

#: case, variant, exporter, provider
Line = tuple[str, str, str, str | None]
#: by release: the text of what happened there
Told = Mapping[str, str]

_BY = ("case", "variant", "exporter", "provider")
_KEPT, _ASKED = "lines", "lines asked for"
#: so many cases that their lines are rather taken from all
_FEW = 50
_STATUS = tuple(Status)
_WORD = " ".join(f"WHEN '{status.value}' THEN {4 * number}" for number, status in enumerate(_STATUS))
_BARE = f"CASE WHEN exporter = '{Exporter.DEFAULT.value}' THEN coalesce(opset_effective, 0) ELSE 0 END"
_PLACE = f"coalesce(opset, -1 - {_BARE})"
_REFUSED = f"2 * CAST(coalesce(checker <> '{Checker.OK.value}', false) AS INTEGER)"
#: more than the numbers of all statuses
_EACH = 64
#: a number for each cell: its opset (below zero for a default call: the one that it wrote), its status, whether onnx's
#: checker refuses its file, if it is local
_TOLD = (
    f"CAST(list_sort(list({_PLACE} * {_EACH} + CASE status {_WORD} END + {_REFUSED} "
    "+ CAST(origin = 'local' AS INTEGER))) AS VARCHAR)"
)


class CellEnd(NamedTuple):
    """How one cell ended. ``opset`` is ``None`` for a default call, ``written`` the opset that it then wrote.

    ``refused``: onnx's checker refuses its file, whatever the runtime makes of it.
    """

    opset: int | None
    status: Status
    local: bool
    written: int | None
    refused: bool = False


def lines(rows: Rows, where: Mapping[str, Iterable[Any]]) -> dict[Line, Told]:
    """What happened to every line with these values of its columns; environment cases are not among them.

    Reading everything is not much dearer than reading a part, and small: the second question about more than a few
    cases reads it, and it is kept for those after it.
    """
    kept = rows.beside.get(_KEPT)
    if kept is None and len(tuple(where.get("case", ()))) not in range(1, _FEW):
        rows.beside[_ASKED] = rows.beside.get(_ASKED, 0) + 1
        if rows.beside[_ASKED] > 1:
            kept = rows.beside[_KEPT] = _read(rows, {})
    return _taken(_read(rows, where) if kept is None else kept, where)


def _taken(kept: Mapping[Line, Told], where: Mapping[str, Iterable[Any]]) -> dict[Line, Told]:
    """The lines with these values, and of these their releases and opsets."""
    wanted = {name: frozenset(values) for name, values in where.items()}
    columns = [(at, wanted[name]) for at, name in enumerate(_BY) if name in wanted]
    found = {key: told for key, told in kept.items() if all(key[at] in values for at, values in columns)}
    if "torch" in wanted:
        found = {key: {name: told[name] for name in told if name in wanted["torch"]} for key, told in found.items()}
    if "opset" in wanted:
        found = {key: _at_opsets(told, wanted["opset"]) for key, told in found.items()}
    return {key: told for key, told in found.items() if told}


def _at_opsets(told: Told, opsets: frozenset[int | None]) -> Told:
    found = {torch: _cut(text, opsets) for torch, text in told.items()}
    return {torch: text for torch, text in found.items() if text}


@lru_cache(maxsize=4096)
def _cut(told: str, opsets: frozenset[int | None]) -> str:
    numbers = [number for number in told[1:-1].split(",") if _ended(int(number)).opset in opsets]
    return f"[{','.join(numbers)}]" if numbers else ""


def _read(rows: Rows, where: Mapping[str, Iterable[Any]]) -> dict[Line, Told]:
    """The lines with these values, whole: every release and opset of each."""
    asked = {name: values for name, values in where.items() if name in _BY}
    # equal texts are made one: those that look things up by them then compare addresses
    same: dict[str, str] = {}
    return {
        (case, variant or PLAIN, exporter, provider): {
            torch or "": same.setdefault(told, told) for torch, told in zip(releases, texts, strict=True)
        }
        for case, variant, exporter, provider, releases, texts in rows.folded(_BY, "torch", _TOLD, asked)
        if case is not None and exporter not in (None, NO_EXPORTER)
    }


@lru_cache(maxsize=65536)
def endings(told: str) -> tuple[CellEnd, ...]:
    """The cells of a text, by opset, a default call last."""
    found = [_ended(int(number)) for number in told[1:-1].split(",")] if told else []
    return tuple(sorted(found, key=lambda ended: (ended.opset is None, ended.opset or 0)))


def _ended(number: int) -> CellEnd:
    place, rest = divmod(number, _EACH)
    status, marks = divmod(rest, 4)
    opset = place if place >= 0 else None
    written = None if opset is not None else -1 - place or None
    return CellEnd(opset, _STATUS[status], bool(marks & 1), written, bool(marks & 2))


@lru_cache(maxsize=65536)
def statuses(told: str) -> Mapping[int | None, Status]:
    """The statuses of a text by opset."""
    return {ended.opset: ended.status for ended in endings(told)}
