"""``caniexport table``: what passes where."""

from __future__ import annotations

import click

from caniexport.answers.filters import read_filters
from caniexport.cli.options import answer_options, filter_options, open_dataset, print_answer, with_measured


@click.command("table")
@click.option(
    "--by",
    type=click.Choice(["torch", "opset", "exporter", "runtime", "provider", "onnxscript", "onnx"]),
    default="torch",
    show_default=True,
    help="What the columns are.",
)
@click.option(
    "--lines",
    type=click.Choice(["cases", "themes", "operators"]),
    help="What the lines are; themes where no case is named or filtered.",
)
@click.option(
    "--runtime", metavar="NAME==VERSION", default="", help="How the same files end there: openvino==2026.2.1."
)
@filter_options("table", profile=False)
@answer_options
def command(by: str, lines: str | None, runtime: str, whole: bool, as_json: bool, **given: tuple[str, ...]) -> None:
    """Show what passes where: cases, themes or operators by torch release, opset, exporter, runtime or package.

    Without --case or --variant it has the original forms, by both exporters. A place names the opsets that pass: 16+
    is all that were tried from there on.
    """
    from caniexport.answers.point import Points
    from caniexport.answers.table import By, Lines, table

    dataset = open_dataset()
    given = with_measured(dataset, given)
    filters = read_filters("table", given)
    on = Points(dataset).find({"runtime": runtime})[0].on if runtime else None
    is_bare = not any(values for name, values in given.items() if name != "torch")
    found = Lines(lines) if lines else Lines.THEMES if is_bare else Lines.CASES
    print_answer(table(dataset, filters, By(by), found, on), whole=whole, as_json=as_json, judges=False)
