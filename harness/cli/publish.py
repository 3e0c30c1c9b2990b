"""``caniexport publish``: promote gated local rows into the published dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.cli.options import json_option

if TYPE_CHECKING:
    from harness.publish import PublishReport


@click.command("publish")
@json_option
def command(as_json: bool) -> None:
    """Promote the local rows of runs that passed the gate into results/.

    A run that the gate holds back is named, and so is what cannot be read; the exit code is then 1.
    """
    from harness import home as homes
    from harness.cli import output
    from harness.publish import publish
    from harness.worker import corpus

    home = homes.find()
    report = publish(home.local, home.published, corpus.load([home.cases], stand_in=True))
    if as_json:
        output.print_json(report)
    else:
        show(report)
    if report.quarantined or report.problems:
        click.get_current_context().exit(1)


def show(report: PublishReport) -> None:
    """Print what was promoted and what was not."""
    promoted = {name: count for name, count in report.promoted.items() if count}
    for name, count in promoted.items():
        click.echo(f"{name}: {count} rows promoted")
    for name in report.removed:
        click.echo(f"{name}: removed, it has no rows any more")
    for reason, count in report.dropped.items():
        click.echo(f"{count} rows left out: {reason}")
    for run, gate in report.quarantined.items():
        click.echo(f"{run} is held back: {gate}")
    for problem in report.problems:
        click.echo(f"problem: {problem}")
    click.echo(f"{sum(promoted.values())} rows promoted, {len(report.written)} files written")
