"""Versions of torch and of the ONNX operator set: read, ordered, resolved to what has been measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from caniexport.model.errors import UnknownName
from caniexport.model.opset_clauses import is_opset_in as is_opset_in

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


#: what names the newest release
_LATEST = ("latest", "newest")


@lru_cache(maxsize=4096)
def parse(text: str) -> Version:
    """Read ``2.9``, ``2.9.1+cu128``, ``2.10.0.dev20260101``, ``2.9rc1``; raises :class:`UnknownName` otherwise."""
    try:
        return Version(text)
    except InvalidVersion:
        raise UnknownName(f"{text!r} is not a version (2.9, 2.9.1+cu128, 2.10.0.dev20260101, 2.9rc1 are)") from None


def public(text: str) -> str:
    """The version without its local part, as rows carry it: ``2.9.1`` for ``2.9.1+cu128``."""
    return parse(text).public


def ordered(texts: Iterable[str]) -> list[str]:
    """Versions from oldest to newest, each once; a development build comes before its release candidates."""
    return sorted(dict.fromkeys(texts), key=parse)


def newest(texts: Iterable[str]) -> str | None:
    """The newest version; ``None`` where there is none."""
    found = ordered(texts)
    return found[-1] if found else None


def resolve(asked: str, measured: Iterable[str], what: str = "torch") -> str:
    """The measured version that ``asked`` means: the newest of its series (``2.9`` -> ``2.9.1``), or itself.

    A series means its releases; its candidates and nightlies only where none of its releases was measured.
    Raises :class:`UnknownName` naming ``what`` it is a version of and the measured neighbours on both sides.
    """
    known = ordered(measured)
    asked = _bare(asked, known)
    want = parse(asked)
    series = [text for text in known if _in_series(parse(text), want)]
    if series:
        return ([text for text in series if not parse(text).is_prerelease] or series)[-1]
    for text in known:
        if parse(public(text)) == parse(want.public):
            return text
    raise UnknownName(f"{what} {asked} has not been measured ({_neighbours(want, known)})")


def _bare(asked: str, known: Sequence[str]) -> str:
    """A version without its package's name (``torch==2.8.0``); the newest release for ``latest`` and ``newest``."""
    if asked.casefold() in _LATEST:
        return next((text for text in reversed(known) if not parse(text).is_prerelease), asked)
    return asked.casefold().removeprefix("torch==")


def is_range(asked: str) -> bool:
    """Whether a text asks for every version within it (``>=2.4,<2.10``, ``1.13..2.8``), not for one."""
    return asked[:1] in tuple("<>=!~") or ".." in asked


def resolve_range(asked: str, measured: Iterable[str]) -> list[str]:
    """Return the measured versions in a range, oldest first. A single version is a range of one.

    Raises :class:`UnknownName` where none is in it.
    """
    known = ordered(measured)
    if not is_range(asked):
        return [resolve(asked, known)]
    if ".." in asked:
        first, last = sorted(known.index(resolve(end.strip("."), known)) for end in asked.split(".."))
        return known[first : last + 1]
    found = [text for text in known if within(text, asked)]
    if not found:
        span = f"{known[0]} to {known[-1]}" if known else "nothing yet"
        raise UnknownName(f"no measured torch is within {asked} (measured: {span})")
    return found


def resolve_patch(asked: str, measured: Iterable[str]) -> str:
    """As :func:`resolve`; for a patch release of torch that was not measured, the nearest one of its minor version.

    Of a range it is the newest.
    """
    known = list(measured)
    if is_range(asked):
        return resolve_range(asked, known)[-1]
    try:
        return resolve(asked, known)
    except UnknownName:
        want = parse(asked)
        same = [text for text in known if parse(text).release[:2] == want.release[:2]]
        patches = [text for text in same if not parse(text).is_prerelease]
        if want.is_prerelease or not patches:
            raise
        return min(patches, key=lambda text: abs(parse(text).micro - want.micro))


def resolve_with_note(asked: str, measured: Iterable[str]) -> tuple[str, str]:
    """As :func:`resolve_patch`, and a note where another patch release, or one of a range, answers."""
    known = ordered(measured)
    asked = _bare(asked, known)
    found = resolve_patch(asked, known)
    if is_range(asked):
        return found, f"torch {found}, the newest measured within {asked}"
    want = parse(asked)
    is_other = len(want.release) > 2 and want.public != public(found)
    return found, f"torch {asked} was not measured; {found} is answered" if is_other else ""


def _in_series(version: Version, want: Version) -> bool:
    if want.is_prerelease or want.is_postrelease or len(want.release) > 2:
        return False
    return version.release[: len(want.release)] == want.release


def neighbours(want: Version, known: Iterable[str]) -> list[str]:
    """The known versions on both sides of one."""
    every = ordered(known)
    return [text for text in every if parse(text) < want][-1:] + [text for text in every if parse(text) > want][:1]


def _neighbours(want: Version, known: list[str]) -> str:
    return f"nearest measured: {', '.join(neighbours(want, known))}" if known else "nothing has been measured yet"


@lru_cache(maxsize=16384)
def within(version: str, specifier: str) -> bool:
    """Whether a version satisfies a specifier (``>=1.12,<2.0``); an empty one takes every version.

    Pre-releases count like any other version, and a local part is ignored. Raises :class:`UnknownName` for text
    that is no specifier.
    """
    return _specifier(specifier).contains(parse(version).public, prereleases=True)


@lru_cache(maxsize=1024)
def _specifier(text: str) -> SpecifierSet:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise UnknownName(f"{text!r} is not a version specifier (>=1.12,<2.0 is one)") from None


def opset_name(opset: int | None) -> str:
    """``opset 18``; ``its own opset`` where none is asked for."""
    return "its own opset" if opset is None else f"opset {opset}"


def opset_text(opsets: Iterable[int | None], comma: str = ", ") -> str:
    """``9-11, 14, default``: runs of neighbours, and ``default`` for ``None``."""
    found = set(opsets)
    numbers = {opset for opset in found if opset is not None}
    parts = [str(low) if low == high else f"{low}-{high}" for low, high in spans(numbers)]
    return comma.join([*parts, *["default"] * (None in found)])


def runs(found: Collection[str], steps: Sequence[str]) -> list[tuple[str, str]]:
    """The first and the last of each run of neighbours among ``steps`` that are found."""
    places = (place for place, step in enumerate(steps) if step in found)
    return [(steps[first], steps[last]) for first, last in spans(places)]


def spans(numbers: Iterable[int], steps: Iterable[int] | None = None) -> list[tuple[int, int]]:
    """``numbers`` as runs of neighbours, ``[(9, 11), (13, 13)]``; ``steps``: all the numbers there are."""
    wanted = sorted(set(numbers))
    places = zip(wanted, wanted, strict=True) if steps is None else zip(sorted(set(steps)), count(), strict=False)
    position = dict(places)
    found: list[tuple[int, int]] = []
    for number in wanted:
        if found and position[number] == position[found[-1][1]] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
