"""The Python files of a source tree; what cannot be read is named, and no file is read twice."""

from __future__ import annotations

import ast
import codecs
import io
import os
import re
import stat
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from caniexport.model.errors import UnknownName

#: bytes of a file that is written by hand; longer ones are tables
LARGEST = 2 * 1024 * 1024
_NOT_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages"})
#: in a file without these words there is nothing to find
_WORDS = (b"torch", b"onnx", b"opset", b"dynamo", b"tensor")
#: the reason for a file that is nested too deeply
TOO_DEEP = "nested more deeply than can be read"
#: codings of names, which take minutes for a file; one that is only a word
_NO_CODINGS = frozenset({"punycode", "idna", "undefined"})
_NO_FILE = "not a file that can be read"
#: characters of a path that are shown
_SHOWN = 200


class Unreadable(Exception):
    """A file that is not looked at, with the reason."""


@dataclass(frozen=True)
class ParsedFile:
    """One parsed file; ``path`` is relative to the tree."""

    path: str
    tree: ast.Module
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SourceFile:
    """The text of one file; ``path`` is relative to the tree. Its syntax tree is ten to thirty times as large, so no
    more than one is held.
    """

    path: str
    text: str

    def parsed(self) -> ParsedFile:
        """The file with its syntax tree. Raises :class:`Unreadable` where it has none."""
        lines = re.split(r"\r\n|\r|\n", self.text)  # as the parser counts lines
        return ParsedFile(self.path, _parsed(self.text), tuple(lines))


@dataclass(frozen=True)
class Skipped:
    """A file that was not looked at, and why."""

    path: str
    reason: str


def find_torch_files(root: Path) -> Iterator[SourceFile | Skipped]:
    """Yield the Python files below ``root`` (or ``root`` itself) that name torch or ONNX, ordered by name.

    A file or folder that cannot be read is a :class:`Skipped`. Links to folders are not followed. Raises
    :class:`UnknownName` where there is nothing at ``root``.
    """
    base = root if _is_folder(root) else root.parent
    for path in _paths(root):
        if isinstance(path, Skipped):
            yield path
            continue
        found = _source(path, _named(path.relative_to(base)))
        if found is not None:
            yield found


def _is_folder(root: Path) -> bool:
    try:
        return stat.S_ISDIR(root.stat().st_mode)
    except FileNotFoundError:
        raise UnknownName(f"{root}: there is no such file or folder") from None
    except OSError as error:
        raise UnknownName(f"{str(root)[:_SHOWN]}: cannot be read ({error.strerror})") from None


def _named(path: Path) -> str:
    """A path as it can be printed: a name need not be text."""
    return path.as_posix().encode("utf-8", "backslashreplace").decode("utf-8")


def _paths(root: Path) -> Iterator[Path | Skipped]:
    """The Python files of a tree: those of a folder by name, then those of the folders in it."""
    if not _is_folder(root):
        yield root
        return
    left = [root]
    while left:
        folder = left.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(_named(folder.relative_to(root)), f"a folder that cannot be read ({error.strerror})")
            continue
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        left += [folder / entry.name for entry in reversed(folders) if _is_source(folder / entry.name)]
        yield from (folder / entry.name for entry in entries if entry.name.endswith(".py") and entry not in folders)


def _is_source(folder: Path) -> bool:
    """Neither hidden, nor installed, nor a virtual environment, nor what setuptools copies into ``build/lib``."""
    if folder.name.startswith(".") or folder.name in _NOT_SOURCE:
        return False
    if folder.parent.name == "build" and (folder.name == "lib" or folder.name.startswith("lib.")):
        return False
    try:
        return not (folder / "pyvenv.cfg").is_file()
    except OSError:  # reported when its files are listed
        return True


def content(path: Path) -> bytes:
    """The bytes of a file of source. Raises :class:`Unreadable` with the reason for anything else."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(_NO_FILE)
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise Unreadable(_NO_FILE) from None  # a link to nothing
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror})") from None
    if len(data) > LARGEST:
        raise Unreadable(f"larger than {LARGEST // 1024 // 1024} MiB")
    return data


def _source(path: Path, name: str) -> SourceFile | Skipped | None:
    try:
        data = content(path)
        if not any(word in data.lower() for word in _WORDS):
            return None
        return SourceFile(name, _text(data))
    except Unreadable as error:
        return Skipped(name, str(error))


def _text(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name in _NO_CODINGS:
            raise Unreadable(f"its coding is {encoding}, which no source has")
        return data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        raise Unreadable("its text is not in the encoding that it names, or UTF-8") from None


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError):
        raise Unreadable(TOO_DEEP) from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise Unreadable(f"does not parse{f' (line {line})' if line else ''}") from None
