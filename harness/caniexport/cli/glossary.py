"""``caniexport glossary``: the words of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from caniexport.cli import output
from caniexport.cli.options import json_option
from caniexport.cli.output import labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caniexport.cli.output import Console
    from caniexport.pages.glossary import Entry

#: columns of a name
_WIDTH = 18


@click.command("glossary")
@json_option
def command(as_json: bool) -> None:
    """Explain the words of the answers: statuses, exporters, what became of a fix, a change or a claim."""
    from caniexport.pages.glossary import TERMS

    output.answer(TERMS, show, as_json)


def show(terms: Sequence[Entry], console: Console) -> None:
    """Print each term with its meaning, and below it the names that stand for it."""
    for term in terms:
        labelled(term.name, term.meaning, console, indent=0, width=_WIDTH)
        for name, meaning in term.values.items():
            labelled(name, meaning, console, indent=4, width=_WIDTH)
