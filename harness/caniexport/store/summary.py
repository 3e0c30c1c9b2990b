"""The written summary: what answers about the whole dataset look at, as small files in the user's cache folder.

Every answer needs to know which releases, exporters, opsets, runtimes and variants there are: counting a million cells
takes a third of a second, and a command begins anew each time. It is written when it is first asked for, under
everything it depends on: the query, and path, size, times and inode of every parquet file of the dataset.
It is less than half a megabyte in all. ``CANIEXPORT_CACHE`` names the folder in which
``caniexport/`` is made for them; empty, nothing is written.

Nothing rests on it: where it cannot be written or read, the dataset's own files answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from caniexport.store import sql

VARIABLE = "CANIEXPORT_CACHE"
#: summaries that are kept; the oldest go first
_MOST = 32
_OURS = "[0-9a-f]" * 32 + ".parquet"


def cache_folder() -> Path | None:
    """Where summaries are kept: a folder of ours alone. ``None`` where they are not kept."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) / "caniexport" if named else None
    above = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(above) if above else Path.home() / ".cache") / "caniexport"
    except RuntimeError:  # a user without a home
        return None


def keep(query: str, paths: Iterable[Path], lasts: Callable[[], bool]) -> Path | None:
    """The file with the rows of a query about these files, written unless it is there; ``None`` where it cannot be.

    ``lasts`` tells whether they stay the same as long as the files do. It is asked before they are written.
    """
    folder, digest = cache_folder(), hashlib.sha256(query.encode("utf-8", "surrogateescape"))
    if folder is None:
        return None
    with contextlib.suppress(OSError, sql.error_class()):  # a full disk; or a damaged file: who asks will see
        for path in paths:
            at = path.stat()
            entry = f"{path.resolve()}\0{at.st_size} {at.st_mtime_ns} {at.st_ctime_ns} {at.st_ino}\n"
            digest.update(entry.encode("utf-8", "surrogateescape"))
        kept = folder / f"{digest.hexdigest()[:32]}.parquet"
        if kept.is_file():
            return kept
        if lasts():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix="caniexport-new-") as new:
                made = Path(new) / kept.name
                sql.fetch(f"COPY ({query}) TO {sql.literal(str(made))} (FORMAT parquet, COMPRESSION zstd)")
                made.replace(kept)
            for older in sorted(folder.glob(_OURS), key=lambda path: path.stat().st_mtime_ns)[:-_MOST]:
                older.unlink(missing_ok=True)
            return kept
    return None
