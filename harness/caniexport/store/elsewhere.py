"""Cells as they end on a runtime of one's choice: the rows of cells joined with the runs of their bundles, in SQL.

A cell that never reached a runtime (its export failed, its opset was refused) is the same on every runtime. One that
was measured on the runtime asked for is itself. For the others the run of its bundle is used; where the bundle was not
run there, the cell was not measured there (``not_run``): it neither passes nor fails. A row whose file onnx's checker
refused (older rows end there) is the same everywhere but where its file was run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from caniexport.model.case import PLAIN
from caniexport.model.status import Stage, Status
from caniexport.store import sql, which_row

#: a cell that ends here has not reached its runtime
BEFORE_RUNTIME = (Stage.RESOLVE, Stage.IMPORT, Stage.EAGER, Stage.EXPORT, Stage.CHECK)
#: the same, for SQL
BEFORE = ", ".join(sql.literal(stage.value) for stage in BEFORE_RUNTIME)
#: that a file is not as asked: of the original the columns tell, a workaround may ask for another exporter or opset
NOT_AS_ASKED = (
    f"(c.status = 'degraded' OR (c.variant = {sql.literal(PLAIN)} AND c.exporter <> 'default' AND "
    "(c.exporter_effective <> c.exporter OR c.opset_effective <> c.opset)))"
)
_CHECK = sql.literal(Stage.CHECK.value)
_PLACE = tuple(name for name in which_row.CELL if name != "provider")


class Runtime(NamedTuple):
    """A release of a runtime on a provider: ``onnxruntime``, ``1.31.1``, ``cpu``."""

    name: str
    version: str
    provider: str

    @property
    def text(self) -> str:
        """``onnxruntime 1.31.1``; the provider where it is not cpu, or that nothing is run."""
        where = {"cpu": "", "none": " (parse and build)"}.get(self.provider, f" on {self.provider}")
        return f"{self.name} {self.version}{where}"


@dataclass(frozen=True)
class OnRuntime:
    """The runtime that is asked about; ``asking`` are the variants whose runs have session options of their own."""

    runtime: Runtime
    asking: frozenset[tuple[str, str]] = frozenset()

    @property
    def where(self) -> dict[str, tuple[str]]:
        """The runs that are used."""
        names = ("runtime", "runtime_version", "provider")
        return {name: (value,) for name, value in zip(names, self.runtime, strict=True)}


def move_cells(cells: str, runs: str, on: OnRuntime) -> str:
    """The relation ``cells`` on another runtime, where ``runs`` are the runs there."""
    here = (
        f"(c.exporter IS NULL OR (c.stage IN ({BEFORE}) AND NOT (c.stage = {_CHECK} AND r.status IS NOT NULL)) OR "
        f"({_equals('c.runtime', on.runtime.name)} AND {_equals('c.runtime_version', on.runtime.version)} "
        f"AND {_equals('c.provider', on.runtime.provider)}))"
    )
    replaced = ", ".join(f"{value} AS {name}" for name, value in _values(here, on.runtime).items())
    asks = _has_options("c", on.asking)
    return (
        f"SELECT c.* REPLACE ({replaced}) FROM ({_choose_rows(cells, on.runtime)}) c "
        f"LEFT JOIN ({which_row.choose_rows(runs, 'runs', ('bundle', 'asks'))}) r "
        f"ON c.bundle = r.bundle AND (r.session IS NOT NULL) = {asks}"
    )


def _values(here: str, to: Runtime) -> dict[str, str]:
    """What each column becomes. A file that is not as asked stays so wherever it runs."""
    status = (
        f"CASE WHEN {here} THEN c.status WHEN r.status IS NULL THEN '{Status.NOT_RUN.value}' "
        f"WHEN r.status = 'pass' AND {NOT_AS_ASKED} THEN 'degraded' ELSE r.status END"
    )
    own = {
        name: f"CASE WHEN {here} THEN c.{name} ELSE r.{name} END"
        for name in ("signature", "message_id", "env_id", "run_id", "measured_at", "unstable")
    }
    stage = f"CASE WHEN {here} THEN c.stage ELSE coalesce(r.stage, '{Stage.LOAD.value}') END"
    origin = f"CASE WHEN {here} THEN c.origin ELSE coalesce(r.origin, c.origin) END"
    places = {"runtime": to.name, "runtime_version": to.version, "provider": to.provider}
    return {
        "status": status,
        "stage": stage,
        "origin": origin,
        **own,
        **{name: sql.literal(value) for name, value in places.items()},
    }


def _choose_rows(cells: str, to: Runtime) -> str:
    """One row for each cell, whatever it was measured on: first what was measured where it is asked for."""
    same = f"({_equals('runtime', to.name)} AND {_equals('runtime_version', to.version)})"
    provider = f"provider = {sql.literal(to.provider)}"
    rank = f"({same} AND {provider}) DESC, {provider} DESC, provider = 'cpu' DESC"
    return which_row.choose_rows(cells, "cells", _PLACE, rank)


def _has_options(table: str, asking: Collection[tuple[str, str]]) -> str:
    if not asking:
        return "false"
    pairs = ", ".join(f"({sql.literal(case)}, {sql.literal(variant)})" for case, variant in sorted(asking))
    return f'(({table}."case", {table}.variant) IN ({pairs}))'


def _equals(column: str, value: str) -> str:
    return f"{column} = {sql.literal(value)}"
