"""``caniexport policy``: torch release -> highest opset, as a table or as a file for other projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import filter_options, filters, json_option, open_dataset

if TYPE_CHECKING:
    from rich.console import Console

    from harness.answers.policy import Policy


@click.command("policy")
@click.option(
    "--runtime-version", "runtime_versions", multiple=True, metavar="VERSION", help="Only on this onnxruntime."
)
@click.option("--ops", "op_list", type=click.Path(path_type=Path), help="A file with operators, one a line.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "toml", "json"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@filter_options("variants", "opsets", "providers", "statuses")
@json_option
def command(
    runtime_versions: tuple[str, ...], op_list: Path | None, form: str, as_json: bool, **given: tuple[str, ...]
) -> None:
    """Say for each torch release the highest opset: that works at all, and at which everything asked about passes.

    Without --exporter it is the exporter that a bare call of the release uses.
    """
    from harness.answers import policy as answers
    from harness.answers.wanted import wanted
    from harness.cli import output

    dataset = open_dataset()
    asked = wanted(dataset, filters(given), op_list)
    if asked.nothing:
        raise click.UsageError("; ".join(asked.notes))
    found = answers.policy(dataset, asked.filters, runtime_versions)
    if as_json or form == "json":
        output.print_json(found)
    elif form == "toml":
        click.echo(answers.to_toml(found), nl=False)
    else:
        show(found, output.console())


def show(found: Policy, console: Console) -> None:
    """Print the rules as a table."""
    from harness.answers.signs import EXPORTER_SHORT
    from harness.cli.output import grid

    made = grid("torch", "exporter", "runtime", "own", "usable", "all pass", "with fixes", "cases", "at no opset")
    for rule in found.rules:
        numbers = [rule.default, rule.usable, rule.passes, rule.with_fixes]
        made.add_row(
            rule.torch,
            EXPORTER_SHORT.get(rule.exporter, rule.exporter),
            rule.runtime_version or "-",
            *("-" if number is None else str(number) for number in numbers),
            str(rule.cases),
            str(len(rule.holds)),
        )
    console.print(made)
    console.print(f"- about {found.about}", soft_wrap=True)
    console.print(
        "- own: what a bare call writes; usable: exports, loads and runs at all; all pass: every case, as it is"
    )
    console.print("- at no opset: cases that work nowhere (--json and --format toml name them)")
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
