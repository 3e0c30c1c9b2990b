"""The answers as Python functions: frozen dataclasses, and pandas frames where rows are asked for.

::

    import caniexport

    here = caniexport.open_dataset()                           # what is published, and this machine's rows before it
    caniexport.workarounds(here, cases=["cross-no-symbolic"])  # needed, obsolete, broken, harmful, unknown
    caniexport.upgrade(here, "torch=2.8.0", "torch=2.9.1")     # what breaks, which axis did it
    caniexport.cells(here, torch="2.8.0", status="mismatch")   # rows as a frame

Every function takes the open dataset first. Filters are keyword arguments, one name or several, as the commands take:
``cases, variants, torch, opsets, exporters, providers, statuses, themes, ops``. A name that nobody knows raises
:class:`caniexport.model.errors.UnknownName` with the nearest ones; a dataset that cannot be read raises
:class:`caniexport.model.errors.StoreError`. Nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from caniexport.alerts.report import Report
    from caniexport.answers import Claims, Filters, Table, Why, Workarounds
    from caniexport.answers.history import History
    from caniexport.answers.plan import Plan
    from caniexport.answers.policy import Policy
    from caniexport.answers.upgrade import Upgrade
    from caniexport.check.answer import Checked
    from caniexport.scan.scan import SourceScan
    from caniexport.store import Dataset

_Names = str | int | Iterable[str | int]


def open_dataset(published: Path | str | None = None, local: Path | str | None = None) -> Dataset:
    """A dataset: the folders named, or where none is those of the home that the commands use."""
    from caniexport import home
    from caniexport.store import Dataset

    if published is None and local is None:
        found = home.find()
        return Dataset.open(found.published, found.local)
    return Dataset.open(Path(published) if published else None, Path(local) if local else None)


def cells(dataset: Dataset, **filters: Any) -> pd.DataFrame:
    """Measured rows, one per cell: the columns of docs/data.md and ``origin`` (published or local).

    Filters are those of :meth:`caniexport.store.Dataset.cells`, exact values: ``case, variant, torch, exporter, opset,
    provider, status, corpus``. Seconds are seconds, errors absolute and relative differences, times UTC.
    """
    return dataset.cells(**filters)


def table(dataset: Dataset, by: str = "torch", **filters: _Names) -> Table:
    """The matrix: lines by ``torch``, ``opset``, ``exporter``, ``runtime`` or ``provider``."""
    from caniexport import names
    from caniexport.answers import By
    from caniexport.answers import table as answer

    return answer(dataset, _filters(filters), By(names.require("axis", by, list(By))))


def why(dataset: Dataset, case: str, **filters: _Names) -> list[Why]:
    """One answer for each variant of ``CASE`` or ``CASE/VARIANT``: stage, status, message, how to repeat it."""
    from caniexport.answers import why as answer

    return answer(dataset, _filters({**filters, "cases": [case]}))


def history(dataset: Dataset, case: str, **filters: _Names) -> list[History]:
    """One answer for each variant of ``CASE`` or ``CASE/VARIANT``: where its outcome changed along torch's releases.

    Each line (exporter, opset, provider) is cut into stretches of releases that ended alike; every change lies in an
    interval ``(after, by]`` between two measured releases, with the verdict and the axes that did it.
    """
    from caniexport.answers.history import history as answer

    return answer(dataset, _filters({**filters, "cases": [case]}))


def workarounds(dataset: Dataset, **filters: _Names) -> Workarounds:
    """The word for every fix at one torch release and opset, and since when."""
    from caniexport.answers import workarounds as answer

    return answer(dataset, _filters(filters))


def upgrade(dataset: Dataset, before: str, after: str, **filters: _Names) -> Upgrade:
    """What changes between two points (``torch=2.8.0,opset=17``); what is left out is the release's default."""
    from caniexport.answers.points import parse
    from caniexport.answers.upgrade import upgrade as answer

    return answer(dataset, parse(before), parse(after), _filters(filters))


def plan(dataset: Dataset, before: str, after: str | None = None, **filters: _Names) -> Plan:
    """The newest target where nothing breaks, and the fewest workarounds for ``after``."""
    from caniexport.answers.plan import plan as answer
    from caniexport.answers.points import parse

    return answer(dataset, parse(before), None if after is None else parse(after), _filters(filters))


def policy(dataset: Dataset, runtime_versions: Iterable[str] = (), **filters: _Names) -> Policy:
    """By release: the highest opset that works at all, and at which every case in the filters works."""
    from caniexport.answers.policy import policy as answer

    return answer(dataset, _filters(filters), tuple(runtime_versions))


def claimed(dataset: Dataset, sources: Iterable[str] = (), **filters: _Names) -> Claims:
    """What documents say against what was measured; ``statuses`` are outcomes here."""
    from caniexport.answers import claims as answer

    return answer(dataset, _filters(filters), sources)


def check_model(
    dataset: Dataset,
    target: str,
    *,
    releases: Iterable[str] = (),
    exporters: Iterable[str] = (),
    opsets: Iterable[int] = (),
    packages: Iterable[str] = (),
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    into: Path | str = "caniexport-check",
) -> Checked:
    """What ``caniexport check`` says of ``MODULE:FACTORY``: measures it, which takes minutes a release.

    ``dynamic`` is ``{argument: {axis: name}}``. Raises :class:`caniexport.check.subject.UnusableModel` for a model that
    no release could take.
    """
    from caniexport import home, names
    from caniexport.answers.select import exporter_name
    from caniexport.check.check import check
    from caniexport.check.run import CheckRequest
    from caniexport.check.subject import Options
    from caniexport.model.status import Exporter

    known = [member.value for member in Exporter]
    asked = tuple(names.require("exporter", exporter_name(text), known) for text in exporters)
    request = CheckRequest(tuple(releases), asked, tuple(opsets), tuple(packages))
    options = Options(dynamic or {}, packages=request.packages)
    return check(
        target,
        request,
        options,
        into=Path(into),
        home=home.find(),
        corpus=dataset,
        cwd=Path.cwd(),
        say=lambda _: None,
    )


def scan_source(
    dataset: Dataset,
    path: Path | str,
    torch: Iterable[str] = (),
    exporter: str | None = None,
    opset: int | None = None,
) -> SourceScan:
    """What ``caniexport workaround --scan`` says of a source tree; ``torch`` empty: what its own files ask for."""
    from caniexport.scan.scan import scan

    return scan(dataset, Path(path), tuple(torch), exporter, opset)


def compare_datasets(
    before: Dataset, after: Dataset, expectations: Path | str | None = None, today: date | None = None
) -> Report:
    """What ``caniexport alerts`` says: regressions, workarounds that became obsolete, counts of every verdict."""
    from caniexport.alerts import expectations as listed
    from caniexport.alerts.report import report

    entries = listed.read(Path(expectations)) if expectations else []
    return report(("before", before), ("after", after), entries, [], today or datetime.now(UTC).date())


def _filters(given: Mapping[str, _Names]) -> Filters:
    from dataclasses import fields

    from caniexport import names
    from caniexport.answers import Filters

    known = [item.name for item in fields(Filters)]
    found = {}
    for name, values in given.items():
        listed = (values,) if isinstance(values, str | int) else values
        found[names.require("filter", name, known)] = tuple(map(str, listed))
    return Filters(**found)
