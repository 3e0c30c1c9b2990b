"""``caniexport scan``: which workarounds in a source tree can go."""

from __future__ import annotations

from pathlib import Path

import click

from caniexport.cli import output
from caniexport.cli.options import (
    answer_options,
    install_options,
    open_for,
    parse_exporters,
    parse_opsets,
    print_answer,
    read_install,
    several,
)
from caniexport.corpus.verdicts import Workaround
from caniexport.names import some

#: places that a line names
_MOST = 6


@click.command("scan")
@click.argument("path", type=click.Path(path_type=Path))
@several("--torch", "--release", "torch", metavar="VERSION", text="Your torch releases: 2.8, '>=2.1'.")
@several("--exporter", "exporters", metavar="NAME", text="trace, script, dynamo.", read=parse_exporters)
@several("--opset", "opsets", metavar="N", text="Your opset; else that of your export calls.", read=parse_opsets)
@click.option(
    "--fail-on",
    type=click.Choice([word.value for word in Workaround]),
    multiple=True,
    help="Exit 1 where a finding has this verdict; repeatable: --fail-on obsolete.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="Text, JSON, annotations of a pull request, or SARIF.",
)
@install_options("Answer for what you have installed")
@answer_options
def command(
    path: Path,
    torch: tuple[str, ...],
    exporters: tuple[str, ...],
    opsets: tuple[int, ...],
    fail_on: tuple[str, ...],
    form: str,
    lock: Path | None,
    here: bool,
    whole: bool,
    as_json: bool,
) -> None:
    """Find workarounds, version gates and export calls in source code, and say what can go.

    The releases are those that the project takes, unless --torch, --lock or --here names yours. Nothing is imported.
    """
    from caniexport.render.review import as_github, as_sarif, list_findings
    from caniexport.scan.scan import scan

    for option, given in (("--opset", opsets), ("--exporter", exporters)):
        if len(given) > 1:
            raise click.UsageError(f"{option}: one is wanted")
    dataset, asked = open_for(read_install(lock, here, torch), {"torch": torch})
    found = scan(dataset, path, asked["torch"], "".join(exporters) or None, opsets[0] if opsets else None)
    if form in ("github", "sarif"):
        output.echo({"github": as_github, "sarif": as_sarif}[form](found), nl=False)
    else:
        print_answer(found, whole=whole, as_json=as_json or form == "json", judges=False)
    stopping = [item for item in list_findings(found) if item.verdict.value in fail_on]
    if stopping:
        places = [f"{item.place.path}:{item.place.line} ({item.verdict.value})" for item in stopping]
        output.echo(f"Exit 1, by --fail-on: {some(places, _MOST)}", err=True)
        click.get_current_context().exit(1)
