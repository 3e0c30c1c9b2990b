"""``caniexport site``: the dashboard's tables as plain files."""

from __future__ import annotations

from pathlib import Path

import click

from caniexport import home as homes
from caniexport.cli import output as out
from caniexport.cli.options import json_option


@click.command("site")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder to write; an earlier copy in it is replaced.",
)
@json_option
def command(output: Path, as_json: bool) -> None:
    """Write a static copy: a page for each case, operator and release, the matrix, a search, and the tables as files.

    Any file server serves it, without Python: python -m http.server -d DIR. It takes about two minutes. The search
    needs a server too.
    """
    from caniexport.pages.kept import Kept
    from caniexport.pages.site import build

    home = homes.find()
    kept = Kept.open(home.published, home.local)
    written = build(kept, output.resolve(), out.say)
    for problem in kept.problems:
        out.echo(f"caution: {problem}", err=True)
    size = f"{written.files} files, {written.bytes / 1e6:.1f} MB"
    line = f"{written.cases} cases and {written.operators} operators, {size}: {output / 'index.html'}"
    out.report(written, [line], as_json)
