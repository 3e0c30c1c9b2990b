"""Inputs and settings of a case as Python expressions that need nothing of ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from caniexport.model.tensors import Spec
from caniexport.reproduce.quoting import quoted

#: columns of a line of a script
WIDTH = 110
_INDENT = "    "


def written(value: Any, seed: str = "", indent: str = "") -> str:
    """An expression for ``value``: broken into one part a line where it does not fit.

    A :class:`Spec` becomes a call of the script's ``draw`` (with ``seed``) or an array; everything else is a literal.
    """
    flat = _flat(value, seed)
    if len(flat) + len(indent) <= WIDTH or not isinstance(value, list | tuple | Mapping):
        return flat
    deeper = indent + _INDENT
    parts = [f"{deeper}{label}{written(part, name, deeper)}," for label, part, name in _parts(value, seed)]
    opening, closing = ("{", "}") if isinstance(value, Mapping) else ("[", "]") if isinstance(value, list) else "()"
    return "\n".join([opening, *parts, indent + closing])


def is_drawn(value: Any) -> bool:
    """Whether any part of a nested input is drawn at random."""
    if isinstance(value, Spec):
        return value.data is None
    return any(is_drawn(part) for _, part, _ in _parts(value, ""))


def _parts(value: Any, seed: str) -> Iterator[tuple[str, Any, str]]:
    """The parts of a nested value: what is written before each, the part, and its seed."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"{_flat(key, '')}: ", part, f"{seed}.{key}"
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield "", part, f"{seed}.{index}"


def _flat(value: Any, seed: str) -> str:
    if isinstance(value, Spec):
        return _spec(value, seed)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{label}{_flat(part, name)}" for label, part, name in _parts(value, seed)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flat(part, name) for _, part, name in _parts(value, seed)) + "]"
    if isinstance(value, tuple):
        inner = ", ".join(_flat(part, name) for _, part, name in _parts(value, seed))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, str):
        return quoted(value)
    return repr(value)


def _spec(spec: Spec, seed: str) -> str:
    if spec.data is not None:
        return f"np.array({_flat(spec.data, '')}, dtype={quoted(spec.dtype)})"
    bounds = "" if spec.dtype == "bool" else f", {spec.low!r}, {spec.high!r}"
    return f"draw({quoted(seed)}, {quoted(spec.dtype)}, {spec.shape!r}{bounds})"
