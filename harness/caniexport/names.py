"""Names that nobody knows, answered with the nearest known ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from caniexport.model.errors import UnknownName

_SHOWN = 5
#: so many names are listed where none is like the one asked for: all themes
_LISTED = 60
#: letters of a name that is too short to tell a typo of it from another word
_SHORT = 3


def find_nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to five known names, those spelled most alike first; of equals those with the fewest words, in the
    same letters, then in order.

    A name is compared with the whole of a known one, with its last part and with each word of it: ``corss`` is one typo
    from ``aten::cross`` and from ``cross-no-symbolic``; one of up to three letters with the whole and the last part.
    Where nothing is like the name, its own last part is compared: ``F.grid_smple``. The nearest to a number are the
    numbers on both sides.
    """
    from rapidfuzz.distance import OSA

    names = list(dict.fromkeys(known))
    folded = name.casefold().strip()
    if numbers := _numbers_beside(folded, names):
        return numbers
    most = max(1, len(folded) // 3)
    ranked = sorted(
        (typos, len(_words(item)), OSA.distance(name, item), place)
        for place, item in enumerate(names)
        if (typos := _typos(folded, item)) <= most
    )
    last = _last(folded)
    if not ranked and last != folded and re.fullmatch(r"[a-z_]\w*", last, re.ASCII):
        return find_nearest(last, names)
    return [names[place] for *_, place in ranked[:_SHOWN]]


def _typos(folded: str, known: str) -> int:
    """Letters to change, add, leave out or swap; one that contains the name as a part has half a typo, rounded up."""
    whole = known.casefold()
    words = _words(whole)
    if folded in (whole, *words):
        return 0
    if folded and (folded in whole or whole in _words(folded)):
        return 1
    from rapidfuzz.distance import OSA

    compared = (whole, _last(whole), *(words if len(folded) > _SHORT else ()))
    return min(int(OSA.distance(folded, word)) for word in compared)


def _numbers_beside(name: str, known: Iterable[str]) -> list[str]:
    """The known numbers next to one, below and above; none where the name is no number."""
    if not name.isdecimal():
        return []
    numbers = sorted((item for item in known if item.isdecimal()), key=int)
    below = [item for item in numbers if int(item) < int(name)]
    above = [item for item in numbers if int(item) > int(name)]
    return [*below[-1:], *above[:1]]


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[-_:./\s]+", name) if word]


def _last(name: str) -> str:
    """``grid_sample`` of ``nn.functional.grid_sample``."""
    return re.split(r"[:./]", name)[-1]


def some(items: Sequence[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def plural(number: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for an unknown ``name`` of this ``kind`` (``case``, ``exporter``, ...), to be raised."""
    if not name.strip():
        return UnknownName(f"the question is empty: no {kind} is named")
    names = list(dict.fromkeys(known))
    near = find_nearest(name, names)
    if near:
        hint = f"nearest: {', '.join(near)}"
    elif not names:
        hint = "none is known: nothing has been measured yet"
    elif len(names) <= _LISTED:
        hint = f"known: {', '.join(names)}"
    else:
        hint = f"{len(names)} are known, none of them like it"
    return UnknownName(f"unknown {kind} {name!r} ({hint})")


def require(kind: str, name: str, known: Iterable[str]) -> str:
    """``name`` as the known name it is, whatever its case; raises :class:`UnknownName`."""
    names = list(known)
    found = {item.casefold(): item for item in names}.get(name.casefold())
    if found is None:
        raise unknown_name(kind, name, names)
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
            raise unknown_name(kind, pattern, names)
        found.update(taken)
    return frozenset(found)
