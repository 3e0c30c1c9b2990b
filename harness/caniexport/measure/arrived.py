"""Deliveries that have come from other machines: read, kept beside those that came before, and put together by release.

What a delivery says of itself (its verdict, its counts) is not believed. Whose rows they are is: a delivery that names
a contributor, or is brought in ``by`` one, stays that contributor's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caniexport.gate import contributed
from caniexport.measure.deliveries import SHARDS, Row, key_of, lines
from caniexport.model import plan, releases
from caniexport.model.errors import CaniexportError, UnknownName
from caniexport.profiles import find_profile
from caniexport.store.journal_reader import Entries, read_journal
from caniexport.store.writer import replace_file

if TYPE_CHECKING:
    from caniexport.home import Home
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.plan import Cell
    from caniexport.model.releases import Release

#: an environment and a run in it
Run = tuple[str | None, str | None]


class UnusableDeliveryError(CaniexportError):
    """A file whose rows cannot be judged."""


class Contributor(NamedTuple):
    """Who hands rows in, and where they were measured, in their own words; empty for this project's own."""

    by: str = ""
    at: str = ""


class Origin(NamedTuple):
    """What the rows of a delivery are of: a torch release with the packages of a profile, on a provider."""

    torch: str
    profile: str
    provider: str

    @property
    def environment(self) -> str:
        """The tox environment that makes such rows."""
        return releases.environment_name(self.torch, self.profile, self.provider)


@dataclass(frozen=True)
class Delivery:
    """A file of rows, by whatever name a person knows it, and the bytes that are kept of it."""

    name: str
    data: bytes
    entries: Entries
    origin: Origin

    @property
    def digest(self) -> str:
        """Sixteen hex digits of its content."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @property
    def environments(self) -> dict[Run, Row]:
        """The environment's row of each run: of several the one that was written last."""
        return {run_of(row): row for row in self.entries.environments}


def run_of(row: Row) -> Run:
    """The run that a row is of."""
    return row["env_id"], row["run_id"]


def read_delivery(path: Path, entries: Entries, whose: Contributor | None = None) -> Delivery:
    """The delivery in a file. Raises :class:`UnusableDeliveryError`."""
    data = path.read_bytes()
    origin = _origin(path.name, entries)
    if whose and whose.by:
        entries.environments[:] = [_named(row, whose) for row in entries.environments]
        data = b"".join(lines(entries.environments, entries.cells, entries.messages))
    return Delivery(path.name, data, entries, origin)


def _origin(name: str, entries: Entries) -> Origin:
    known = {run_of(row): row for row in entries.environments}
    if any(run_of(row) not in known for row in entries.cells):
        raise UnusableDeliveryError(f"{name}: rows of a run whose environment is not in the file")
    found = {
        Origin(row["torch"] or "", known[run_of(row)]["profile"] or "newest", row["provider"] or "")
        for row in entries.cells
    }
    if len(found) != 1:
        raise UnusableDeliveryError(f"{name}: rows of {len(found)} releases or profiles, where one is wanted")
    origin = next(iter(found))
    try:
        find_profile(origin.profile)
        releases.find(origin.torch)
    except UnknownName as error:
        raise UnusableDeliveryError(f"{name}: {error}") from error
    return origin


def _named(environment: Row, whose: Contributor) -> dict[str, Any]:
    """The row of an environment with whose it is; a file that says so itself is believed."""
    return {
        **environment,
        "contributor": contributed.name(environment["contributor"] or whose.by),
        "contributed_from": contributed.name(environment["contributed_from"] or whose.at) or None,
    }


@dataclass(frozen=True)
class ArrivedRelease:
    """All deliveries of one release, and what they are held against: the cells of the release as they are here.

    rows      of each delivery those whose cells are in the plan, in the order of ``deliveries``
    outdated  how many others there are: their case has changed since, or is not in this corpus
    kept      digests of the deliveries that lie in the local dataset
    """

    origin: Origin
    home: Home
    release: Release
    plan: Sequence[Cell]
    deliveries: Sequence[Delivery]
    rows: Sequence[Sequence[Row]]
    outdated: int
    kept: frozenset[str]

    def keep(self, new: Iterable[Delivery]) -> None:
        """Put those of these deliveries that are of this release beside the ones that have come before."""
        for item in new:
            if item.origin == self.origin and item.digest not in self.kept:
                path = self.home.local / SHARDS / f"{self.origin.environment}-{item.digest}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, item.data)

    @property
    def every_row(self) -> Iterator[Row]:
        """The rows of all deliveries."""
        return (row for some in self.rows for row in some)

    @property
    def rows_once(self) -> list[Row]:
        """The rows of all deliveries, a cell of a run that several have once; the same in any order of deliveries."""
        key = ("case", "variant", "exporter", "opset", "run_id", "env_id")
        return list({tuple(row[name] for name in key): row for row in sorted(self.every_row, key=str)}.values())

    @property
    def rows_by_run(self) -> dict[Run, list[Row]]:
        """The rows of each run, from all deliveries, each once."""
        found: dict[Run, list[Row]] = {}
        for row in self.rows_once:
            found.setdefault(run_of(row), []).append(row)
        return found

    @property
    def environments(self) -> dict[Run, Row]:
        """The environment's row of each run; where files differ, one with a contributor, then of a run that ended."""
        rows = [
            (row["contributor"] is not None, row["planned"] is not None, str(row), run, row)
            for item in self.deliveries
            for run, row in item.environments.items()
        ]
        return {run: row for *_, run, row in sorted(rows, key=lambda entry: entry[:3])}

    def cell_name(self, row: Row) -> str:
        """The name of a row's cell: ``torch/case/variant/exporter/opset``."""
        opset = "default" if row["opset"] is None else str(row["opset"])
        return "/".join((self.origin.torch, row["case"], row["variant"], row["exporter"], opset))


def arrived_releases(arrived: Iterable[Delivery], home: Home, corpus: Mapping[str, LoadedCase]) -> list[ArrivedRelease]:
    """Deliveries by release, each with those that have come before; each content once."""
    arrived = list(arrived)
    return [
        _arrived_release(origin, home.of(origin.profile), corpus, [item for item in arrived if item.origin == origin])
        for origin in sorted({item.origin for item in arrived})
    ]


def _arrived_release(
    origin: Origin, home: Home, corpus: Mapping[str, LoadedCase], arrived: Sequence[Delivery]
) -> ArrivedRelease:
    release = releases.find(origin.torch)
    cells = plan.cells(dict(corpus), release, origin.provider)
    keys = {cell.key for cell in cells}
    paths = sorted((home.local / SHARDS).glob(f"{origin.environment}-*.jsonl"))
    # one that was cut off before its first cell says nothing yet
    kept = [read_delivery(path, entries) for path in paths if (entries := read_journal(path)).cells]
    by_digest = {item.digest: item for item in reversed([*arrived, *kept])}
    deliveries = [by_digest[digest] for digest in sorted(by_digest)]
    rows = [[row for row in item.entries.cells if row["case"] and key_of(row) in keys] for item in deliveries]
    outdated = sum(len(item.entries.cells) for item in deliveries) - sum(map(len, rows))
    kept_digests = frozenset(item.digest for item in kept)
    return ArrivedRelease(origin, home, release, cells, deliveries, rows, outdated, kept_digests)
