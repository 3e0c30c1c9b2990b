"""Which dataset answers, how old it is, and where a newer one is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from caniexport.home import Home, holds_dataset
from caniexport.home.data_package import PACKAGE, find_package, read_version
from caniexport.store import Dataset
from caniexport.store.sql import moment


@dataclass(frozen=True)
class DataSource:
    """A dataset that is here.

    name      ``checkout``, ``results`` (of the folder that the user is in), ``caniexport-data`` or ``local``
    version   of the published rows; ``None`` for rows that nobody published
    answers   whether commands read it here
    rows      how many cells it has, of how many ``releases`` of torch
    newest    when the newest of its rows was measured; ``days`` ago
    """

    name: str
    folder: Path
    version: str | None
    answers: bool
    rows: int
    releases: int
    newest: datetime | None
    days: int | None


@dataclass(frozen=True)
class DataSources:
    """The datasets that are here, those that answer first; ``newer`` says where newer rows are."""

    sources: tuple[DataSource, ...]
    newer: str


def data_sources(home: Home, now: datetime) -> DataSources:
    """The published dataset and this machine's rows, as commands read them, and the installed package beside them."""
    package = find_package()
    found = [_source(_name(home, package), home.published, True, now)]
    if holds_dataset(home.local):
        found.append(_source("local", home.local, True, now))
    if package is not None and package != home.published:
        found.append(_source(PACKAGE, package, False, now))
    return DataSources(tuple(found), _newer(found))


def _name(home: Home, package: Path | None) -> str:
    if home.own_results is None:
        return "checkout"
    return PACKAGE if home.published == package else "results"


def _source(name: str, folder: Path, answers: bool, now: datetime) -> DataSource:
    published, local = (None, folder) if name == "local" else (folder, None)
    measures = {"rows": "count(*)", "newest": 'epoch_us(max("measured_at"))'}
    found = Dataset.open(published, local).grouped(("torch",), measures)
    newest = max((moment(at) for _, _, at in found if at is not None), default=None)
    days = None if newest is None else max(0, (now - newest).days)
    version = read_version(folder) if published else None
    releases = sum(torch is not None for torch, _, _ in found)
    rows = sum(rows for _, rows, _ in found)
    return DataSource(name, folder, str(version) if version else None, answers, rows, releases, newest, days)


def _newer(found: list[DataSource]) -> str:
    """Where rows newer than the published ones that answer are, or may be."""
    first, *others = found
    for source in others:
        if source.version and first.newest and source.newest and source.newest > first.newest:
            return f"{source.name} {source.version} has newer rows; it answers where no other dataset is"
    ways = {"checkout": "git pull brings what was published since", "results": "remove it, and the package answers"}
    return ways.get(first.name, f"pip install --upgrade {PACKAGE} brings what was published since")
