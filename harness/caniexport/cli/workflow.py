"""``caniexport workflow``: a nightly measurement for GitHub Actions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport.cli import output
from caniexport.cli.options import open_dataset

if TYPE_CHECKING:
    from caniexport.model.releases import Release


@click.command("workflow")
@click.option("--matrix", "--json", "as_matrix", is_flag=True, help="Print the jobs as JSON instead.")
@click.option(
    "--release",
    "names",
    multiple=True,
    metavar="VERSION",
    help="With --matrix: a torch release, newest or all. Repeatable.  [default: newest]",
)
@click.option(
    "--hours", type=click.FloatRange(0.5, 5.5), default=1.0, show_default=True, help="What a job may take to measure."
)
def command(as_matrix: bool, names: tuple[str, ...], hours: float) -> None:
    """Print a workflow for GitHub Actions: a job for each shard of each release, then the gate and the alerts.

    `caniexport workflow > .github/workflows/nightly.yml` in a clone of the repository. It names no release: when it
    runs, its first job asks for the matrix, which is cut by the seconds that the published rows took.
    """
    from caniexport.measure import workflow
    from caniexport.model import releases

    if not as_matrix:
        output.echo(workflow.workflow(hours), nl=False)
        return
    table = releases.table()
    home = homes.find()
    chosen = [release for name in names or ("newest",) for release in _named(name, table)]
    found = workflow.matrix(dict.fromkeys(chosen), home.read_cases(), open_dataset(home), hours)
    output.echo(json.dumps(found))


def _named(name: str, table: tuple[Release, ...]) -> tuple[Release, ...]:
    """The releases of the table that a word names. Raises :class:`UnknownName`."""
    from caniexport.model import releases

    return {"all": table, "newest": table[-1:]}.get(name) or (releases.find(name),)
