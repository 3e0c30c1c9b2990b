"""``MANIFEST``: sha256, size and path of every parquet file of a published dataset, one line each, sorted by path.

It is written whenever the dataset is, and held against the files before it is written again, by ``publish --verify``
and in CI. It is not there while files are being replaced: a writer that is killed leaves none, and the next one writes
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from caniexport.model.errors import StoreError
from caniexport.model.rows import TABLES
from caniexport.store import writer

NAME = "MANIFEST"
_FOLDERS = ("cells", "runs")
_LINE = re.compile(r"([0-9a-f]{64}) ([0-9]+) ([A-Za-z0-9_][A-Za-z0-9_.+/-]*)")


def listed_files(folder: Path) -> dict[str, Path]:
    """The parquet files of a dataset by the path that a line has."""
    paths = [folder / f"{table}.parquet" for table in TABLES]
    paths += [path for name in _FOLDERS for path in (folder / name).glob("*.parquet")]
    return {path.relative_to(folder).as_posix(): path for path in sorted(paths) if path.is_file()}


def find_faults(folder: Path) -> list[str]:
    """A sentence for each file that is not as ``MANIFEST`` says, is not there or not named, and each unreadable line.

    Empty where a dataset has no ``MANIFEST``. Raises :class:`StoreError` where it cannot be read.
    """
    place = folder / NAME
    if not place.exists():
        return []
    try:
        lines = place.read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise StoreError(f"{place}: cannot be read ({error.strerror})") from error
    matches = [_LINE.fullmatch(line) for line in lines]
    found = [
        f"{place}: line {n} cannot be read; {describe_restoring(place)}"
        for n, match in enumerate(matches, 1)
        if not match
    ]
    listed = {match[3]: match[0] for match in matches if match}
    files = listed_files(folder)
    for name in sorted(listed.keys() | files.keys()):
        path = folder / name
        if name not in listed:
            found.append(f"{path}: {NAME} does not name it; remove it, or remove {NAME} to have it listed")
        elif name not in files:
            found.append(f"{path}: {NAME} names it, and it is not there; {describe_restoring(path)}")
        elif _line(name, path) != listed[name]:
            found.append(f"{path}: damaged (its content is not that of {NAME}); {describe_restoring(path)}")
    return found


@contextlib.contextmanager
def update_manifest(folder: Path) -> Iterator[None]:
    """Let the files of a dataset be written, and write ``MANIFEST`` after it.

    Raises :class:`StoreError` where a file has changed by itself: writing over it would make that the truth.
    """
    for fault in find_faults(folder):
        raise StoreError(fault)
    with writer.disk_errors(folder):
        (folder / NAME).unlink(missing_ok=True)
    yield
    lines = [_line(name, path) + "\n" for name, path in listed_files(folder).items()]
    writer.replace_file(folder / NAME, "".join(lines).encode())


def describe_restoring(path: Path) -> str:
    """What to do about a damaged file: a local dataset is measured again, a published one lies in git."""
    folder = path.parent.parent if path.parent.name in _FOLDERS else path.parent
    if (folder / "journal").is_dir() or (folder / ".lock").exists():
        return "remove it and measure again (`caniexport measure`)"
    names = " ".join(dict.fromkeys((str(path), str(folder / NAME))))
    return f"`git checkout -- {names}` restores it, or measure again"


def _line(name: str, path: Path) -> str:
    data = path.read_bytes()
    return f"{hashlib.sha256(data).hexdigest()} {len(data)} {name}"
