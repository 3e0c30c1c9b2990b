"""What was measured when and with what, which runs are left out and why, and what is going on now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from caniexport import home as homes
from caniexport import versions
from caniexport.alerts.answer import alerts_answer
from caniexport.alerts.comparison import Run, compare_runs, list_runs
from caniexport.answers.answer import Answer, AnswerOutcome, Cell, Message, Table
from caniexport.answers.provider_runs import list_providers
from caniexport.answers.runtimes import answer_agreement, answer_provider
from caniexport.audit import saved
from caniexport.measure.progress import RowCount
from caniexport.names import plural
from caniexport.pages import live
from caniexport.pages.answered import render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.store.gates import GOOD

_LEAD = "Each release was measured by a run in an environment of its own. Rows that the gate quarantined are left out."
_PACKAGES = ("onnx", "onnxscript", "onnxruntime", "numpy")
_COLUMNS = ("Python", *_PACKAGES, "platform", "processor", "measured (UTC)", "cells", "run", "gate")
#: why the gate has not judged a run, by where its rows are
_UNJUDGED = {
    "published": "or no verdict was kept when they were published",
    "local": "for they were measured on this machine and the gate has not looked at them yet",
}


def page(form: Form, kept: Kept) -> Page:
    """The runs, and what differs between the two that are asked for."""
    found = environments(kept.environment_records(), kept.inventory.notes)
    pair = None if form.whole else _pair(form, kept)
    body = render(
        "runs.html",
        whole=form.whole,
        pair=[pair[2].get(name, name) for name in pair[:2]] if pair else (),
        compared=render_answer(alerts_answer(kept.answer(compare_runs, *pair[:2]))) if pair else None,
        audit=kept.answer(saved.read_last_audit),
        runtimes=[render_answer(answer, heading) for heading, answer in _of_runtimes(kept)],
    )
    return form.page("Runs and environments", _LEAD, body, render_answer(found), is_live=True, folds=True)


def environments(found: Sequence[Mapping[str, Any]], notes: Iterable[str] = ()) -> Answer:
    """The runs of a dataset: which are left out, how often measuring again gave another row, what was installed."""
    by_time = sorted((row for row in found if row["torch"]), key=lambda row: row["measured_at"] or "", reverse=True)
    exporting = sorted(by_time, key=lambda row: versions.parse(row["torch"]), reverse=True)
    running = sorted((row for row in found if not row["torch"]), key=_runtime)
    left_out = tuple(
        (row["torch"] or row["release"], row["run_id"], _time(row), row["gate"] or "it has not been judged")
        for row in found
        if row["quarantined"]
    )
    differing = tuple((row["torch"], *line.split(": ", 1)) for row in found for line in row.get("differing") or ())
    passed = sum(row["gate"] == GOOD for row in found)
    counts = {where: sum(row["gate"] is None and row["origin"] == where for row in found) for where in _UNJUDGED}
    unjudged = [f"Not judged: {counts[where]}, {why}." for where, why in _UNJUDGED.items() if counts[where]]
    tables = (
        Table("left out", ("torch", "run", "measured (UTC)", "why"), left_out, shown=20),
        Table(
            "cells that differed when they were measured again", ("torch", "cell", "what was different"), differing, 0
        ),
        Table("environments that export", ("torch", "build", *_COLUMNS), _rows_of(exporting, "torch"), 0),
        Table("runtimes that run the same files", ("runtime", *_COLUMNS), _rows_of(running, "release"), 0),
    )
    notes = (
        *unjudged,
        *(["Rows of runs that were not judged are used."] if unjudged else []),
        _false_alarms(found),
        *notes,
    )
    verdict = (
        f"{'' if left_out else 'None is left out: '}{passed} of {plural(len(found), 'run')} passed the gate's checks."
    )
    return Answer(verdict, AnswerOutcome.LISTED, tables, notes)


def _false_alarms(found: Iterable[Mapping[str, Any]]) -> str:
    """How often a cell measured a second time, alone or in the opposite order, gave another row."""
    twice = [row for row in found if row["repeated"]]
    cells, differing = (sum(row["repeated"] for row in twice), sum(len(row["differing"] or ()) for row in twice))
    if not cells:
        return "No run of the dataset was measured a second time yet."
    return (
        f"False alarms: {differing / cells:.2%}, {differing:,} of {cells:,} cells of {plural(len(twice), 'run')} that "
        "were measured twice, the second time alone or in the opposite order, gave another row."
    )


def _of_runtimes(kept: Kept) -> Iterator[tuple[str, Answer]]:
    """What each provider other than the CPU's does with the files that torch exported; how far two runtimes agree."""
    for name in list_providers(kept):
        yield f"The same files on {name}.", kept.answer(answer_provider, name)
    agreement = kept.answer(answer_agreement)
    if agreement.tables[0].rows:
        yield "Agreement of runtimes.", agreement


def progress(kept: Kept) -> Markup:
    """The runs that go on at this moment, from the journals that they write."""
    local = homes.find().local
    planned = live.planned(kept.environment_records())
    return render_progress(live.find_running(local, time.time(), planned, _count(local)))


def render_progress(found: Iterable[live.RunningMeasurement]) -> Markup:
    """Runs that go on, with how far they are."""
    return render("progress.html", runs=list(found), duration=_duration)


@lru_cache(maxsize=2)
def _count(local: Path) -> RowCount:
    """One count for all sessions: a journal of megabytes is read once."""
    return RowCount(local)


def _pair(form: Form, kept: Kept) -> tuple[str, str, dict[str, str]] | None:
    """The two runs, or releases, that are compared, by name, and how each is called; ``None`` where there is none."""
    known = kept.answer(list_runs)
    if not known:
        return None
    releases = [name for name, run in known.items() if not run[1]]
    shown = {name: _run_label(run) for name, run in known.items()}
    first, second = releases[min(1, len(releases) - 1)], releases[0]
    before = form.select("before", "Before", list(known), text=shown[first], shown=shown, width=320) or first
    after = form.select("after", "After", list(known), text=shown[second], shown=shown, width=320) or second
    return before, after, shown


def _run_label(run: Run) -> str:
    torch, name, cells = run
    return f"torch {torch}" + (f" · run {name}" if name else "") + f" · {cells:,} cells"


def _runtime(row: Mapping[str, Any]) -> tuple[str, Any]:
    name, _, version = (row["release"] or "").partition("==")
    return name, versions.parse(version or "0")


def _rows_of(found: Iterable[Mapping[str, Any]], name: str) -> tuple[tuple[Cell, ...], ...]:
    """Environments with what was installed in each: all of it behind the name."""
    rows: list[tuple[Cell, ...]] = []
    for row in found:
        packages = json.loads(row["packages"] or "{}")
        gate = "not judged" if row["gate"] is None else f"quarantined: {row['gate']}" if row["quarantined"] else "good"
        values = [
            *([row["torch_build"]] if row["torch"] else []),
            row["python"],
            *(packages.get(package) for package in _PACKAGES),
            row["platform"],
            row["gpu"] or row["cpu"],
            _time(row),
            _rows(row),
            f"{row['run_id']} ({row['origin']})",
            gate,
        ]
        every = "\n".join(f"{package} {version}" for package, version in sorted(packages.items()))
        rows.append((Message(row[name] or "-", every), *(value or "-" for value in values)))
    return tuple(rows)


def _time(row: Mapping[str, Any]) -> str:
    return str(row["measured_at"] or "")[:16].replace("T", " ")


def _rows(row: Mapping[str, Any]) -> str:
    if row["rows"] is None:
        return ""
    of = f" of {int(row['planned']):,}" if row["planned"] is not None else ""
    return f"{int(row['rows']):,}{of}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
