"""Constants of Python as JavaScript reads them: regular expressions that find the same, numbers and words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

_CONSTANT = re.compile(r"\b_?[A-Z][A-Z_]*\b")
#: what ``\s``, ``\w`` and ``\d`` mean in Python, as parts of a class of JavaScript; with ``re.ASCII`` the second ones
SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CLASSES = {"s": SPACE, "w": r"\p{L}\p{N}_", "d": r"\p{Nd}"}
_ASCII_CLASSES = {"s": r"\t-\r\x20", "w": "A-Za-z0-9_", "d": "0-9"}
#: the parts of an expression that the two languages spell differently
_PART = re.compile(r"(?P<named>\(\?P<)|\\(?P<escaped>.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<mark>[.^$])", re.DOTALL)
_SYNTAX = frozenset("^$\\.*+?()[]{}|/nrtfvxu")


def constants(module: ModuleType) -> dict[str, Any]:
    """The constants of a module by their names, as JSON has them; those that a script of the search reads."""
    found = ((name, plain(value)) for name, value in vars(module).items() if name in _read_names())
    return {name: value for name, value in found if value is not None}


@cache
def _read_names() -> frozenset[str]:
    """The names in capitals that scripts beside this file have."""
    scripts = Path(__file__).resolve().parent.glob("*.js")
    return frozenset(name for script in scripts for name in _CONSTANT.findall(script.read_text(encoding="utf-8")))


def plain(value: object) -> Any:
    """A constant for JSON; ``None`` for what no page needs."""
    if isinstance(value, re.Pattern):
        return {"source": source(value), "flags": "dgu" + "i" * bool(value.flags & re.IGNORECASE)}
    if isinstance(value, Mapping):
        return {chr(key) if isinstance(key, int) else key: _character(item) for key, item in value.items()}
    if isinstance(value, (tuple, frozenset)):
        return [plain(item) for item in (sorted(value) if isinstance(value, frozenset) else value)]
    return value if isinstance(value, (str, int, float)) else None


def _character(item: object) -> object:
    """What a table of ``str.translate`` puts in a character's place."""
    return chr(item) if isinstance(item, int) else item


def source(pattern: re.Pattern[str]) -> str:
    """The expression in JavaScript, for its flag ``u``."""
    classes = _ASCII_CLASSES if pattern.flags & re.ASCII else _CLASSES

    def spell(part: re.Match[str]) -> str:
        if part["named"]:
            return "(?<"
        if part["mark"]:
            return _mark(part["mark"], pattern.flags)
        if part["set"]:
            return re.sub(r"\\(.)", lambda escaped: _in_set(escaped[1], classes), part["set"])
        return _escaped(part["escaped"], classes)

    return _PART.sub(spell, pattern.pattern)


def _mark(mark: str, flags: int) -> str:
    """``.``, ``^`` or ``$``: Python ends a line with ``\\n`` alone, and a text also before its last ``\\n``."""
    if mark == ".":
        return "[^]" if flags & re.DOTALL else r"[^\n]"
    if mark == "^":
        return r"(?<![^\n])" if flags & re.MULTILINE else "(?<![^])"
    return r"(?![^\n])" if flags & re.MULTILINE else r"(?=\n?(?![^]))"


def _in_set(letter: str, classes: Mapping[str, str]) -> str:
    """An escaped character between brackets."""
    return classes.get(letter) or (f"\\{letter}" if letter in _SYNTAX or letter == "-" else letter)


def _escaped(letter: str, classes: Mapping[str, str]) -> str:
    """An escaped character elsewhere."""
    if letter.lower() in classes:
        return f"[{'^' * letter.isupper()}{classes[letter.lower()]}]"
    if letter in ("b", "Z"):
        word = classes["w"]
        return f"(?:(?<=[{word}])(?![{word}])|(?<![{word}])(?=[{word}]))" if letter == "b" else "(?![^])"
    return f"\\{letter}" if letter in _SYNTAX else letter
