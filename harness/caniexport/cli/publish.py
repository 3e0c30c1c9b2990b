"""``caniexport publish``: promote gated local rows into the published dataset."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport.cli import output
from caniexport.cli.audit import audit_published
from caniexport.cli.options import (
    corpus_option,
    json_option,
    profile_option,
    refuse_unused,
    releases_option,
    workers_option,
)
from caniexport.gate.rules import read_rules
from caniexport.home import Home, holds_dataset
from caniexport.home.data_package import write_next_version
from caniexport.model.made_cases import OPERATORS

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase
    from caniexport.publish.publish import PublishReport

#: how a cell that is held back gets in
WAY_OUT = "measure --held-back measures them apart and twice"
BROKEN_RULE = "find the cause, and measure all rows that it touches again"
#: rows that a line names
_SHOWN = 3


@click.command("publish")
@click.option("--check", is_flag=True, help="Write nothing, only say what would be held back, and what is doubtful.")
@click.option("--verify", is_flag=True, help="Write nothing, only hold every published file against MANIFEST.")
@profile_option("The dataset that is published.")
@corpus_option("Whose rows are published, or audited.")
@click.option(
    "--audit",
    "cells",
    type=click.IntRange(1),
    metavar="N",
    help="Instead: measure N published cells again with a plain script, and name each that is not as published.",
)
@click.option("--seed", type=click.IntRange(0, 2**62), help="With --audit: what draws them.  [default: printed]")
@releases_option("With --audit: of this torch release only.")
@workers_option("With --audit: processes side by side.", 2)
@click.option("--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="With --audit: of a cell.")
@click.option("--save", is_flag=True, help="With --audit: keep the result in results/, where pages show the last one.")
@json_option
def command(
    check: bool,
    verify: bool,
    profile: str,
    corpus: str,
    cells: int | None,
    seed: int | None,
    save: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Promote the local rows of runs that passed the gate into results/.

    What is held back is named, by reason, and so is what cannot be read; the exit code is then 1. Of operators a
    summary is published: how many calls of each pass, by dtype, exporter, opset and release. The sample of --audit has
    cells of every status, and of every release and exporter as far as it goes; exit code 1 where a cell differs or a
    release could not be audited.
    """
    if cells is not None:
        audit_published(cells=cells, seed=seed, save=save, corpus=corpus, as_json=as_json, **asked)
        return
    refuse_unused({"--seed": seed is not None, "--save": save, "--release": bool(asked["releases"])}, "--audit")
    home = homes.find().of_corpus(corpus).of(profile)
    if verify:
        _verify(home, as_json)
        return
    if corpus == OPERATORS:
        _publish_operators(home, not check, as_json)
        return
    report = promote(home, home.read_cases(), write=not check)
    found = homes.find()
    if (report.written or report.removed) and found.own_results in (None, found.published):
        write_next_version(found.published, datetime.now(UTC).date())
    output.report(report, _lines(report, check), as_json)
    if not report.is_whole or (check and report.doubtful):
        click.get_current_context().exit(1)


def _verify(home: Home, as_json: bool) -> None:
    """Name every published file that is not what ``MANIFEST`` says; exit code 1 where there is one."""
    from caniexport.store import digests

    place = home.published / digests.NAME
    missing = [] if place.is_file() else [f"{place}: not there; publishing was cut off, or there is no dataset"]
    faults = [*missing, *digests.find_faults(home.published)]
    output.report(faults, faults or [f"every file is what {place} says"], as_json)
    if faults:
        click.get_current_context().exit(1)


def _publish_operators(home: Home, write: bool, as_json: bool) -> None:
    from caniexport.publish.operators import publish_operators

    report = publish_operators(home, write=write)
    lines = [f"torch {release}: {count} rows" for release, count in report.releases.items()]
    problems = [f"problem: {problem}" for problem in report.problems]
    output.report(report, [*lines, *problems, f"{report.size / 1e6:.1f} MB"], as_json)
    if problems:
        click.get_current_context().exit(1)


def promote(home: Home, cases: Mapping[str, LoadedCase], *, write: bool) -> PublishReport:
    """Publish the local rows; unless it is to ``write``, only say what would happen.

    A published dataset that lies in the installed package is never written to: where there is something to promote the
    user gets a copy of it.
    """
    from caniexport.publish.publish import PublishReport, publish

    if home.own_results is None:
        return publish(home.local, home.published, cases, write=write)
    if not holds_dataset(home.local):
        return PublishReport((), (), {}, {}, {}, {}, {}, 0, ())
    if not write:
        return publish(home.local, home.published, cases, write=False)
    copied = home.own_results != home.published
    report = publish(home.local, home.writable_results(), cases)
    if copied and not any(report.promoted.values()):
        shutil.rmtree(home.own_results)
    return report


def _lines(report: PublishReport, check: bool) -> Iterator[str]:
    """What was promoted and what was not."""
    promoted = {name: count for name, count in report.promoted.items() if count}
    for name, count in promoted.items():
        yield f"{name}: {count} rows promoted"
    for name in report.removed:
        yield f"{name}: removed, it has no rows any more"
    for reason, count in report.dropped.items():
        yield f"{count} rows left out: {reason}"
    for run, gate in report.quarantined.items():
        yield f"{run} is held back: {gate}"
    settled = {rule.sentence for rule in read_rules().values() if rule.settles}
    for reason, names in report.held.items():
        way_out = WAY_OUT if reason in settled else BROKEN_RULE
        yield f"{_rows(names)} held back: {reason} ({way_out})"
    for reason, names in report.doubtful.items():
        yield f"{_rows(names)} published, and doubtful: {reason}"
    if report.unstable:
        yield f"{report.unstable} rows are unstable: one runtime does not always answer their file alike"
    for problem in report.problems:
        yield f"problem: {problem}"
    done = "would be promoted" if check else f"promoted, {len(report.written)} files written"
    yield f"{sum(promoted.values())} rows {done}"


def _rows(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} row{'s' if len(names) > 1 else ''} ({shown})"
