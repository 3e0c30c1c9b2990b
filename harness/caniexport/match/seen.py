"""Every error of a dataset with the cells that have it: those of the measured cells and those that runtimes gave."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.answers.rows import NO_EXPORTER
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.store import sql

if TYPE_CHECKING:
    from caniexport.answers.select import CatalogueEntry
    from caniexport.store import Dataset

#: as users mostly call them first
_EXPORTERS = [member.value for member in Exporter]
#: how many ranks of exporters, and opsets, a number tells apart
_RANKS, _OPSETS = len(_EXPORTERS) + 1, 1000
#: what is no error: it works, or it was not asked
_SILENT = (*(status.value for status in WORKS), Status.MISMATCH.value, Status.SKIP.value)
#: texts that are one but for numbers are one error
_NUMBER = re.compile(r"\d+")
#: the opset that was asked for, as exporters say what it does not have
NAMED_OPSET = re.compile(r"to ONNX opset version (\d+)")


@dataclass(frozen=True)
class SeenAt:
    """The newest of the ``cells`` of one variant that have an error; ``runtime`` is set where one gave it later.

    ``others`` are the newest at other opsets, where the text names the opset: each opset with its release and exporter.
    """

    case: str
    variant: str
    torch: str
    exporter: str
    opset: int | None
    runtime: str = ""
    cells: int = 1
    others: tuple[tuple[int, str, str], ...] = ()

    def named(self, opset: int | None) -> tuple[str, str, int | None]:
        """Release, exporter and opset of the newest cell at an opset that a text names; of the newest of all else."""
        known = ((torch, exporter, other) for other, torch, exporter in self.others if other == opset)
        return next(known, (self.torch, self.exporter, self.opset))


@dataclass(frozen=True)
class SeenError:
    """An error text, and where it was seen."""

    text: str
    places: tuple[SeenAt, ...]

    @cached_property
    def cases(self) -> frozenset[str]:
        """The cases that have it."""
        return frozenset(place.case for place in self.places)


def read_seen(
    dataset: Dataset, entries: Mapping[tuple[str, str], CatalogueEntry], releases: Sequence[str]
) -> list[SeenError]:
    """Every error of a dataset; texts that differ in numbers only are one, told by the newest of them."""
    by_id: dict[str, dict[tuple[str, str], SeenAt]] = defaultdict(dict)
    beside = (*_of_cells(dataset, releases, "checker_id"), *_of_cells(dataset, releases, "warning_id"))
    for message_id, place in (*_of_cells(dataset, releases, "message_id"), *_of_runtimes(dataset), *beside):
        if (place.case, place.variant) in entries:
            by_id[message_id].setdefault((place.case, place.variant), place)
    texts = dataset.messages(by_id)
    merged: dict[str, tuple[str, dict[tuple[str, str], SeenAt]]] = {}
    for message_id, places in by_id.items():
        text = texts.get(message_id)
        if text:
            known = merged.setdefault(_NUMBER.sub("N", text), (text, {}))[1]
            for key, place in places.items():
                known[key] = _merged(known[key], place, text) if key in known else place
    return [SeenError(text, tuple(places.values())) for text, places in merged.values()]


def _merged(newest: SeenAt, place: SeenAt, text: str) -> SeenAt:
    """The newest cell with the count of both, and with the other's opset where the text names that."""
    opsets = {newest.opset, *(opset for opset, _, _ in newest.others)}
    is_other = place.opset is not None and place.opset not in opsets and named_opset(text) == place.opset
    other = ((place.opset, place.torch, place.exporter),) if is_other and place.opset else ()
    return replace(newest, cells=newest.cells + place.cells, others=newest.others + other)


def named_opset(text: str) -> int | None:
    """The opset that an error names as the one that was asked for."""
    found = NAMED_OPSET.search(text)
    return int(found[1]) if found else None


def _of_cells(dataset: Dataset, releases: Sequence[str], column: str) -> Iterator[tuple[str, SeenAt]]:
    """Failures by their error, wrong values by what was warned of, both by what the checker said of the file."""
    by = (column, "case", "variant", "status")
    fails = [status.value for status in Status if status.value not in _SILENT]
    taken = {"message_id": fails, "warning_id": [Status.MISMATCH.value], "checker_id": [*fails, Status.MISMATCH.value]}
    failing = {"status": tuple(taken[column])}
    measures = {"newest": _newest(releases), "cells": "count(*)"}
    newest: dict[tuple[str, str, str], tuple[int, int]] = {}
    for message_id, case, variant, _, place, cells in dataset.kept_groups(by, measures, failing):
        if message_id and case:
            key = (message_id, case, variant or PLAIN)
            known_place, known_cells = newest.get(key, (-1, 0))
            newest[key] = (max(place, known_place), cells + known_cells)
    harmless = set() if column == "message_id" else _harmless(dataset, column)
    for (message_id, case, variant), (place, cells) in sorted(newest.items(), key=lambda item: (-item[1][0], item[0])):
        if (message_id, case) not in harmless:
            yield message_id, SeenAt(case, variant, *_cell(place, releases), cells=cells)


def _harmless(dataset: Dataset, column: str) -> set[tuple[str, str]]:
    """What a case is warned of where it works, too: it does not say why the case fails elsewhere."""
    working = {"status": tuple(status.value for status in WORKS)}
    by = (column, "case", "status")
    return {(warning, case) for warning, case, *_ in dataset.kept_groups(by, {"n": "count(*)"}, working)}


def _of_runtimes(dataset: Dataset) -> Iterator[tuple[str, SeenAt]]:
    by = ("message_id", "case", "variant", "runtime", "status")
    releases = {"releases": "list(DISTINCT coalesce(runtime_version, '0'))"}
    for message_id, case, variant, runtime, status, found in dataset.run_groups(by, releases):
        if message_id and case and status not in _SILENT:
            yield message_id, SeenAt(case, variant or PLAIN, "", "", None, f"{runtime} {versions.ordered(found)[-1]}")


def _newest(releases: Sequence[str]) -> str:
    """SQL: of cells the newest release first, there the exporter that most people call: a number for :func:`_cell`."""
    known = ", ".join(map(sql.literal, releases))
    named = ", ".join(map(sql.literal, _EXPORTERS))
    release = f"coalesce(list_position([{known}]::VARCHAR[], torch), 0)"
    exporter = f"{len(_EXPORTERS)} + 1 - coalesce(list_position([{named}], exporter), {len(_EXPORTERS)} + 1)"
    return f"max(({release} * {_RANKS} + {exporter}) * {_OPSETS} + coalesce(opset, 0))::BIGINT"


def _cell(place: int, releases: Sequence[str]) -> tuple[str, str, int | None]:
    """Release, exporter and opset of such a number."""
    rest, opset = divmod(place, _OPSETS)
    release, rank = divmod(rest, _RANKS)
    exporter = _EXPORTERS[-rank] if rank else NO_EXPORTER
    return releases[release - 1] if release else "", exporter, opset or None
