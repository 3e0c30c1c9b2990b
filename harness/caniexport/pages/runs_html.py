"""Runs and environments as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caniexport import versions
from caniexport.pages.live import Going
from caniexport.pages.markup import columns, escape, facts, plural, table

_PACKAGES = ("onnx", "onnxscript", "onnxruntime", "numpy")
_COLUMNS = ("torch", "build", "Python", *_PACKAGES, "platform", "processor", "measured (UTC)", "cells", "run", "gate")


def environments(found: Iterable[Mapping[str, Any]]) -> str:
    """Every environment that exported, newest release first; all of its packages fold out."""
    ordered = sorted(
        (row for row in found if row["torch"]),
        key=lambda row: (versions.parse(row["torch"]), row["measured_at"] or ""),
        reverse=True,
    )
    return table("Environments", "plain", columns(_COLUMNS), "".join(_row(row, row["torch"]) for row in ordered))


def runtimes(found: Iterable[Mapping[str, Any]]) -> str:
    """Every environment that ran files which others had exported, by runtime."""
    ordered = sorted((row for row in found if not row["torch"]), key=lambda row: _runtime(row["release"]))
    if not ordered:
        return '<p class="hint">None: every file was run by the onnxruntime beside its torch alone.</p>'
    names = columns(("runtime", *_COLUMNS[2:]))
    return table("Runtimes", "plain", names, "".join(_row(row, row["release"], build=False) for row in ordered))


def _runtime(release: str | None) -> tuple[str, Any]:
    name, _, version = (release or "").partition("==")
    return name, versions.parse(version or "0")


def _row(row: Mapping[str, Any], name: str | None, *, build: bool = True) -> str:
    packages = json.loads(row["packages"] or "{}")
    values = [
        *([row["torch_build"]] if build else []),
        row["python"],
        *(packages.get(name) for name in _PACKAGES),
        row["platform"],
        row["gpu"] or row["cpu"],
        when(row),
        _rows(row),
        f"{row['run_id']} ({row['origin']})",
    ]
    every = facts((name, escape(version)) for name, version in sorted(packages.items()))
    shown = escape(name or "-")
    whole = f"<details><summary>{shown}</summary>{every}</details>" if packages else shown
    cells = "".join(f'<td class="tight">{escape(value or "-")}</td>' for value in values)
    return f'<tr><th scope="row">{whole}</th>{cells}<td>{gate(row)}</td></tr>'


def when(row: Mapping[str, Any]) -> str:
    """When a run was found, to the minute, UTC."""
    return str(row["measured_at"] or "")[:16].replace("T", " ")


def _rows(row: Mapping[str, Any]) -> str:
    if row["rows"] is None:
        return ""
    of = f" of {int(row['planned']):,}" if row["planned"] is not None else ""
    return f"{int(row['rows']):,}{of}"


def gate(row: Mapping[str, Any]) -> str:
    """What the gate said of a run."""
    if row["gate"] is None:
        kept = "no verdict kept" if row.get("origin") == "published" else "not judged yet"
        return f'<span class="badge w-unknown">· {kept}</span>'
    if row["quarantined"]:
        return f'<span class="badge c-not-reproduced">✗ quarantined</span> {escape(row["gate"])}'
    return '<span class="badge c-reproduced">✓ good</span>'


def quarantined(found: Sequence[Mapping[str, Any]]) -> str:
    """Runs whose rows do not speak, and why."""
    if not found:
        return '<p class="hint">None: every run passed its gate.</p>'
    rows = "".join(map(_left_out, found))
    return table("Quarantined runs", "plain", columns(("torch", "run", "measured (UTC)", "why")), rows, whole=True)


def _left_out(row: Mapping[str, Any]) -> str:
    cells = "".join(f'<td class="tight">{escape(value)}</td>' for value in (row["run_id"], when(row)))
    why = row["gate"] or "it has not been judged"
    return f'<tr><th scope="row">{escape(row["torch"] or row["release"])}</th>{cells}<td>{escape(why)}</td></tr>'


def rate(found: Sequence[Mapping[str, Any]]) -> str:
    """How often a cell measured a second time, alone or in the opposite order, gave another row."""
    measured = [row for row in found if row.get("repeated")]
    twice = sum(int(row["repeated"]) for row in measured)
    if not twice:
        return '<p class="hint">No run of the dataset was measured a second time yet.</p>'
    differing = sum(len(row.get("differing") or ()) for row in measured)
    return (
        f'<p class="counts"><b>{differing / twice:.2%}</b> <span>{differing:,} of {twice:,} cells of '
        f"{plural(len(measured), 'run')} that were measured twice, the second time alone in a process of their own or "
        f"among their neighbours in the opposite order, gave another row. That is how often a change seen here may be "
        f"no change.</span></p>"
    )


def repeats(found: Sequence[Mapping[str, Any]]) -> str:
    """The same, and each cell that gave another row."""
    differing = [(row, name) for row in found for name in row.get("differing") or ()]
    if not differing:
        return rate(found)
    rows = "".join(_repeated(row, name) for row, name in differing)
    heads = columns(("torch", "cell", "what was different: the first time, the second time"))
    return rate(found) + table("Cells that differed", "plain", heads, rows, whole=True)


def _repeated(row: Mapping[str, Any], said: str) -> str:
    cell, _, changes = said.partition(": ")
    shown = "".join(f"<div>{escape(change)}</div>" for change in changes.split("; "))
    return f'<tr><td>{escape(row["torch"])}</td><th scope="row">{escape(cell)}</th><td>{shown}</td></tr>'


def progress(found: Sequence[Going]) -> str:
    """Runs that go on."""
    if not found:
        return '<p class="hint">No measurement is going on in the local dataset.</p>'
    return "".join(map(_going, found))


def _going(run: Going) -> str:
    # more cells than an earlier run had: it says nothing of this one
    known = run.expected if run.expected and run.cells <= run.expected else None
    of = f" of about {known:,}" if known else ""
    bar = f'<progress max="{known}" value="{run.cells}" aria-label="cells measured"></progress>' if known else ""
    left = f", about {_duration(run.left)} left" if run.left is not None and run.sample is None else ""
    if run.sample is not None:
        left = f"; a sample is measured a second time: {run.sample.cells:,} of {run.sample.expected:,}"
    since = f"for {_duration(run.seconds)}"
    return (
        f'<p class="counts"><b>torch {escape(run.torch)}</b> {escape(run.provider)} {bar} '
        f"<span>{run.cells:,}{of} cells {since}, {run.rate:.0f} a second{left}; "
        f"the last row {run.quiet:.0f} s ago</span> "
        f'<span class="quiet">run {escape(run.run_id)}</span></p>'
    )


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
