"""``caniexport alerts``: what is worse than it was, one alert for each cause."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import names
from caniexport.cli import output
from caniexport.cli.options import json_option, several

if TYPE_CHECKING:
    from caniexport.alerts.lifecycle import KnownAlert
    from caniexport.alerts.report import Report, ReportedAlert
    from caniexport.cli.output import Console

_SHOWN = 5


@click.command("alerts")
@click.option(
    "--baseline", metavar="STATE", help="A folder or a git revision of results/ [default: what is published]."
)
@click.option("--current", metavar="STATE", help="The same [default: this machine's dataset].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "github", "atom"]),
    default="text",
    show_default=True,
    help="text, a job summary, annotations, or a feed.",
)
@click.option(
    "--expectations", type=click.Path(path_type=Path), help=f"What is expected to fail [default: {homes.EXPECTATIONS}]."
)
@click.option("--states", type=click.Path(path_type=Path), help=f"What became of alerts [default: {homes.STATES}].")
@click.option("--save", is_flag=True, help="Write the states: new ones open, those good twice resolved.")
@several("--acknowledge", metavar="ID", text="Mark a known alert; it stops no build until it grows.")
@click.option("--webhook", metavar="URL", help="Send the alerts there as JSON as well; never changes the exit code.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    baseline: str | None,
    current: str | None,
    form: str,
    expectations: Path | None,
    states: Path | None,
    save: bool,
    acknowledge: tuple[str, ...],
    webhook: str | None,
    as_json: bool,
) -> None:
    """Compare two states of the dataset: regressions, new silent mismatches, workarounds that became obsolete.

    Exit code 1 for a regression that is not known yet, and for an expectation that is past its review date, matches no
    cell, or passes.
    """
    from datetime import UTC, datetime

    from caniexport.alerts import baselines, formats, lifecycle
    from caniexport.alerts import expectations as expected
    from caniexport.alerts import webhook as hook
    from caniexport.alerts.report import report
    from caniexport.answers.plain import plain
    from caniexport.store.writer import replace_file

    home = homes.find()
    if webhook is not None:
        hook.checked(webhook)
    listed = expectations or home.root / homes.EXPECTATIONS
    entries = expected.read(listed) if expectations or listed.exists() else []
    kept = states or home.root / homes.STATES
    known = _acknowledged(lifecycle.read(kept), acknowledge)
    with ExitStack() as stack:
        before, after = baselines.sides(home, baseline, current, stack)
        today = datetime.now(UTC).date()
        found = report(before, after, entries, known, today)
        problems = dict.fromkeys((*before[1].problems, *after[1].problems))
    for problem in problems:
        output.say(f"caniexport: warning: {problem}")
    if as_json or form in ("json", "text"):
        output.answer(found, show, as_json or form == "json")
    else:
        write = {"markdown": formats.markdown, "github": formats.github, "atom": formats.atom}[form]
        output.echo(write(found), nl=False)
    if save or acknowledge:
        replace_file(kept, lifecycle.text(found.known).encode())
    if webhook is not None:
        said = hook.send(webhook, plain(found))
        if said:
            output.say(f"caniexport: warning: {said}")
    ctx.exit(1 if found.stops else 0)


def _acknowledged(known: Sequence[KnownAlert], ids: tuple[str, ...]) -> list[KnownAlert]:
    """The entries with some marked as acknowledged; raises :class:`UnknownName` for an id that is not among them."""
    from caniexport.alerts.lifecycle import AlertStage

    wanted = {names.require("alert", text, [item.id for item in known]) for text in ids}
    return [replace(item, state=AlertStage.ACKNOWLEDGED) if item.id in wanted else item for item in known]


def show(found: Report, console: Console) -> None:
    """Print the alerts, worst first, then what is known, then every count."""
    from caniexport.alerts import formats

    for item in found.alerts:
        _alert(item, console)
    for finding in found.findings:
        console.print(f"expectation {finding.trouble.value}: {finding.entry.text}", style="bold red", soft_wrap=True)
        console.print(f"  entry {finding.entry.number}: {finding.says}", soft_wrap=True)
        for cell in finding.cells:
            console.print(f"  {cell}", soft_wrap=True)
        console.print()
    for title, entries in (("still open", found.still), ("resolved", found.resolved)):
        for known in entries:
            note = f"; {known.note}" if known.note else ""
            where = known.cells[0] if known.cells else ""
            console.print(f"{title}: {known.id} {known.kind.value} since {known.since} ({where}{note})", soft_wrap=True)
    if not found.alerts and not found.findings:
        console.print("Nothing is worse than it was.")
    console.print(formats.summary(found), soft_wrap=True)
    console.print(formats.counts(found), soft_wrap=True)


def _alert(item: ReportedAlert, console: Console) -> None:
    from caniexport.alerts import formats
    from caniexport.alerts.group import AlertKind
    from caniexport.answers.outcomes import short_cause

    alert = item.alert
    good = alert.kind in (AlertKind.FIXED, AlertKind.WORKAROUND_OBSOLETE)
    style = "red" if alert.kind.stops else "green" if good else "yellow"
    state = "" if not alert.kind.stops else "  new" if item.new else f"  {item.state.value} since {item.since}"
    console.print(f"{alert.title}{state}  [{alert.id}]", style=f"bold {style}", soft_wrap=True)
    if item.text:
        console.print(f"    {short_cause(item.text)}", soft_wrap=True)
    for member in alert.members[:_SHOWN]:
        console.print(f"  {formats.cell(member)}", soft_wrap=True)
    if len(alert.members) > _SHOWN:
        console.print(f"  and {len(alert.members) - _SHOWN} more (--json has all)")
    console.print()
