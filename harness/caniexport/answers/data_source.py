"""Which dataset answers, how old it is, and where a newer one is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Table
from caniexport.home import Home, holds_dataset
from caniexport.home.data_package import PACKAGE, find_package, read_version
from caniexport.names import plural
from caniexport.store import Dataset
from caniexport.store.sql import moment


class DataSource(NamedTuple):
    """A dataset that is here: ``checkout``, ``results`` (of the folder that the user is in), ``caniexport-data``,
    ``local`` (rows of this machine). ``newest`` is when the newest of its ``rows`` was measured.
    """

    name: str
    version: str
    rows: int
    releases: int
    newest: datetime | None
    answers: bool
    folder: Path

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The same as a row of a table."""
        day = f"{self.newest:%Y-%m-%d}" if self.newest else ""
        answers = "yes" if self.answers else "no"
        return self.name, self.version, f"{self.rows:,}", self.releases, day, answers, str(self.folder)


def data_sources(home: Home, now: datetime) -> Answer:
    """List the published dataset and this machine's rows, as commands read them, and the installed data package."""
    package = find_package()
    name = "checkout" if home.own_results is None else PACKAGE if home.published == package else "results"
    found = [_source(name, home.published, answers=True)]
    if holds_dataset(home.local):
        found.append(_source("local", home.local, answers=True))
    if package is not None and package != home.published:
        found.append(_source(PACKAGE, package, answers=False))
    first = found[0]
    held = f"{plural(first.rows, 'row')} of {plural(first.releases, 'torch release')}"
    aged = f", the newest {plural(max(0, (now - first.newest).days), 'day')} old" if first.newest else ""
    columns = ("dataset", "version", "rows", "torch releases", "newest row", "answers here", "folder")
    return Answer(
        f"Dataset {first.version or 'without a version'} ({first.name}): {held}{aged}.",
        AnswerOutcome.LISTED,
        (Table("", columns, tuple(item.cells for item in found)),),
        (_newer(found),),
    )


def _source(name: str, folder: Path, *, answers: bool) -> DataSource:
    published, local = (None, folder) if name == "local" else (folder, None)
    measures = {"rows": "count(*)", "newest": 'epoch_us(max("measured_at"))'}
    found = Dataset.open(published, local).grouped(("torch",), measures)
    newest = max((moment(at) for _, _, at in found if at is not None), default=None)
    version = read_version(folder) if published else None
    releases = sum(torch is not None for torch, _, _ in found)
    rows = sum(rows for _, rows, _ in found)
    return DataSource(name, str(version or ""), rows, releases, newest, answers, folder)


def _newer(found: list[DataSource]) -> str:
    """Return where newer rows are, or how to get them."""
    first, *others = found
    for source in others:
        if source.version and first.newest and source.newest and source.newest > first.newest:
            return f"{source.name} {source.version} has newer rows; it answers where no other dataset is."
    advice = {"checkout": "git pull brings what was published since.", "results": "Remove it, and the package answers."}
    return advice.get(first.name, f"pip install --upgrade {PACKAGE} brings what was published since.")
