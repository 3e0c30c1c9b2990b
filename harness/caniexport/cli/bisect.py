"""``caniexport bisect``: the first release along an axis that changed a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport.answers.answer import Answer, AnswerOutcome, Mark, Message, Table
from caniexport.bisect.run import AXES
from caniexport.cli import output
from caniexport.cli.options import json_option, open_dataset
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.bisect.run import Bisection
    from caniexport.cli.output import Console


@click.command("bisect")
@click.argument("case", metavar="CASE[/VARIANT]")
@click.option("--good", required=True, metavar="VERSION", help="The older, good version: 2.8.0, torch=2.8.0.")
@click.option("--bad", required=True, metavar="VERSION", help="The newer, bad version.")
@click.option("--axis", type=click.Choice(AXES), help="The package whose releases are searched.  [default: torch]")
@click.option("--torch", metavar="VERSION", help="The release held fixed, with another axis.  [default: the newest]")
@click.option(
    "--exporter", default="default", show_default=True, metavar="NAME", help="trace, script, dynamo, default."
)
@click.option("--opset", type=int, metavar="N", help="The opset asked for; none for the default exporter.")
@click.option("--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds for a cell.")
@json_option
def command(timeout: float, as_json: bool, **asked: Any) -> None:
    """Find the first release that changed a cell, among every release on the index: an interval (a, b].

    Rows that are there already, published or of this machine, are not measured again. For the others an environment
    is made and removed; one that cannot be installed is passed over. Interrupted and started again, it
    continues where it stopped.
    """
    from caniexport.bisect.probe import BisectQuestion, answer_bisection

    home = homes.find()
    dataset, question = open_dataset(home), BisectQuestion(**asked)
    found = answer_bisection(question, home, dataset, timeout=timeout, say=output.say)
    output.answer(found, show, as_json)


def show(found: Bisection, console: Console) -> None:
    """Print the interval, what was looked at and what is known of the cause."""
    from caniexport.render.terminal import print_answer as show_answer

    asked, ends = found.asked, found.interval
    opset = "" if asked.opset is None else f", opset {asked.opset}"
    held = f", torch {asked.torch}" if asked.torch else ""
    rows = tuple(
        (one.version, Mark(Status(one.status), one.text) if one.status else one.text, one.origin, Message(one.first))
        for one in found.steps
    )
    notes = (
        *[f"Not known, because they could not be measured: {', '.join(ends.between)}."] * bool(ends.between),
        f"What changed: {found.changed}.",
        *[f"Cause: {found.cause}."] * bool(found.cause),
        *[f"Besides {asked.axis} differ: {', '.join(found.differing)}."] * bool(found.differing),
    )
    answer = Answer(
        f"The first change is in {asked.axis} ({ends.good}, {ends.bad}].",
        AnswerOutcome.LISTED,
        (
            Table(
                f"{asked.case}/{asked.variant}, {asked.exporter}{opset}{held}",
                (asked.axis, "outcome", "from", "message"),
                rows,
            ),
        ),
        notes,
    )
    show_answer(answer, console, rest="--json")
