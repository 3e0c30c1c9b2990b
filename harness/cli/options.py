"""Options that several commands share, and the dataset that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from harness import home as homes
from harness.home import Home

if TYPE_CHECKING:
    from harness.answers import Filters
    from harness.store import Dataset

_Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")

_FILTERS = {
    "cases": click.option(
        "--case", "cases", multiple=True, metavar="CASE[/VARIANT]", help="A case, or one variant of it; globs work."
    ),
    "variants": click.option("--variant", "variants", multiple=True, metavar="NAME", help="plain, or a fix's name."),
    "torch": click.option(
        "--torch", "--release", "torch", multiple=True, metavar="VERSION", help="torch release: 2.8.0, 2.8."
    ),
    "opsets": click.option(
        "--opset", "opsets", multiple=True, metavar="N", help="Opset asked for: 14, 9-14, '>=11', default."
    ),
    "exporters": click.option(
        "--exporter", "exporters", multiple=True, metavar="NAME", help="trace, script, dynamo, default."
    ),
    "providers": click.option("--provider", "providers", multiple=True, metavar="NAME", help="cpu, cuda, ..."),
    "statuses": click.option("--status", "statuses", multiple=True, metavar="STATUS", help="pass, fail, mismatch, ..."),
    "themes": click.option("--theme", "themes", multiple=True, metavar="NAME", help="Op family: a case file's name."),
    "ops": click.option("--op", "ops", multiple=True, metavar="OP", help="torch or ONNX operator: cross, GridSample."),
}


def filter_options(*but: str) -> Callable[[_Command], _Command]:
    """All filter options except those named; the command gets them as keyword arguments (see :func:`filters`)."""

    def decorate(command: _Command) -> _Command:
        for name, option in reversed(_FILTERS.items()):
            if name not in but:
                command = option(command)
        return command

    return decorate


def filters(given: dict[str, tuple[str, ...]], **more: tuple[str, ...]) -> Filters:
    """The filters of a command's keyword arguments."""
    from harness.answers import Filters

    return Filters(**{**given, **more})


def open_dataset(home: Home | None = None) -> Dataset:
    """The published and the local dataset together. What cannot be read is named on stderr when the command ends."""
    from harness.store import Dataset

    home = homes.find() if home is None else home
    dataset = Dataset.open(home.published, home.local)

    def report() -> None:
        for problem in dataset.problems:
            click.echo(f"caniexport: warning: {problem}", err=True)

    # files are read as answers need them, so what is wrong with them is known at the end
    click.get_current_context().call_on_close(report)
    return dataset
