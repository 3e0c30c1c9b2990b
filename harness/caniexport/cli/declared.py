"""``caniexport declared``: torch's own operator tables beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset

if TYPE_CHECKING:
    from caniexport.answers.declared import Declared
    from caniexport.cli.output import Console


@click.command("declared")
@filter_options("declared")
@json_option
def command(as_json: bool, **given: tuple[str, ...]) -> None:
    """Compare torch's own operator tables with the measured cells, differences first.

    An operator of the corpus counts as passing at an opset where the failing form of some case that uses it passes.
    Without --torch it is about the newest release measured.
    """
    from caniexport.answers import declared as answers

    dataset = open_dataset()
    found = answers.declared(dataset, answers.about_newest(dataset, read_filters("declared", given)))
    output.answer(found, show, as_json)


def show(found: list[Declared], console: Console) -> None:
    """Print the operators as a table, then how many stand how."""
    from caniexport.answers.declared import counts

    made = output.grid("operator", "torch", "exporter", "declared", "passes", "", "cases")
    for item in found:
        made.add_row(
            item.op,
            item.torch,
            EXPORTER_SHORT.get(item.exporter, item.exporter),
            item.declared or "-",
            item.passing or "-",
            item.agreement.value,
            item.cases[0] + (f" +{len(item.cases) - 1}" if len(item.cases) > 1 else ""),
        )
    console.print(made)
    words = [f"{count} {word.value}" for word, count in counts(found).items() if count]
    console.print(", ".join(words) or "nothing to compare")
