"""Writes the static copy: the same rows give the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any

from pagefind_bin import get_executable

from caniexport.model.errors import CaniexportError
from caniexport.names import some
from caniexport.pages.kept import Kept
from caniexport.pages.page import PAGES
from caniexport.pages.site import api, downloads
from caniexport.pages.site.paths import FEED, upgrade_file
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
#: pages between two words on how far it is
_EACH = 100
#: cases, operators or releases that are written at once; copies of fewer pages are written by one process
_TOGETHER, _FEW = 60, 200
#: processes at most that write pages beside this one: each reads what all of them need
_BESIDE = 3


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

    ``say`` is told how far it is, a line for each hundred pages.

    Raises :class:`CaniexportError` where the folder holds a file that no copy wrote, or nothing was measured.
    """
    if kept.inventory.is_empty:
        raise CaniexportError("nothing has been measured yet: there is nothing to copy")
    _refuse_others(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        written = _Copy(kept, made, say).write()
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


class _Copy:
    """One copy on its way."""

    def __init__(self, kept: Kept, folder: Path, say: Callable[[str], None]) -> None:
        self._kept = kept
        self._say = say
        self._pages = self._written = 0
        self._counting = Lock()
        self._folder = folder
        known = kept.inventory
        local = known.local
        releases = (
            f"{len(known.torch)} torch releases, {known.torch[0]} to {known.torch[-1]}" if known.torch else "none"
        )
        own = f", {local:,} of them measured on one machine and not published" if local else ""
        self._stamp = f"Copied from {known.count():,} measured cells of {releases}{own}."
        self._writer = PageWriter(kept, folder, self._stamp, self._count)

    def write(self) -> tuple[int, int]:
        """Everything; gives how many cases and operators have a page."""
        cases = [entry.case for entry in self._kept.inventory.documented]
        ops = sorted(self._kept.answer(names_of_one))
        upgrades = [upgrade_file(asked["from"], asked.get("profile", "")) for asked in upgrade.starts(self._kept)]
        parts = [*_parts("upgrades", upgrades), *_parts("operators", ops), *_parts("cases", cases)]
        parts += _parts("releases", self._kept.inventory.torch)
        parts += _parts("themes", list(dict.fromkeys(entry.theme for entry in self._kept.inventory.documented)))
        self._pages = len(PAGES) + sum(len(part.names) for part in parts)
        self._say(f"writing the tables as files, then {self._pages} pages")
        with self._beside(parts) as written, ThreadPoolExecutor(1) as packing:
            _read_all(self._kept)
            packed = self._assets(packing)
            for name in PAGES:
                file = "index.html" if name == "search" else f"{name}.html"
                self._writer.write_page(file, name, {})
            (self._folder / FEED).write_text(alerts.feed(self._kept), encoding="utf-8")
            api.write(self._kept, self._folder)
            for write in reversed(written):
                write()
            for each in packed:
                each.result()
        write_index(self._folder)
        return len(cases), len(ops)

    @contextmanager
    def _beside(self, parts: Sequence[_Part]) -> Iterator[list[Callable[[], None]]]:
        """Have the parts written by other processes, in their order; where there are few pages, by this one. Each
        function given ends when its part is written: this process writes those that no other has begun.
        """
        if self._pages < _FEW:
            yield [partial(part.write, self._writer) for part in parts]
            return
        given = (self._kept.folder("published"), self._kept.folder("local"), self._folder, self._stamp)
        most = max(1, min(_BESIDE, (os.cpu_count() or 1) - 1))
        # a fork would share the threads of the databases
        pool = ProcessPoolExecutor(most, get_context("spawn"), initializer=_begin, initargs=given)
        try:
            written = [pool.submit(_write_part, part) for part in parts]
            for part, future in zip(parts, written, strict=True):
                future.add_done_callback(partial(self._count_part, len(part.names)))
            yield [partial(self._take, part, future) for part, future in zip(parts, written, strict=True)]
        except BrokenProcessPool as error:
            raise CaniexportError(f"a process that wrote pages of the copy was ended from outside: {error}") from error
        finally:
            pool.shutdown(cancel_futures=True)

    def _take(self, part: _Part, future: Future[tuple[str, ...]]) -> None:
        """Write a part, or wait until the process that has begun it has; add what that could not read."""
        if future.cancel():
            part.write(self._writer)
        else:
            self._kept.add_problems(future.result())

    def _assets(self, packing: ThreadPoolExecutor) -> list[Future[Any]]:
        for name in ("style.css", "plain.css", "icon.svg", "search.js", "tables.js"):
            own = _HERE / name
            shutil.copyfile(own if own.exists() else _HERE.parent / name, self._folder / name)
        return downloads.write(self._kept, self._folder / "data", packing)

    def _count_part(self, pages: int, done: Future[tuple[str, ...]]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._count(pages)

    def _count(self, pages: int = 1) -> None:
        with self._counting:
            before, self._written = self._written, self._written + pages
            if before // _EACH != self._written // _EACH:
                self._say(f"{self._written} of {self._pages} pages")


@dataclass(frozen=True)
class _Part:
    """Pages that one process writes: of these cases, operators, themes or releases, or these files of upgrades."""

    kind: str
    names: tuple[str, ...]

    def write(self, writer: PageWriter) -> None:
        """Write them."""
        writes: Mapping[str, Callable[[Sequence[str]], None]] = {
            "upgrades": writer.write_upgrades,
            "cases": writer.write_cases,
            "operators": writer.write_operators,
            "themes": writer.write_themes,
            "releases": writer.write_releases,
        }
        writes[self.kind](self.names)


def _parts(kind: str, names: Sequence[str]) -> Iterator[_Part]:
    """Names in parts of :data:`_TOGETHER`."""
    for begin in range(0, len(names), _TOGETHER):
        yield _Part(kind, tuple(names[begin : begin + _TOGETHER]))


def _read_all(kept: Kept) -> None:
    """What pages of many cases and operators read, in one pass each."""
    views = Views.of(kept)
    if PERIOD in kept.profiles():
        views.include(PERIOD)
    views.hold()
    kept.all_sources()


#: in a process beside: the dataset and what writes its pages
_here: list[tuple[Kept, PageWriter]] = []


def _begin(published: Path | None, local: Path | None, folder: Path, stamp: str) -> None:
    """Open the dataset in a process beside."""
    kept = Kept.open(published, local)
    _read_all(kept)
    _here.append((kept, PageWriter(kept, folder, stamp, lambda: None)))


def _write_part(part: _Part) -> tuple[str, ...]:
    """Write a part in a process beside; gives what could not be read so far."""
    kept, writer = _here[0]
    part.write(writer)
    return kept.problems
