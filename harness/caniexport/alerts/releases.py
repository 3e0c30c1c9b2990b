"""Each release against the one before, and what became since of what it made worse.

Both are looked at as a user meets them, every exporter at the release's own default opset. An alert opens in the
release that made something worse and is resolved by two good releases in a row. What may have made it worse: torch
itself, the opset or exporter that the release now takes, its onnxruntime.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise

from caniexport.alerts.alert import STOPS, Alert, AlertStage, CellPoint, group_changes
from caniexport.alerts.changes import COMPARED, count_verdicts, find_changes, pair_cells, select_cells
from caniexport.alerts.comparison import Comparison, Step
from caniexport.alerts.expectations import Expectation, is_expected
from caniexport.answers.signs import CALLS
from caniexport.model.status import Stage
from caniexport.store import Dataset, sql
from caniexport.store.views import Views

#: stages that only a written file reaches: another runtime may be the reason
_AFTER_EXPORT = ", ".join(sql.literal(stage.value) for stage in (Stage.LOAD, Stage.PLACE, Stage.RUN, Stage.COMPARE))


def compare_releases(
    dataset: Dataset, entries: Sequence[Expectation] = (), known: Sequence[Alert] = (), torch: Collection[str] = ()
) -> Comparison:
    """Return each release (of ``torch``, where it names some) against the one before, for :func:`select_releases`.

    ``known`` alerts that a person acknowledged stay so while they are open.
    """
    views = Views.of(dataset)
    releases = [name for (name,) in views.fetch("SELECT torch FROM version ORDER BY n")]
    compared = [(before, after) for before, after in pairwise(releases) if after in torch or not torch]
    # an alert ends in a later release
    needed = releases[releases.index(compared[0][0]) :] if compared else releases
    columns = ", ".join(f"c.{sql.name(column)}" for column in COMPARED)
    grid = views.keep(
        f"""SELECT {columns} FROM cells c LEFT JOIN call ON call.profile = c.profile AND call.torch = c.torch
            AND call.exporter = c.exporter AND call.opset = c.opset AND call.is_own
        WHERE c.profile = {sql.literal(dataset.profile)} AND c.torch IN {sql.listed(needed)}
            AND (is_own OR c.exporter = 'default' AND c.opset IS NULL)"""
    )
    named = dict(compared), {after: after for _, after in compared}
    pairs = pair_cells(
        views, *(select_cells(f"SELECT * FROM {grid}", names, own_opset="NULL::INTEGER") for names in named)
    )
    worse = [change for change in find_changes(views, pairs) if change.kind in STOPS]
    news = [change for change in worse if not is_expected(change, entries)]
    works, by, noted = (
        _find_working(views, grid),
        _find_reasons(views, pairs, named[1]),
        {item.id: item for item in known},
    )
    alerts = []
    for alert in group_changes(dataset, news, by_release=True):
        resolved = _find_resolved(alert, works, releases[releases.index(alert.torch) + 1 :])
        mine = noted.get(alert.id, alert)
        is_noted = mine.stage is AlertStage.ACKNOWLEDGED
        stage = AlertStage.RESOLVED if resolved else AlertStage.ACKNOWLEDGED if is_noted else AlertStage.OPEN
        reasons = dict.fromkeys(reason for change in alert.changes for reason in by[change.place])
        alerts.append(replace(alert, stage=stage, since=resolved, note=mine.note, by=tuple(reasons)))
    counted, opened = count_verdicts(views, pairs), _find_first_measured(dataset)
    steps = [Step(before, after, opened.get(after, ""), counted.get(after, {})) for before, after in compared]
    return Comparison(
        "",
        "",
        tuple(alerts),
        {},
        expected=len(worse) - len(news),
        measured_at=max(opened.values(), default=""),
        steps=tuple(reversed(steps)),
    )


def select_releases(found: Comparison, torch: Sequence[str]) -> Comparison:
    """Return what some of the releases made worse (all, where none is named); what the newest of them did is new."""
    steps = [step for step in found.steps if step.torch in torch or not torch]
    newest = steps[0] if steps else Step("", "", "", {})
    alerts = [
        replace(alert, is_new=alert.torch == newest.torch and alert.stage is AlertStage.OPEN)
        for alert in found.alerts
        if alert.torch in torch or not torch
    ]
    return replace(
        found,
        before=newest.before,
        after=newest.torch,
        alerts=tuple(alerts),
        counts=newest.counts,
        steps=tuple(steps),
    )


def _find_resolved(alert: Alert, works: Mapping[CellPoint, Set[str]], later: Sequence[str]) -> str:
    """The first of two releases in a row in which every cell of an alert works; empty where there are none."""
    lines = [works.get(_without_release(change.place), frozenset()) for change in alert.changes]
    good = [all(torch in line for line in lines) for torch in later]
    return next((torch for torch, pair_cells in zip(later, pairwise(good), strict=False) if all(pair_cells)), "")


def _without_release(cell: CellPoint) -> CellPoint:
    """The cell in every release."""
    return cell._replace(torch="", opset=None)


def _find_working(views: Views, grid: str) -> dict[CellPoint, Set[str]]:
    """By cell: the releases in which it works."""
    rows = views.fetch(
        f"""SELECT "case", coalesce(variant, 'plain'), '', exporter, NULL, coalesce(provider, ''), list(torch)
        FROM {grid} WHERE works(status) AND "case" IS NOT NULL GROUP BY ALL"""
    )
    return {CellPoint(*cell): frozenset(torch) for *cell, torch in rows}


def _find_reasons(views: Views, pairs: str, torch: Iterable[str]) -> dict[CellPoint, list[str]]:
    """By cell that changed: the axes that may have done it, each with what it was and is."""
    rows = views.fetch(
        f"""WITH step AS (SELECT v.torch, o.torch AS older FROM version v JOIN version o ON o.n = v.n - 1),
        moved AS (SELECT step.torch, [was.exporter, own.exporter] AS exporters FROM step
            JOIN release own ON own.torch = step.torch AND own.profile = $1
            JOIN release was ON was.torch = step.older AND was.profile = $1 WHERE was.exporter <> own.exporter)
        SELECT p."case", p.variant, p.torch, p.exporter, p.opset, p.provider, moved.exporters, [
            CASE WHEN moved.exporters IS NOT NULL THEN NULL
                WHEN p.opset IS NOT DISTINCT FROM p.opset_before OR NOT works(c.status) THEN 'torch'
                WHEN works(c.status) THEN printf('opset %d → %d', p.opset_before, p.opset)
                ELSE printf('torch or opset %d → %d', p.opset_before, p.opset) END,
            CASE WHEN p.stage IN ({_AFTER_EXPORT}) AND p.runtime IS DISTINCT FROM p.runtime_before
                THEN 'or onnxruntime ' || p.runtime_before || ' → ' || p.runtime END]
        FROM {pairs} p LEFT JOIN moved ON moved.torch = p.torch AND p.exporter = 'default'
        LEFT JOIN (FROM cells WHERE torch IN {sql.listed(torch)}) c
            ON c.profile = $1 AND c.torch = p.torch AND c."case" = p."case" AND c.variant = p.variant
            AND c.exporter = p.exporter AND c.opset = p.opset_before AND coalesce(c.provider, '') = p.provider
        WHERE p.kind IS NOT NULL""",
        [views.dataset.profile],
    )
    return {
        CellPoint(*cell): [" → ".join(CALLS[name] for name in moved or ())] * bool(moved) + [*filter(None, reasons)]
        for *cell, moved, reasons in rows
    }


def _find_first_measured(dataset: Dataset) -> dict[str, str]:
    """When each release was measured first, as text in UTC."""
    found: dict[str, str] = {}
    for row in dataset.records("environments"):
        if row["torch"] and row["measured_at"]:
            when = row["measured_at"].isoformat()
            found[row["torch"]] = min(when, found.get(row["torch"], when))
    return found
