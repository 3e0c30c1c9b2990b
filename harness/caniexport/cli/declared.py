"""``caniexport declared``: torch's own operator tables beside what was measured."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset, with_measured, with_named

if TYPE_CHECKING:
    from caniexport.answers.declared import Declared
    from caniexport.cli.output import Console


#: differences that are shown where nothing is named
_FEW = 10


@click.command("declared")
@click.argument("name", required=False, metavar="[NAME]")
@filter_options("declared")
@json_option
def command(name: str | None, as_json: bool, **given: tuple[str, ...]) -> None:
    """Compare torch's own operator tables with the measured cells, differences first.

    NAME is an operator, a case or a theme. Without it and without a filter only the first differences are shown.
    An operator of the corpus counts as passing at an opset where the failing form of some case that uses it passes.
    Without --torch it is about the newest release measured.
    """
    from caniexport.answers.declared import about_newest
    from caniexport.answers.own_calls import declared_beside_calls

    dataset = open_dataset()
    given = with_measured(dataset, given)
    filters = read_filters("declared", with_named(dataset, name, given))
    bare = not (name or any(given.values()))
    found = declared_beside_calls(dataset, about_newest(dataset, filters))
    output.answer(found, partial(show, bare=bare), as_json)


def show(found: list[Declared], console: Console, *, bare: bool = False) -> None:
    """Print the operators as a table, then how many stand how; ``bare``: the first of them."""
    from caniexport.answers.declared import counts

    made = output.grid("operator", "torch", "exporter", "declared", "passes", "", "cases")
    for item in found[:_FEW] if bare else found:
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
    if bare and len(found) > _FEW:
        console.print(
            f"The first {_FEW} of {len(found)}: caniexport declared NAME (an operator, a case, a theme), or --json"
        )
