"""A dataset as answers read it: the catalogue, what was measured in all, and the cells that an answer looks at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from caniexport import versions
from caniexport.answers.installed import Installed, installations
from caniexport.answers.rows import COLUMNS, NO_EXPORTER, MeasuredCell, cells
from caniexport.bundles import probes
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind
from caniexport.store import Dataset
from caniexport.store.elsewhere import On, Runtime
from caniexport.store.onnx_graph import Graph
from caniexport.store.sql import Where

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[str, str]
DatasetT = TypeVar("DatasetT", bound=Dataset)

#: the columns of a kept case by which it is looked through first
_FIRST = ("exporter", "torch")
#: cases whose cells are kept at once
MOST_CASES = 16
#: questions whose cells are kept, and the most cells that one of them may have: all of a release at one opset
_MOST_READS, _MOST_CELLS = 4, 40_000


@dataclass(frozen=True)
class CatalogueEntry:
    """One variant of a case, as the dataset's catalogue describes it; empty words where there are only rows of it."""

    case: str
    variant: str
    title: str = ""
    theme: str = ""
    corpus: str = ""
    kind: str = PLAIN
    note: str = ""
    caution: bool = False
    documented: bool = True
    needs_torch: str = ""
    ops: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    code: str = ""
    changes_values: bool = False


class _Place(NamedTuple):
    """How many cells were measured of a release, opset and provider by one exporter."""

    torch: str
    opset: int | None
    provider: str | None
    cells: int


class _KeptCase:
    """The cells of a case with their files, and those of them that were asked for."""

    def __init__(self) -> None:
        self.cells: list[tuple[MeasuredCell, str | None]] = []
        self._asked: dict[tuple[tuple[str, frozenset[Any]], ...], list[tuple[MeasuredCell, str | None]]] = {}

    def cells_of(self, taken: Where) -> list[tuple[MeasuredCell, str | None]]:
        """Those with these values, one column after the other: what several questions begin with is found once."""
        found = self.cells
        asked: tuple[tuple[str, frozenset[Any]], ...] = ()
        for column in sorted(taken, key=lambda column: (column not in _FIRST, column)):
            values = frozenset(taken[column])
            asked = (*asked, (column, values))
            kept = self._asked.get(asked)
            if kept is None:
                value = attrgetter(column)
                kept = self._asked[asked] = [pair for pair in found if value(pair[0]) in values]
            found = kept
        return found


class Rows:
    """A dataset, each part of it read when it is first asked for, and then kept.

    ``runtimes`` asks for a cell on every version of a runtime it was measured on; else one row is used.
    """

    def __init__(self, dataset: Dataset, *, runtimes: bool = False, on: On | None = None) -> None:
        #: the one release that the files ran on, ``onnxruntime 1.15.1``; empty of that beside each release of torch
        self.runtime = on.runtime.text if on else ""
        self._dataset = dataset
        self._runtimes = runtimes
        #: what answers keep for the next one, by their own names
        self.beside: dict[Any, Any] = {}
        self._moved_to = on
        self._kept_cases: dict[str, _KeptCase] = {}
        self._kept_reads: dict[Any, list[MeasuredCell]] = {}

    def on(self, runtime: Runtime) -> Rows:
        """The same cells as they end on one release of a runtime; a file that it has not run was not measured."""
        asking = frozenset(key for key, entry in self.catalogue.items() if entry.kind == FixKind.RUNTIME_OPTION.value)
        made = Rows(self._dataset, on=On(runtime, asking))
        # what there is does not depend on where it ran
        for name in ("catalogue", "_places", "own_runtimes", "runtimes"):
            made.__dict__[name] = getattr(self, name)
        kept: Rows = self._dataset.beside.setdefault(f"rows on {runtime.text}", made)
        return kept

    def under(self, profile: str) -> Rows:
        """The same of another profile: what is installed beside torch."""
        return self if profile == self._dataset.profile else load(self._dataset.of(profile))

    @property
    def profile(self) -> str:
        """What is installed beside torch."""
        return self._dataset.profile

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that have rows, ``newest`` first."""
        return self._dataset.profiles()

    @cached_property
    def installed(self) -> tuple[Installed, ...]:
        """What was installed in each environment that has rows, of every profile."""
        datasets = [self._dataset.of(name) for name in self._dataset.profiles()]
        return tuple(item for dataset in datasets for item in installations(dataset))

    def cells(self, **where: Iterable[Any]) -> list[MeasuredCell]:
        """The measured cells whose columns have one of these values; environment cases are not among them."""
        kept = self._of_kept_case(_taken(where))
        if kept is not None:
            return [cell for cell, _ in kept]
        return [cell for cell in self._read(where) if cell.exporter != NO_EXPORTER]

    def with_files(self, **where: Iterable[Any]) -> list[tuple[MeasuredCell, str | None]]:
        """The same cells, each with the content hash of its exported file."""
        taken = _taken(where)
        kept = self._of_kept_case(taken)
        if kept is not None:
            return kept
        rows = self._dataset.select((*COLUMNS, "bundle"), taken, runtimes=self._runtimes, on=self._moved_to)
        named = [row for row in rows if row[1] is not None]
        found = zip(cells(row[:-1] for row in named), (row[-1] for row in named), strict=True)
        return [(cell, bundle) for cell, bundle in found if cell.exporter != NO_EXPORTER]

    def frame(self, **where: Iterable[Any]) -> pd.DataFrame:
        """The same cells, and those of environment cases, with all columns of the row contract and ``origin``."""
        return self._dataset.frame(_taken(where), runtimes=self._runtimes, on=self._moved_to)

    def of_case(self, case: str) -> list[tuple[MeasuredCell, str | None]]:
        """All cells of a case with their files, kept for the questions about it that a page goes on to ask."""
        kept = self._kept_cases.get(case)
        if kept is None:
            kept = self.keep_cases((case,)).get(case)
        # another thread may have kept it, or dropped it, meanwhile
        return kept.cells if kept is not None else self.with_files(case=(case,))

    def keep_cases(self, cases: Iterable[str]) -> dict[str, _KeptCase]:
        """Read those of some cases that are not kept, at once: a question about one of them then asks no file."""
        new = {case: _KeptCase() for case in cases if case not in self._kept_cases}
        for pair in self.with_files(case=new) if new else ():
            new[pair[0].case].cells.append(pair)
        if len(self._kept_cases) + len(new) > MOST_CASES:
            self._kept_cases.clear()
        self._kept_cases |= new
        return new

    def _of_kept_case(self, taken: Where) -> list[tuple[MeasuredCell, str | None]] | None:
        """The cells with these values of one case that is kept; ``None`` where another is asked for, or several."""
        cases = tuple(taken.get("case", ()))
        kept = self._kept_cases.get(cases[0]) if len(cases) == 1 else None
        if kept is None:
            return None
        return list(kept.cells_of({column: values for column, values in taken.items() if column != "case"}))

    def grouped(
        self, by: Sequence[str], measures: Mapping[str, str], where: Mapping[str, Iterable[Any]]
    ) -> list[tuple[Any, ...]]:
        """Measures (SQL over the columns of ``CELLS``) of groups of cells, each cell counted once."""
        return self._dataset.grouped(by, measures, _taken(where), on=self._moved_to)

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The operators that the newest release's torch or onnx lists."""
        tables = self._dataset.records("declared", {"release": self.torch[-1:]})
        return tuple(dict.fromkeys(row["op"] for row in tables))

    def files(self, torch: str, exporter: str) -> list[dict[str, Any]]:
        """The cells of a release and exporter that have a file, with its content hash."""
        where = {"torch": (torch,), "exporter": (exporter,)}
        return [row for row in self._named(("case", "variant", "exporter", "opset", "bundle"), where) if row["bundle"]]

    def _named(self, columns: Sequence[str], where: Where) -> list[dict[str, Any]]:
        return [dict(zip(columns, row, strict=True)) for row in self._dataset.select(columns, where)]

    def graphs(self, bundles: Iterable[str]) -> list[tuple[str, Graph]]:
        """The published graphs of files, by their content hash."""
        found = self._dataset.records("graphs", {"bundle": tuple(bundles)})
        return [(row["bundle"], Graph.from_json(row["graph"])) for row in found]

    def probes(self, statuses: Iterable[str]) -> list[tuple[str, str, str, str, str]]:
        """Runtime, version, provider, case and variant of the probes that ended so."""
        by = ("runtime", "runtime_version", "provider", "case", "variant")
        found = self._dataset.run_groups(by, {}, {"corpus": (probes.CORPUS,), "status": tuple(statuses)})
        return [(row[0], row[1], row[2], row[3], row[4]) for row in found]

    @cached_property
    def environment(self) -> list[MeasuredCell]:
        """The cells of environment cases: what is installed beside each other, no exporter asked."""
        return self._read({"exporter": (None,)})

    def _read(self, where: dict[str, Iterable[Any]]) -> list[MeasuredCell]:
        taken = _taken(where)
        key = frozenset((name, frozenset(values)) for name, values in taken.items())
        found = self._kept_reads.pop(key, None)
        if found is None:
            rows = self._dataset.select(COLUMNS, taken, runtimes=self._runtimes, on=self._moved_to)
            # a row without a case is a release that could not be entered
            found = cells(row for row in rows if row[1] is not None)
        if len(found) <= _MOST_CELLS:
            self._kept_reads[key] = found
            for oldest in list(self._kept_reads)[:-_MOST_READS]:
                del self._kept_reads[oldest]
        return list(found)

    @cached_property
    def catalogue(self) -> dict[Key, CatalogueEntry]:
        """By (case, variant), in reading order, the fixes that change values behind the others: what is described, and
        what was measured of a case nobody describes.
        """
        found = {(row["case"], row["variant"]): _entry(row) for row in self._dataset.records("cases")}
        described = {case for case, _ in found}
        for case, variant in self._dataset.distinct(("case", "variant")):
            # rows of a fix that its case no longer has are history, not an answer
            if case is not None and case not in described:
                key = (case, variant or PLAIN)
                found[key] = CatalogueEntry(*key, corpus=CANARY if case.startswith(CANARY) else "")
        ranked = sorted(found, key=lambda key: (found[key].theme, key[0], key[1] != PLAIN, found[key].changes_values))
        return {key: found[key] for key in ranked}

    def entries(self, case: str) -> list[CatalogueEntry]:
        """The entries of a case in the catalogue, its failing form first; none of an unknown one."""
        return self._by_case.get(case, [])

    @cached_property
    def _by_case(self) -> dict[str, list[CatalogueEntry]]:
        found: dict[str, list[CatalogueEntry]] = defaultdict(list)
        for (case, _), entry in self.catalogue.items():
            found[case].append(entry)
        return dict(found)

    @cached_property
    def _places(self) -> list[_Place]:
        rows = self._dataset.counted(("torch", "exporter", "opset", "provider"), {"cells": "sum(cells)"})
        return [_Place(torch or "", opset, provider, count) for torch, by, opset, provider, count in rows if by]

    @cached_property
    def torch(self) -> tuple[str, ...]:
        """The measured releases, oldest first."""
        return tuple(versions.ordered(place.torch for place in self._places))

    @cached_property
    def providers(self) -> tuple[str, ...]:
        """The providers that anything was measured on."""
        return tuple(sorted({place.provider for place in self._places if place.provider}))

    @cached_property
    def runtimes(self) -> tuple[Runtime, ...]:
        """The releases of runtimes that ran files of the corpus, oldest first within a name and provider."""
        found = self._dataset.runtimes()
        return tuple(sorted(found, key=lambda one: (one.name, one.provider, versions.parse(one.version))))

    @cached_property
    def own_runtimes(self) -> dict[tuple[str, str], Runtime]:
        """By (torch, provider): the runtime that most cells were measured on, installed beside the release."""
        by = ("torch", "provider", "runtime", "runtime_version")
        counted = self._dataset.counted(by, {"cells": "sum(cells)"})
        found: dict[tuple[str, str], tuple[int, Runtime]] = {}
        for torch, provider, name, version, cells_ in counted:
            if None not in (torch, provider, name, version) and cells_ > found.get((torch, provider), (0,))[0]:
                found[torch, provider] = cells_, Runtime(name, version, provider)
        return {key: runtime for key, (_, runtime) in found.items()}

    @cached_property
    def opsets(self) -> tuple[int, ...]:
        """The opsets that anything was asked for, ascending."""
        return tuple(sorted({place.opset for place in self._places if place.opset is not None}))

    @cached_property
    def measured_at(self) -> str | None:
        """When the newest run was made, as text in UTC; ``None`` where there is none."""
        times = [row["measured_at"] for row in self._dataset.records("environments") if row["measured_at"]]
        return max(times).isoformat() if times else None

    @cached_property
    def count(self) -> int:
        """How many cells were measured."""
        return sum(place.cells for place in self._places)

    @cached_property
    def local(self) -> int:
        """How many of them were measured on this machine."""
        counted = self._dataset.counted(("exporter",), {"cells": "sum(cells)"}, {"origin": ("local",)})
        return sum(number for exporter, number in counted if exporter)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was measured or tried and is not used: quarantined runs, releases that cannot be entered."""
        return tuple(self._silent())

    def _silent(self) -> Iterator[str]:
        lost = self._dataset.select(("torch", "message_id"), {"case": (None,)})
        lost = [row for row in lost if row[0] not in self.torch]
        texts = self._dataset.messages(message for _, message in lost)
        for torch, message in lost:
            reason = texts.get(message, "").strip().split("\n")[0]
            yield f"torch {torch} could not be measured: {reason or 'no reason was kept'}"
        for row in self._dataset.silenced():
            of = f"torch {row['torch']}" if row["torch"] else row["release"]
            yield f"{of}: the rows of run {row['run_id']} are left out: {row['gate']}"


def load(dataset: Dataset, *, runtimes: bool = False) -> Rows:
    """The dataset as answers read it; see :class:`Rows`. Rows without ``runtimes`` are read once for a dataset."""
    if runtimes:
        return Rows(dataset, runtimes=True)
    kept: Rows = dataset.beside.setdefault("rows", Rows(dataset))
    return kept


def move_to_runtime(dataset: DatasetT, runtime: Runtime) -> DatasetT:
    """The same dataset with every file as it ends on one release of a runtime."""
    moved = copy(dataset)
    moved.beside = {"rows": load(dataset).on(runtime)}
    return moved


def _taken(where: Mapping[str, Iterable[Any]]) -> Where:
    return {name: tuple(values) for name, values in where.items()}


def _entry(row: dict[str, Any]) -> CatalogueEntry:
    words: dict[str, Any] = {
        name: row[name] or "" for name in ("title", "theme", "corpus", "kind", "note", "needs_torch", "code")
    }
    return CatalogueEntry(
        row["case"],
        row["variant"],
        **words,
        caution=bool(row["caution"]),
        documented=row["documented"] is not False,
        ops=(*(row["aten_ops"] or ()), *(row["onnx_ops"] or ())),
        sources=tuple(row["sources"] or ()),
        changes_values=bool(row["changes_values"]),
    )
