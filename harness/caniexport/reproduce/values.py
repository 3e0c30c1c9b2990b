"""Inputs, settings and texts of a case as Python source that needs nothing of ours.

Whatever texts hold, they stay one literal, one docstring, one requirement.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from caniexport.model.tensors import Spec

#: the names and versions that an index has (PEP 508, PEP 440)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,100}[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!_-]{0,100}")
_PYTHON = re.compile(r"[0-9]+(\.[0-9]+){0,2}")


def quoted(text: str) -> str:
    """A string literal on one line; what no file can be written with is escaped."""
    said = json.dumps(text, ensure_ascii=False)
    return said if _plain(said) == said else ascii(text)


def docstring(text: str) -> str:
    """A docstring: its line feeds stay, everything else that is no letter or sign is escaped."""
    lines = [_plain(line.replace("\\", "\\\\").replace('"""', "'''")) for line in text.split("\n")]
    return '"""' + "\n".join(lines) + '"""'


def requirement(name: str, version: Any) -> str | None:
    """``name==version`` without the version's local part; ``None`` for what no index can have."""
    public = str(version).partition("+")[0]
    return f"{name}=={public}" if _NAME.fullmatch(name) and _VERSION.fullmatch(public) else None


def metadata(python: str, requirements: list[str]) -> str:
    """The block of PEP 723: comment lines, whatever the texts are."""
    wanted = f"=={python}.*" if _PYTHON.fullmatch(python) else ">=3.7"
    pins = [f"#     {json.dumps(text)}," for text in requirements]
    lines = ["# /// script", f'# requires-python = "{wanted}"', "# dependencies = [", *pins, "# ]", "# ///"]
    return "\n".join(lines)


def pins(packages: Mapping[str, Any], names: list[str]) -> tuple[list[str], list[str]]:
    """The requirements of these packages, and the names of those that cannot be one."""
    found = {name: requirement(name, packages[name]) for name in names}
    return [text for text in found.values() if text], [name for name, text in found.items() if not text]


def _plain(text: str) -> str:
    """Characters that are not printed, and halves of surrogate pairs, as Python escapes them."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


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
