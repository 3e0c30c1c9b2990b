"""The Python files of a source tree, parsed; what cannot be read is named, and nothing is read twice."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.worker.errors import UnknownName

#: bytes of a file that is written by hand; longer ones are tables
LARGEST = 2 * 1024 * 1024
_NOT_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages"})
#: in a file without these words there is nothing to find
_WORDS = (b"torch", b"onnx", b"opset", b"dynamo")


@dataclass(frozen=True)
class Source:
    """One parsed file; ``path`` is relative to the tree."""

    path: str
    tree: ast.Module
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """A file that was not looked at, and why."""

    path: str
    reason: str


def read(root: Path) -> Iterator[Source | Skipped]:
    """Every Python file below ``root`` (or ``root`` itself) that has to do with torch, in the order of its name.

    Links to folders are not followed. Raises :class:`UnknownName` where there is nothing at ``root``.
    """
    if not root.exists():
        raise UnknownName(f"--scan {root}: there is no such file or folder")
    base = root if root.is_dir() else root.parent
    for path in _paths(root):
        found = _source(path, path.relative_to(base).as_posix())
        if found is not None:
            yield found


def _paths(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = sorted(name for name in names if _is_source(here / name))
        yield from (here / name for name in sorted(files) if name.endswith(".py"))


def _is_source(folder: Path) -> bool:
    """Neither hidden, nor installed, nor a virtual environment."""
    return not (folder.name.startswith(".") or folder.name in _NOT_SOURCE or (folder / "pyvenv.cfg").is_file())


def _source(path: Path, name: str) -> Source | Skipped | None:
    try:
        if not path.is_file():
            return Skipped(name, "not a file that can be read")
        if path.stat().st_size > LARGEST:
            return Skipped(name, f"larger than {LARGEST // 1024 // 1024} MiB")
        data = path.read_bytes()
    except OSError as error:
        return Skipped(name, f"cannot be read ({error.strerror})")
    if not any(word in data.lower() for word in _WORDS):
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return Skipped(name, "its text is not in the encoding that it names, or UTF-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        return Skipped(name, f"does not parse{f' (line {line})' if line else ''}")
    # as the parser counts lines: a form feed ends none
    return Source(name, tree, tuple(re.split(r"\r\n|\r|\n", text)))
