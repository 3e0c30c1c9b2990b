"""Names of our own measuring code in an error's text: such an error is ours, and says nothing about torch.

The names are read from the source of :mod:`caniexport.worker` and :mod:`caniexport.runner`. A word that others may use
too says nothing by itself: a function counts where it has two words or more and is called or defined in the text, a
file where a traceback ends in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_MEASURING = ("model", "worker", "runner")
#: functions of older measuring code, whose rows may still come in
_FORMER = frozenset({"_keep_overrides", "override_again"})
#: names that torch, onnx or pytest give a meaning
_COMMON = re.compile(r"__\w+__$|pytest_")
#: a frame as the tracer writes it into a graph: every export was called by us
_TRACED_FRAME = re.compile(r"^\s*\S+\(\d+\): \S+$", re.MULTILINE)
#: a frame of a traceback with its line of source, where it has one
_FRAME = re.compile(
    r'^[ \t]*File "(?P<path>[^"\n]+)", line \d+, in (?P<name>\S+)[^\n]*\n(?:(?![ \t]*File ")[ \t]+[^\n]*\n)*',
    re.MULTILINE,
)


@cache
def own_name(text: str) -> str:
    """The first name of our measuring code that a text blames; empty where it blames none."""
    return _named(text) or _last_frame(text)


def _named(text: str) -> str:
    found = _pattern().search(_TRACED_FRAME.sub("", text))
    return found.group() if found else ""


def _last_frame(text: str) -> str:
    """The function of ours in which a traceback ends."""
    for frame in _FRAME.finditer(text):
        path, name = re.split(r"[/\\]", frame["path"])[-1], frame["name"].rpartition(".")[2]
        if (path, name) in _functions() and not _FRAME.match(text, frame.end()):
            return f"{path}, {name}"
    return ""


@cache
def _pattern() -> re.Pattern[str]:
    words = sorted({name for _, name in _functions() if _is_ours_alone(name)} | _FORMER)
    called = rf"(?<!\w)(?:{'|'.join(words)})(?=\(|\.<locals>)"
    return re.compile(rf"\b(?:caniexport|harness)[./\\](?:{'|'.join(_MEASURING)})\b(?:[./\\]\w+)*|{called}")


def _is_ours_alone(name: str) -> bool:
    return "_" in name.strip("_") and len(name) >= 8 and not _COMMON.match(name)


@cache
def _functions() -> frozenset[tuple[str, str]]:
    """(file, function) of the measuring code."""
    paths = [path for folder in _MEASURING for path in sorted((_PACKAGE / folder).glob("*.py"))]
    return frozenset((path.name, name) for path in paths for name in _defined(path))


def _defined(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
