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
from caniexport.cli.options import (
    expand_releases,
    json_option,
    open_dataset,
    print_answer,
    releases_option,
    several,
    whole_option,
)

if TYPE_CHECKING:
    from caniexport.alerts.alert import Alert
    from caniexport.alerts.comparison import Comparison
    from caniexport.answers.answer import Answer


@click.command("alerts")
@releases_option("Instead: what this release made worse than the one before it, or all.")
@click.option(
    "--baseline", metavar="STATE", help="A folder or a git revision of results/ [default: what is published]."
)
@click.option("--current", metavar="STATE", help="The same [default: this machine's dataset].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "github", "atom"]),
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
@whole_option
@json_option
def command(
    releases: tuple[str, ...],
    baseline: str | None,
    current: str | None,
    form: str,
    expectations: Path | None,
    states: Path | None,
    save: bool,
    acknowledge: tuple[str, ...],
    whole: bool,
    as_json: bool,
) -> None:
    """Compare two states of the dataset: regressions, new silent mismatches, workarounds that became obsolete.

    Exit code 1 for a regression that is not known yet, and for an expectation that is past its review date, matches no
    cell, or passes. Exit code 1 as well where nothing could be compared.
    """
    from datetime import UTC, datetime

    from caniexport.alerts import baselines, known
    from caniexport.alerts import expectations as expected
    from caniexport.alerts.answer import alerts_answer
    from caniexport.alerts.comparison import compare
    from caniexport.alerts.releases import compare_releases, select_releases
    from caniexport.store.writer import replace_file

    home = homes.find()
    listed, kept = expectations or home.root / homes.EXPECTATIONS, states or home.root / homes.STATES
    entries = expected.read_expectations(listed) if expectations or listed.exists() else []
    if releases:
        if baseline or current or save or acknowledge or form != "text":
            raise click.UsageError("--torch compares releases of one dataset: only --expectations, --states go with it")
        dataset = open_dataset(home)
        named = expand_releases(dataset, releases)
        found = select_releases(compare_releases(dataset, entries, known.read_states(kept), named), named)
        print_answer(alerts_answer(found), whole=whole, as_json=as_json)
        return
    noted = _acknowledged(known.read_states(kept), acknowledge)
    with ExitStack() as stack:
        before, after = baselines.open_states(home, baseline, current, stack)
        compared = compare(before, after, entries, noted, datetime.now(UTC).date())
        problems = dict.fromkeys((*before[1].problems, *after[1].problems))
    for problem in problems:
        output.say(f"caniexport: warning: {problem}")
    answer = alerts_answer(compared)
    if save or acknowledge:
        replace_file(kept, known.format_states(compared.known).encode())
    if as_json or form == "text":
        print_answer(answer, whole=whole, as_json=as_json)
    else:
        output.echo(_written(form, compared, answer), nl=False)
        click.get_current_context().exit(answer.outcome.exit_code)


def _written(form: str, found: Comparison, answer: Answer) -> str:
    """The answer in a format for other programs."""
    from caniexport.alerts.formats import format_atom, format_github
    from caniexport.render.markdown import as_markdown

    match form:
        case "markdown":
            return as_markdown(answer)
        case "github":
            return format_github(found, answer)
        case _:
            return format_atom(((alert, found.measured_at) for alert in found.alerts), found.measured_at)


def _acknowledged(known: Sequence[Alert], ids: tuple[str, ...]) -> list[Alert]:
    """The entries with some marked as acknowledged; raises :class:`UnknownName` for an id that is not among them."""
    from caniexport.alerts.alert import AlertStage

    wanted = {names.require("alert", text, [item.id for item in known]) for text in ids}
    return [replace(item, stage=AlertStage.ACKNOWLEDGED) if item.id in wanted else item for item in known]
