"""A dataset's rows as they lie in its folders: which file, or which lines of journals, a question needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caniexport.model.errors import StoreError
from caniexport.store import files
from caniexport.store.writer import file_name

#: tables of which a dataset has several files
WITH_FILES = ("cells", "runs")

Filters = Mapping[str, frozenset[Any]]


@dataclass
class Part:
    """All rows of a table, of cells and replays those of one release: files by origin, and rows still in journals."""

    table: str
    name: str
    paths: dict[str, Path] = field(default_factory=dict)
    fresh: list[dict[str, Any]] | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no two of its rows can have the same identity: the writer keeps them apart within a file."""
        return self.fresh is None and len(self.paths) < 2

    def may_match(self, filters: Filters) -> bool:
        """Whether a row of this part could pass the filters, by the part's name alone."""
        release, _, provider = self.name.removesuffix(".parquet").rpartition("-")
        if self.table not in WITH_FILES:
            return True
        if self.table == "runs":
            return _allows(filters, "runtime", release) and _allows(filters, "provider", provider)
        if not release.startswith("torch-"):
            return "torch" not in filters or None in filters["torch"]
        torch = release.removeprefix("torch-")
        return _allows(filters, "torch", torch) and _allows(filters, "provider", provider)


def find_parts(
    table: str, folders: Mapping[str, Path], fresh: Iterable[dict[str, Any]], problems: list[str]
) -> list[Part]:
    """The parts of a table in these folders by origin, by name; ``fresh`` rows are local ones that journals hold.

    ``problems`` gets a sentence for each file that cannot be used.
    """
    parts: dict[str, Part] = {}
    for origin, folder in folders.items():
        pattern = f"{table}/*.parquet" if table in WITH_FILES else f"{table}.parquet"
        usable, lost = files.find_usable(sorted(folder.glob(pattern)))
        problems += lost
        for path in usable:
            parts.setdefault(path.name, Part(table, path.name)).paths[origin] = path
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in fresh:
        name = file_name(table, row) if table in WITH_FILES else f"{table}.parquet"
        by_name.setdefault(name, []).append(row)
    for name, rows in by_name.items():
        parts.setdefault(name, Part(table, name)).fresh = rows
    return [parts[name] for name in sorted(parts)]


def leave_out_damaged(parts: Sequence[Part], problems: list[str]) -> bool:
    """Leave out files that cannot be read to their end, note them in ``problems``; return whether there was one."""
    found = False
    for part in parts:
        for origin, path in list(part.paths.items()):
            try:
                files.read_to_end(path)
            except StoreError as error:
                problems.append(str(error))
                del part.paths[origin]
                found = True
    return found


def _allows(filters: Filters, name: str, value: str) -> bool:
    return name not in filters or value in filters[name]
