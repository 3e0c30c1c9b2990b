"""Inputs, settings and texts of a case as Python source that needs nothing of ours.

Whatever texts hold, they stay one literal, one docstring, one requirement.
"""

from __future__ import annotations

import json
import math
import pprint
import re
from collections.abc import Mapping
from typing import Any

from caniexport.model.tensors import Spec

#: the names and versions that an index has (PEP 508, PEP 440)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,100}[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!_-]{0,100}")
_PYTHON = re.compile(r"[0-9]+(\.[0-9]+){0,2}")
#: columns of a line of a script
WIDTH = 110


class Source(str):
    """Text that stands in a literal as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def format_value(value: Any, seed: str = "", indent: int = 0) -> str:
    """An expression for a nested ``value``: broken into lines, the later ones indented, where it does not fit.

    A :class:`Spec` becomes a call of the script's ``draw`` (with ``seed``) or an array; everything else is a literal.
    """
    text = pprint.pformat(_literal(value, seed), width=WIDTH - indent, compact=True, sort_dicts=False)
    return text.replace("\n", "\n" + " " * indent)


def _literal(value: Any, seed: str) -> Any:
    if isinstance(value, Spec):
        if value.data is not None:
            return Source(f"np.array({_literal(value.data, '')!r}, dtype={value.dtype!r})")
        return Source(f"draw({seed!r}, {value.dtype!r}, {value.shape!r}, {value.low!r}, {value.high!r})")
    if isinstance(value, Mapping):
        return {key: _literal(part, f"{seed}.{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_literal(part, f"{seed}.{index}") for index, part in enumerate(value))
    return Source(f'float("{value}")') if isinstance(value, float) and not math.isfinite(value) else value


def format_docstring(text: str) -> str:
    """A docstring: its line feeds stay, everything else that is no letter or sign is escaped."""
    lines = [_plain(line.replace("\\", "\\\\").replace('"""', "'''")) for line in text.split("\n")]
    return '"""' + "\n".join(lines) + '"""'


def _plain(text: str) -> str:
    """Characters that are not printed, and halves of surrogate pairs, as Python escapes them."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def format_requirement(name: str, version: Any) -> str | None:
    """``name==version`` without the version's local part; ``None`` for what no index can have."""
    public = str(version).partition("+")[0]
    return f"{name}=={public}" if _NAME.fullmatch(name) and _VERSION.fullmatch(public) else None


def format_metadata(python: str, requirements: list[str]) -> str:
    """The block of PEP 723: comment lines, whatever the texts are."""
    wanted = f"=={python}.*" if _PYTHON.fullmatch(python) else ">=3.7"
    pins = [f"#     {json.dumps(text)}," for text in requirements]
    return "\n".join(["# /// script", f'# requires-python = "{wanted}"', "# dependencies = [", *pins, "# ]", "# ///"])
