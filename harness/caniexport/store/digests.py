"""``MANIFEST``: what every file of a dataset holds, so that one that has changed by itself is never believed.

Plain text, one line for each parquet file, sorted by path: its sha256, its size in bytes, its path. A line that begins
with ``+`` is of a file that is about to be written: until the writer has come to its end, either of a file's two lines
will do, so that nobody who is killed in between leaves a file that passes for a damaged one.

A file is hashed when it is first opened; what was found is remembered, for this process and in the user's cache folder
(:mod:`caniexport.store.summary`), under the file's size, times and inode. A dataset without a ``MANIFEST`` was written
before there was one: its files are read as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from caniexport.model.errors import StoreError
from caniexport.model.rows import TABLES
from caniexport.store import summary

NAME = "MANIFEST"
_FOLDERS = ("cells", "runs")
_LINE = re.compile(r"(\+?)([0-9a-f]{64}) ([0-9]+) ([A-Za-z0-9_][A-Za-z0-9_.+/-]*)")
#: a file that is younger than this many seconds may change once more within a tick of its clock
_SETTLED = 2.0
#: how often a file that another process may be writing is looked at before it counts as changed
_LOOKS = 3
_CHUNK = 1 << 20


class Content(NamedTuple):
    """What a file holds, as far as a line says."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """The lines of a ``MANIFEST`` by path: what a file ``holds``, what is ``coming``; ``unreadable`` line numbers."""

    holds: Mapping[str, Content] = field(default_factory=dict)
    coming: Mapping[str, Content] = field(default_factory=dict)
    unreadable: tuple[int, ...] = ()

    def takes(self, name: str) -> tuple[Content, ...]:
        """What a file may hold."""
        return tuple(lines[name] for lines in (self.holds, self.coming) if name in lines)

    def expecting(self, name: str, content: Content) -> Manifest:
        """The same before a file is written."""
        return Manifest(self.holds, {**self.coming, name: content})

    def holding(self, name: str, content: Content | None) -> Manifest:
        """The same after a file was written, or has gone."""
        holds = {known: item for known, item in self.holds.items() if known != name}
        coming = {known: item for known, item in self.coming.items() if known != name}
        return Manifest({**holds, name: content} if content else holds, coming)

    def text(self) -> str:
        """The file."""
        lines = [(name, "", item) for name, item in self.holds.items()]
        lines += [(name, "+", item) for name, item in self.coming.items()]
        return "".join(f"{sign}{item.sha256} {item.size} {name}\n" for name, sign, item in sorted(lines))


def home(path: Path) -> Path:
    """The dataset folder that a parquet file belongs to."""
    return path.parent.parent if path.parent.name in _FOLDERS else path.parent


def name_of(path: Path) -> str:
    """A file's path as a line has it."""
    above = path.parent.name
    return f"{above}/{path.name}" if above in _FOLDERS else path.name


def content_of(data: bytes) -> Content:
    """What a file of these bytes holds."""
    return Content(hashlib.sha256(data).hexdigest(), len(data))


def read(folder: Path) -> Manifest | None:
    """The ``MANIFEST`` of a dataset; ``None`` where it has none. Raises :class:`StoreError` for one not readable."""
    try:
        data = (folder / NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{folder / NAME}: cannot be read ({error.strerror}); its files are not checked") from error
    signs: dict[str, dict[str, Content]] = {"": {}, "+": {}}
    unreadable = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            unreadable.append(number)
        else:
            signs[match[1]][match[4]] = Content(match[2], int(match[3]))
    return Manifest(signs[""], signs["+"], tuple(unreadable))


def listed_files(folder: Path) -> list[Path]:
    """The parquet files of a dataset, by path."""
    tables = [folder / f"{table}.parquet" for table in TABLES]
    inside = [path for name in _FOLDERS for path in (folder / name).glob("*.parquet")]
    return sorted(path for path in [*tables, *inside] if path.is_file())


def told(folder: Path) -> list[str]:
    """A sentence for each file without a line, each line without a file, and each line that is none."""
    try:
        manifest = read(folder)
    except StoreError as error:
        return [str(error)]
    if manifest is None:
        return []
    place = folder / NAME
    there = {name_of(path) for path in listed_files(folder)}
    found = [f"{place}: line {number} cannot be read; {restore(place)}" for number in manifest.unreadable]
    found += missing(folder)
    for name in sorted(there - manifest.holds.keys() - manifest.coming.keys()):
        found.append(f"{folder / name}: {NAME} does not name it, so nothing says whether it is whole; it is used")
    return found


def missing(folder: Path) -> list[str]:
    """A sentence for each file that ``MANIFEST`` names and that is not there. Raises :class:`StoreError`."""
    manifest = read(folder) or Manifest()
    gone = [folder / name for name in sorted(manifest.holds) if not (folder / name).is_file()]
    said = f"{NAME} names it, and it is not there: its rows are left out"
    return [f"{path}: {said}; {restore(path)}" for path in gone]


def settled(folder: Path) -> Manifest | None:
    """The ``MANIFEST`` without lines of files that are not there, and one line for a file whose writer was killed.

    ``None`` where there is none. Raises :class:`StoreError` where it cannot be read.
    """
    manifest = read(folder)
    for name in sorted({*manifest.holds, *manifest.coming}) if manifest is not None else ():
        assert manifest is not None
        if not (folder / name).is_file():
            manifest = manifest.holding(name, None)
        elif name in manifest.coming:
            found = _hashed(folder / name)
            if found is not None and found.content in manifest.takes(name):
                manifest = manifest.holding(name, found.content)
    return manifest


def changed(paths: Iterable[Path]) -> dict[Path, str]:
    """Why a file is not what its dataset's ``MANIFEST`` says, by file; those that are, and those not named, are not in
    it.
    """
    by_folder: dict[Path, list[Path]] = {}
    for path in paths:
        by_folder.setdefault(home(path), []).append(path)
    found = {}
    for folder, some in by_folder.items():
        with contextlib.suppress(StoreError):  # told by :func:`told`
            found.update(_changed(folder, some))
    return found


def _changed(folder: Path, paths: list[Path]) -> dict[Path, str]:
    left = dict.fromkeys(paths, "")
    for look in range(_LOOKS):
        manifest = read(folder)
        if manifest is None:
            return {}
        if look:
            _Remembered.of(folder).forget(left)
        held = _contents(folder, [path for path in left if manifest.takes(name_of(path))])
        left = {path: difference for path, item in held.items() if (difference := _difference(manifest, path, item))}
        if not left:
            return {}
    return left


def _difference(manifest: Manifest, path: Path, held: Content | None) -> str:
    """Why a file does not hold what it should; empty where it does, and where it cannot be read, which is told then."""
    wanted = manifest.takes(name_of(path))
    if held is None or held in wanted:
        return ""
    other = f"it has {held.size} bytes, {NAME} says {wanted[-1].size}"
    why = f"its content is not that of {NAME}" if held.size in {item.size for item in wanted} else other
    return f"{path}: damaged, its rows are left out ({why}); {restore(path)}"


def restore(path: Path) -> str:
    """What to do about a damaged file: a local dataset is measured again, a published one lies in git."""
    folder = home(path)
    if (folder / "journal").is_dir() or (folder / ".lock").exists():
        written = "the next `caniexport measure` writes it anew"
        again = f"remove it and measure again (`caniexport measure`), or {folder / NAME} if that is what has changed"
        return written if path.name == NAME else again
    names = " ".join(dict.fromkeys((str(path), str(folder / NAME))))
    return f"`git checkout -- {names}` restores it, or measure again"


def _contents(folder: Path, paths: list[Path]) -> dict[Path, Content | None]:
    """What each file holds, ``None`` for one that cannot be read; hashed side by side where it is not remembered."""
    remembered = _Remembered.of(folder)
    found: dict[Path, Content | None] = {path: remembered.get(path) for path in paths}
    new = [path for path, known in found.items() if known is None]
    if len(new) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            hashed = list(pool.map(_hashed, new))
    else:
        hashed = [_hashed(path) for path in new]
    remembered.keep(item for item in hashed if item is not None)
    return {**found, **{path: item.content if item else None for path, item in zip(new, hashed, strict=True)}}


class _Hashed(NamedTuple):
    """A file's content with the state that it was read in."""

    path: Path
    state: tuple[int, ...]
    content: Content


def _hashed(path: Path) -> _Hashed | None:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            state = _state(os.fstat(file.fileno()))
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError:
        return None
    return _Hashed(path, state, Content(digest.hexdigest(), size))


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class _Remembered:
    """What the files of a dataset were found to hold, for this process and for the next."""

    def __init__(self, folder: Path, kept: Path | None) -> None:
        self._known: dict[str, tuple[tuple[int, ...], Content]] = {}
        key = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._path = kept / f"digests-{key}.json" if kept else None
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            kept_words = json.loads(self._path.read_bytes()) if self._path else {}
            for name, (state, sha256, size) in kept_words.items():
                self._known[name] = tuple(state), Content(sha256, size)

    @classmethod
    def of(cls, folder: Path) -> _Remembered:
        """The one of a dataset, read once in a process and cache folder."""
        return _remembered(folder.absolute(), summary.folder())

    def get(self, path: Path) -> Content | None:
        """What a file holds that is as it was when it was hashed."""
        state, content = self._known.get(name_of(path), ((), None))
        try:
            return content if content and _state(path.stat()) == state else None
        except OSError:
            return None

    def forget(self, paths: Iterable[Path]) -> None:
        """Hash these again when they are asked for."""
        for path in paths:
            self._known.pop(name_of(path), None)

    def keep(self, hashed: Iterable[_Hashed]) -> None:
        """Remember files that have been as they are for a while."""
        now = time.time_ns()
        new = {
            name_of(item.path): (item.state, item.content)
            for item in hashed
            if now - max(item.state[1:3]) > _SETTLED * 1e9
        }
        if not new:
            return
        self._known.update(new)
        if self._path is not None:
            words = {name: [list(state), *content] for name, (state, content) in self._known.items()}
            summary.put(self._path, lambda path: path.write_text(json.dumps(words, separators=(",", ":"))))


@cache
def _remembered(folder: Path, kept: Path | None) -> _Remembered:
    return _Remembered(folder, kept)


def unlisted(folder: Path) -> list[Path]:
    """The files of a dataset that its ``MANIFEST`` does not name, or all where it cannot be read."""
    try:
        return without_line(folder, settled(folder))
    except StoreError:
        return listed_files(folder)


def without_line(folder: Path, manifest: Manifest | None) -> list[Path]:
    """The files of a dataset that its ``MANIFEST`` does not name."""
    return [path for path in listed_files(folder) if manifest is None or not manifest.takes(name_of(path))]
