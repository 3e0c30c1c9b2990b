"""``caniexport reproduce``: one cell as a script that needs nothing of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport.answers.filters import read_filters
from caniexport.cli.options import filter_options, json_option, open_dataset
from caniexport.cli.output import echo, print_json

if TYPE_CHECKING:
    from caniexport.reproduce.find import Reproduction


@click.command("reproduce")
@click.argument("case", metavar="CASE[/VARIANT]")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file.")
@filter_options("reproduce", "case")
@json_option
def command(case: str, output: Path | None, as_json: bool, **given: tuple[str, ...]) -> None:
    """Print one cell as a self-contained script: exact pins (PEP 723), the module, the export call, the check.

    It is a cell that does not work, if any does not; --torch, --exporter and --opset name it exactly.
    `uv run --script FILE` makes the environment and shows the same status and the same error.
    """
    from caniexport.reproduce.find import find_reproduction

    home = homes.find()
    dataset = open_dataset(home).holding(case.partition("/")[0])
    asked = read_filters("reproduce", {**given, "case": case})
    found = find_reproduction(dataset, home.of_corpus(dataset.corpus).read_cases(), asked)
    _say(found)
    if output is not None:
        _write(output, found.script)
        echo(f"{output}: `uv run --script {output}` runs it", err=True)
    if as_json:
        print_json(found)
    elif output is None:
        echo(found.script, nl=False)


def _say(found: Reproduction) -> None:
    """Which cell it is, where a user left that open, and whether its case has changed."""
    opset = "" if found.opset is None else f", opset {found.opset}"
    where = f"torch {found.torch}, {found.exporter}{opset}" if found.torch else "these packages"
    if found.cells > 1:
        named = "--torch, --exporter and --opset name another"
        echo(f"one of {found.cells} cells: {where} ({found.status} at {found.stage}); {named}", err=True)
    if found.stale:
        echo("the case has changed since its row was measured: the result may differ", err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"-o {path}: cannot be written ({error.strerror})") from error
