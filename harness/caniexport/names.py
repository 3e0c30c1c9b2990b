"""Names that nobody knows, answered with the nearest known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from caniexport.model.errors import UnknownName

_SHOWN = 5


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to five known names: those that contain ``name`` first, then those spelled most alike."""
    names = list(dict.fromkeys(known))
    folded = name.casefold()
    containing = [item for item in names if folded and folded in item.casefold()]
    by_folded = {item.casefold(): item for item in names}
    alike = [by_folded[item] for item in difflib.get_close_matches(folded, by_folded, _SHOWN, 0.5)]
    return list(dict.fromkeys((*alike[:1], *containing, *alike)))[:_SHOWN]


def some(items: Sequence[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for an unknown ``name`` of this ``kind`` (``case``, ``exporter``, ...), to be raised."""
    names = list(dict.fromkeys(known))
    near = nearest(name, names)
    if near:
        hint = f"nearest: {', '.join(near)}"
    elif not names:
        hint = "none is known: nothing has been measured yet"
    elif len(names) <= 2 * _SHOWN:
        hint = f"known: {', '.join(names)}"
    else:
        hint = f"{len(names)} are known, among them {', '.join(names[:_SHOWN])}"
    return UnknownName(f"unknown {kind} {name!r} ({hint})")


def require(kind: str, name: str, known: Iterable[str]) -> str:
    """``name`` as the known name it is, whatever its case; raises :class:`UnknownName`."""
    names = list(known)
    found = {item.casefold(): item for item in names}.get(name.casefold())
    if found is None:
        raise unknown(kind, name, names)
    return found


def require_all(kind: str, patterns: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """Every known name that one of the patterns takes: a name, or a glob with ``*``; raises :class:`UnknownName`."""
    names = list(known)
    found: set[str] = set()
    for pattern in patterns:
        if not any(sign in pattern for sign in "*?["):
            found.add(require(kind, pattern, names))
            continue
        taken = [item for item in names if fnmatchcase(item.casefold(), pattern.casefold())]
        if not taken:
            raise unknown(kind, pattern, names)
        found.update(taken)
    return frozenset(found)
