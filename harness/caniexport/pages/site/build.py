"""Writes the static copy: the same rows give the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp

from pagefind_bin import get_executable

from caniexport.answers.upstream import upstream
from caniexport.model.errors import CaniexportError
from caniexport.names import some
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES
from caniexport.pages.site import api, downloads
from caniexport.pages.site.paths import FEED, OTHER_LINES
from caniexport.pages.site.writer import PageWriter
from caniexport.pages.views import alerts, upgrade
from caniexport.pages.views.op import names_of_one
from caniexport.profiles import PERIOD
from caniexport.store.views import Views

_HERE = Path(__file__).resolve().parent
#: the files of a copy, a line each: a folder that has others is not replaced
_FILES = "copy-files.txt"
#: files of others that are named
_NAMED = 3
#: pages that are written at once; copies of fewer pages are written by this process
_TOGETHER, _FEW = 30, 200
#: processes at most that write pages: each reads what all of them need
_PROCESSES = 3


@dataclass(frozen=True)
class WrittenSite:
    """What was written: the folder, its pages by kind, its size in bytes."""

    folder: str
    cases: int
    operators: int
    files: int
    bytes: int


def build(kept: Kept, folder: Path, say: Callable[[str], None] = lambda _: None) -> WrittenSite:
    """Write the copy into ``folder``. What stands there before is replaced whole, once everything is written.

    ``say`` is told how far it is.

    Raises :class:`CaniexportError` where the folder holds a file that no copy wrote, or nothing was measured.
    """
    if kept.inventory.is_empty:
        raise CaniexportError("nothing has been measured yet: there is nothing to copy")
    _refuse_others(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        written = _write(kept, made, say)
        (made / _FILES).write_text("\n".join([*_files(made), _FILES]), encoding="utf-8")
        if folder.exists():
            _refuse_others(folder)
            shutil.rmtree(folder)
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return WrittenSite(str(folder), *written, len(sizes), sum(sizes))


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def _refuse_others(folder: Path) -> None:
    """Raises :class:`CaniexportError` for a folder with a file that no copy wrote."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise CaniexportError(f"{folder} is something that is not a copy of this dataset: name another folder")
    listed = folder / _FILES
    ours = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    others = sorted(set(_files(folder)) - set(ours))
    if others:
        found = f"{folder} holds something that is not a copy of this dataset ({some(others, _NAMED)})"
        raise CaniexportError(f"{found}: move it, or name another folder")


def write_index(folder: Path) -> None:
    """Write the index of the search over the pages of cases and operators; tables of signs are left out."""
    line = [get_executable(), "--site", folder, "--glob", "{case,op}/*.html", "--root-selector", "main"]
    line += ["--exclude-selectors", ".kept, .back, .signs, .chart, table.matrix, table.strip"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CaniexportError(f"the search could not be written: {done.stderr.strip() or done.stdout.strip()}")


def _write(kept: Kept, folder: Path, say: Callable[[str], None]) -> tuple[int, int]:
    """Write everything; return how many cases and operators have a page."""
    cases = [entry.case for entry in kept.inventory.documented]
    ops = sorted(kept.answer(names_of_one))
    parts: list[tuple[str, tuple[str, ...]]] = [
        ("tables", ()),
        *_parts("pages", list(PAGES)),
        *_parts("upgrades", ["-".join(asked.values()) for asked in upgrade.starts(kept)]),
        *_parts("releases", kept.inventory.torch),
        *_parts("lines", OTHER_LINES),
        *_parts("themes", list(dict.fromkeys(entry.theme for entry in kept.inventory.documented))),
        *_parts("operators", ops),
        *_parts("cases", cases),
    ]
    pages, written = sum(len(names) for _, names in parts), 0
    say(f"writing the tables as files, then {pages} pages")
    done: Iterator[tuple[str, ...]]
    with ExitStack() as stack:
        if pages < _FEW:
            _begin(kept, folder)
            done = map(_write_part, parts)
        else:
            # a fork would share the threads of the databases
            count, apart = min(_PROCESSES, os.cpu_count() or 1), get_context("spawn")
            given = (kept.folder("published"), kept.folder("local"), folder)
            pool = ProcessPoolExecutor(count, apart, initializer=_begin_apart, initargs=given)
            stack.callback(pool.shutdown, cancel_futures=True)
            done = pool.map(_write_part, parts)
        try:
            for (_, names), problems in zip(parts, done, strict=True):
                kept.add_problems(problems)
                written += len(names)
                say(f"{written} of {pages} pages")
        except BrokenProcessPool as error:
            raise CaniexportError(f"a process that wrote pages of the copy was ended from outside: {error}") from error
    write_index(folder)
    return len(cases), len(ops)


def _parts(kind: str, names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names in parts of :data:`_TOGETHER`."""
    return ((kind, tuple(names[at : at + _TOGETHER])) for at in range(0, len(names), _TOGETHER))


#: in a process that writes pages: the dataset and what writes them
_here: list[tuple[Kept, PageWriter, Path]] = []


def _begin(kept: Kept, folder: Path) -> None:
    """Read in one pass each what pages of many cases and operators need."""
    views = Views.of(kept)
    if PERIOD in kept.profiles():
        views.include(PERIOD)
    views.hold()
    upstream(kept)
    _here[:] = [(kept, PageWriter(kept, folder), folder)]


def _begin_apart(published: Path | None, local: Path | None, folder: Path) -> None:
    _begin(Kept.open(published, local), folder)


def _write_part(part: tuple[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Write a part; return what could not be read so far."""
    (kind, names), (kept, writer, folder) = part, _here[0]
    if kind == "tables":
        for name in ("style.css", "plain.css", "icon.svg", "search.js", "tables.js"):
            own = _HERE / name
            shutil.copyfile(own if own.exists() else _HERE.parent / name, folder / name)
        downloads.write(kept, folder / "data")
        (folder / FEED).write_text(alerts.feed(kept), encoding="utf-8")
        api.write(kept, folder)
    else:
        writer.write(kind, names)
    return kept.problems
