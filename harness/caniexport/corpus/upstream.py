"""What became of the sources upstream: ``cases/upstream.csv``, one reviewed file beside the case files.

One line for each thread whose state is known: ``source,kind,state,as_of,seen``. ``seen`` is the day on which somebody
looked; ``as_of`` the day that the state is of, empty where the copy that was looked at does not say how old it is. A
source without a line is not known, which is not the same as open.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from caniexport.model.corpus import LoadedCase
from caniexport.model.errors import CorpusError

FILE = "upstream.csv"
KINDS = ("issue", "pull request")
OPEN, CLOSED, MERGED = "open", "closed", "merged"
STATES = (OPEN, CLOSED, MERGED)


@dataclass(frozen=True)
class Thread:
    """The state of one source: ``kind`` of :data:`KINDS`, ``state`` of :data:`STATES`, days as ``2026-11-22``."""

    source: str
    kind: str
    state: str
    as_of: str
    seen: str


_COLUMNS = [field.name for field in fields(Thread)]


def read_threads(corpus: Mapping[str, LoadedCase]) -> dict[str, Thread]:
    """The threads of the files beside the case files, by source. Raises :class:`CorpusError` for a wrong line."""
    found: dict[str, Thread] = {}
    for folder in sorted({item.path.parent for item in corpus.values()}):
        found.update(read_file(folder / FILE))
    return found


def read_file(path: Path) -> dict[str, Thread]:
    """The threads of one file, by source; none where there is no file."""
    if not path.is_file():
        return {}
    found: dict[str, Thread] = {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines, None) != _COLUMNS:
            raise CorpusError(f"{path}: its first line is not {','.join(_COLUMNS)}")
        for cells in lines:
            thread = _parse_thread(cells, f"{path}:{lines.line_num}")
            if thread.source in found:
                raise CorpusError(f"{path}:{lines.line_num}: {thread.source} has a line already")
            found[thread.source] = thread
    return found


def make_rows(corpus: Mapping[str, LoadedCase]) -> list[dict[str, Any]]:
    """Rows of ``SOURCES``: the known threads that cases name."""
    named = {source for item in corpus.values() for source in item.cls.sources}
    return [asdict(thread) for source, thread in sorted(read_threads(corpus).items()) if source in named]


def _parse_thread(cells: list[str], where: str) -> Thread:
    if len(cells) != len(_COLUMNS):
        raise CorpusError(f"{where}: {len(cells)} columns, {len(_COLUMNS)} are needed ({','.join(_COLUMNS)})")
    thread = Thread(*cells)
    for name, value, words in (("kind", thread.kind, KINDS), ("state", thread.state, STATES)):
        if value not in words:
            raise CorpusError(f"{where}: {value!r} is no {name} ({', '.join(words)})")
    if thread.kind == KINDS[0] and thread.state == MERGED:
        raise CorpusError(f"{where}: an issue is not merged")
    for name, value in (("as_of", thread.as_of), ("seen", thread.seen or "-")):
        if value and not _is_day(value):
            raise CorpusError(f"{where}: {name} is {value!r}, no day like 2026-11-22")
    return thread


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
