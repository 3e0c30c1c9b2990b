"""Two states of a dataset, or two runs of one, compared and held against what is expected and what is known already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from caniexport import names, versions
from caniexport.alerts.alert import NIGHTLY, Alert, AlertStage, CellPoint, group_changes
from caniexport.alerts.changes import count_verdicts, find_changes, pair_cells, select_cells
from caniexport.alerts.expectations import Expectation, UnmetExpectation, find_unmet, is_expected
from caniexport.alerts.known import update_states
from caniexport.corpus.verdicts import Verdict, Workaround
from caniexport.model.errors import StoreError
from caniexport.store import Dataset, sql
from caniexport.store.views import Views


class Step(NamedTuple):
    """Two neighbouring releases: how many cells there are of every verdict; ``opened``: when the newer was measured."""

    before: str
    torch: str
    opened: str
    counts: Mapping[Verdict, int]


@dataclass(frozen=True)
class Comparison:
    """``alerts``, the newest release first; ``known`` is what the file of alerts reads now, and what was ``resolved``.

    ``counts``: cells by verdict, those of ``expected`` changes too. Rows of ``quarantined`` runs are in none of them.
    ``steps`` are those of releases, the newest first.
    """

    before: str
    after: str
    alerts: tuple[Alert, ...]
    counts: Mapping[Verdict, int]
    expected: int = 0
    quarantined: int = 0
    findings: tuple[UnmetExpectation, ...] = ()
    known: tuple[Alert, ...] = ()
    resolved: tuple[Alert, ...] = ()
    measured_at: str = ""
    steps: tuple[Step, ...] = ()


def compare(
    before: tuple[str, Dataset],
    after: tuple[str, Dataset],
    entries: Sequence[Expectation],
    known: Iterable[Alert],
    today: date,
) -> Comparison:
    """Compare two datasets, each with the name that it is shown under.

    Of the nightly builds the newest of each side are compared with each other.
    """
    known, views = list(known), Views.of(after[1])
    right = select_cells(
        "SELECT * FROM cells WHERE profile = " + sql.literal(after[1].profile), _name_releases(after[1])
    )

    def found_against() -> Comparison:
        left = select_cells(before[1].relation("cells"), _name_releases(before[1]))
        return _compare(after[1], (before[0], after[0]), left, right, entries)

    try:
        found = found_against()
    except StoreError:  # a file of the other dataset, whose rows are read by the views of this one
        if not before[1].leave_out_damaged():
            raise
        found = found_against()
    stopping = [alert for alert in found.alerts if alert.is_worse]
    shown, carried = update_states(known, stopping, _find_measured(views, right, known), today.isoformat())
    were = {item.id for item in known if item.stage is AlertStage.RESOLVED}
    times = [row["measured_at"] for row in after[1].records("environments") if row["measured_at"]]
    now = {alert.id: alert for alert in shown}
    return replace(
        found,
        alerts=tuple(now.get(alert.id, alert) for alert in found.alerts),
        quarantined=after[1].count_quarantined_rows(),
        findings=tuple(find_unmet(entries, views, today)),
        known=tuple(carried),
        resolved=tuple(item for item in carried if item.stage is AlertStage.RESOLVED and item.id not in were),
        measured_at=max(times).isoformat() if times else "",
    )


def _compare(
    dataset: Dataset, shown: tuple[str, str], left: str, right: str, entries: Sequence[Expectation] = ()
) -> Comparison:
    """Compare two relations of cells, the one on the right of ``dataset``."""
    views = Views.of(dataset)
    pairs = pair_cells(views, left, right)
    every = find_changes(views, pairs)
    news = [change for change in every if not is_expected(change, entries)]
    # where every change of a case is expected, what follows from it for a workaround is no news either
    cells = [change for change in news if isinstance(change.kind, Verdict)]
    places = {_without_variant(change.place) for change in cells}
    moves = [item for item in news if isinstance(item.kind, Workaround) and _without_variant(item.place) in places]
    alerts = group_changes(dataset, [*cells, *moves])
    counted = sum(count_verdicts(views, pairs).values(), Counter[Verdict]())
    return Comparison(*shown, tuple(alerts), counted, len(every) - len(news))


def _without_variant(place: CellPoint) -> CellPoint:
    """The place of every variant of the case there."""
    return place._replace(variant="")


def _name_releases(dataset: Dataset) -> dict[str, str]:
    """What each release is compared as; older nightly builds are not among them."""
    releases = versions.ordered(torch for (torch,) in dataset.distinct(("torch",)) if torch)
    nightlies = [torch for torch in releases if versions.parse(torch).is_devrelease]
    named = {torch: torch for torch in releases if torch not in nightlies}
    return {**named, **dict.fromkeys(nightlies[-1:], NIGHTLY)}


def _find_measured(views: Views, cells: str, known: Iterable[Alert]) -> dict[CellPoint, tuple[bool, str]]:
    """Whether each cell of a known alert works now, and when that was measured; those alone that were measured."""
    rows = views.fetch(
        f"""SELECT "case", variant, torch, exporter, opset, provider, works(status), measured_at::TIMESTAMP::VARCHAR
        FROM ({cells}) WHERE "case" IN (SELECT unnest($1)) AND works(status) IS NOT NULL""",
        [[*{place.case for item in known for place in item.places}]],
    )
    return {CellPoint(*place): (works, when or "") for *place, works, when in rows}


#: a release, or a run of it: torch, the run (empty for every one), its cells
Run = tuple[str, str, int]


def list_runs(dataset: Dataset) -> dict[str, Run]:
    """By name (``2.8.0``, ``2.8.0/RUN``), newest first: each release, and behind it its runs where it has several."""
    rows = Views.of(dataset).fetch(
        """SELECT torch, coalesce(run_id, ''), count(*) FROM cells JOIN version USING (torch)
        WHERE profile = $1 AND "case" IS NOT NULL GROUP BY GROUPING SETS ((n, torch), (n, torch, run_id))
        QUALIFY grouping(run_id) = 1 OR run_id IS NOT NULL AND count(*) OVER (PARTITION BY torch) > 2
        ORDER BY n DESC, grouping(run_id) DESC, run_id DESC""",
        [dataset.profile],
    )
    return {f"{torch}/{run}" if run else torch: (torch, run, cells) for torch, run, cells in rows}


def compare_runs(dataset: Dataset, before: str, after: str) -> Comparison:
    """Two runs of a dataset, of the same release or of two. Raises :class:`caniexport.model.errors.UnknownName`."""
    known = list_runs(dataset)
    pair_of = [known[names.require("run", name, list(known))] for name in (before, after)]
    profile = sql.literal(dataset.profile)
    # two releases are compared as one: what differs is then the cell, not its place
    left, right = (
        select_cells(
            f"SELECT * FROM cells WHERE profile = {profile} AND torch = {sql.literal(torch)}"
            + (f" AND run_id = {sql.literal(run)}" if run else ""),
            {torch: pair_of[1][0]},
        )
        for torch, run, _ in pair_of
    )
    return _compare(dataset, (before, after), left, right)
