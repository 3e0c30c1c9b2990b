"""Filters: what a user asked for, under the names of the command line's options and of the API's keyword arguments.

Exporters, statuses and opsets are read here; what depends on a dataset is in :mod:`caniexport.answers.scope`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from caniexport import names, versions
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.errors import UnknownName
from caniexport.model.status import EXPORTERS, Exporter, Status

#: the name for the opset of a call without one
DEFAULT_OPSET = "default"
_TORCHSCRIPT = "torchscript"
#: other names of exporters
_ALSO = {
    **dict.fromkeys(("torchdynamo", "torch.export", "dynamo_export", "dynamo=true", "fx"), Exporter.DYNAMO.value),
    **dict.fromkeys((_TORCHSCRIPT, "legacy", "tracing", "jit.trace", "dynamo=false"), Exporter.TRACE.value),
    **dict.fromkeys(("scripting", "jit.script"), Exporter.SCRIPT.value),
    **{name: long for long, name in EXPORTER_SHORT.items()},
}
#: a filter's value as it is given: one name or several
Named = str | int | Iterable[str | int]


class FilterNames(TypedDict, total=False):
    """The filters that a user may name."""

    case: Named
    variant: Named
    torch: Named
    opset: Named
    exporter: Named
    provider: Named
    status: Named
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


#: the field that a filter fills
FIELDS = dict(zip(FilterNames.__annotations__, Filters.__annotations__, strict=True))

_ALL = tuple(FIELDS)
_OF_A_CASE = ("case", "variant", "torch", "opset", "exporter", "provider", "status")

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
        found[field] = _read_texts(name, value)
    return Filters(**found)


def _read_texts(name: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    values = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    for item in values:
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise TypeError(f"{name}={item!r}: text or a whole number is wanted")
    return tuple(map(str, values))


def exporter_name(text: str) -> str:
    """``trace`` and ``script`` for the long names; ``TorchScript`` is the traced one, as ``dynamo=False`` exports."""
    return _ALSO.get(text.casefold(), text)


def exporter_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The exporters' long names, each once, in the order of :class:`Exporter`; ``TorchScript`` is both of its kinds.

    Raises :class:`UnknownName`.
    """
    texts = [*asked]
    if any(text.casefold() == _TORCHSCRIPT for text in texts):
        texts.append(Exporter.SCRIPT.value)
    found = names.require_all("exporter", map(exporter_name, texts), EXPORTERS)
    return tuple(name for name in EXPORTERS if name in found)


def require_exporter(asked: str, *, named: bool = False) -> str:
    """One exporter's long name; ``named`` excludes the default one. Raises :class:`UnknownName`."""
    known = [name for name in EXPORTERS if not named or name != Exporter.DEFAULT.value]
    return names.require("exporter", exporter_name(asked), known)


def require_statuses(asked: Iterable[str]) -> frozenset[Status]:
    """The statuses of these names, or globs. Raises :class:`UnknownName`."""
    words = ["unsupported" if text.casefold() == "refused" else text for text in asked]
    return frozenset(Status(item) for item in names.require_all("status", words, [status.value for status in Status]))


def require_opsets(asked: Iterable[str], known: Sequence[int]) -> frozenset[int | None]:
    """The known opsets that ``9-14``, ``>=11`` or ``default`` (``None``) mean.

    Raises :class:`UnknownName` for one at which nothing was measured.
    """
    found: set[int | None] = set()
    for text in asked:
        mine = [opset for opset in known if text != DEFAULT_OPSET and versions.is_opset_in(opset, text)]
        if not mine and text != DEFAULT_OPSET:
            shown = f"measured are {known[0]} to {known[-1]}" if known else "nothing has been measured yet"
            raise UnknownName(f"opset {text} has not been measured ({shown}; {DEFAULT_OPSET} is the release's own)")
        found.update(mine or [None])
    return frozenset(found)
