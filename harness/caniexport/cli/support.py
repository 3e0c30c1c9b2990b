"""``caniexport support``: where cases work, a line for each exporter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import Filters, read_filters
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset, with_measured, with_named
from caniexport.names import plural

if TYPE_CHECKING:
    from caniexport.answers.shown import Answers
    from caniexport.answers.supported import CaseSupport
    from caniexport.cli.output import Console
    from caniexport.store import Dataset


@click.command("support")
@click.argument("name", metavar="[CASE or OP]", required=False)
@filter_options("support")
@json_option
def command(name: str | None, as_json: bool, **given: tuple[str, ...]) -> None:
    """Say in a line for each exporter where a case works: from which torch release on, at which opsets.

    An operator, a theme or several cases give these lines for each of the cases, --json the same as objects.
    """
    from caniexport.answers.supported import supported

    dataset = open_dataset()
    given = with_measured(dataset, given)
    asked = read_filters("support", with_named(dataset, name, given))
    output.answer(supported(dataset, asked), show, as_json)


def show_cases(
    dataset: Dataset, operator: str, cases: Sequence[str], *, as_json: bool, has_samples: bool = True
) -> None:
    """Show how the cases of an operator stand, a line for each exporter, and how to ask about one of them."""
    from caniexport.answers.supported import supported

    found = supported(dataset, Filters(cases=tuple(cases)))
    one = f"caniexport why {found[0].case}"

    def show_all(items: Answers[CaseSupport], console: Console) -> None:
        lead = f"{operator} is an operator of {plural(len(items), 'case')}; one of them explained: `{one}`."
        lead += f" Torch's own samples of it: `caniexport op {operator}`." if has_samples else ""
        console.print(lead, soft_wrap=True)
        show(items, console)

    output.answer(found, show_all, as_json)


def show(found: Sequence[CaseSupport], console: Console) -> None:
    """Print each case with its lines; of several one sentence first."""
    from caniexport.answers.supported import decide_support

    if len(found) > 1:
        console.print(decide_support(found), highlight=False)
        console.print()
    for item in found:
        console.print(item.case, style="bold")
        console.print(item.title)
        made = output.grid("exporter", "newest", "works", "elsewhere")
        for line in item.support:
            sign = STATUS[line.status]
            elsewhere = line.otherwise_text.removeprefix("elsewhere: ")
            shown = output.marked(f"{sign.sign} {word(line.status)}", sign)
            made.add_row(EXPORTER_SHORT.get(line.exporter, line.exporter), shown, line.text, elsewhere)
        console.print(made if item.support else "Not measured with any exporter.")
        console.print()
