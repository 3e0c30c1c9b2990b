"""Texts of rows and cases as source: whatever they hold, they stay one literal, one docstring, one requirement."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

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
