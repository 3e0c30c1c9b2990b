"""``caniexport data``: which dataset answers, how old it is, and where newer is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import names
from caniexport.cli import output
from caniexport.cli.options import json_option

if TYPE_CHECKING:
    from caniexport.answers.data_source import DataSources
    from caniexport.cli.output import Console


@click.command("data")
@json_option
def command(as_json: bool) -> None:
    """Show which dataset answers, how old it is, and where newer is.

    In a checkout its results/ answers; elsewhere results/ of the folder that you are in, where it has rows, and else
    the package caniexport-data. Rows measured on this machine are read beside it.
    """
    from caniexport.answers.data_source import data_sources

    output.answer(data_sources(homes.find(), datetime.now(UTC)), show, as_json)


def show(found: DataSources, console: Console) -> None:
    """Print each dataset, those that answer first."""
    for source in found.sources:
        console.print(source.name + ("" if source.answers else " (does not answer here)"), style="bold")
        if source.name != "local":
            output.labelled("version", source.version or "none", console)
        output.labelled("folder", str(source.folder), console)
        rows = f"{names.plural(source.rows, 'row')} of {names.plural(source.releases, 'release')} of torch"
        output.labelled("holds", rows, console)
        if source.newest is not None and source.days is not None:
            output.labelled("newest", f"{source.newest:%Y-%m-%d}, {names.plural(source.days, 'day')} ago", console)
    console.print(f"- {found.newer}")
