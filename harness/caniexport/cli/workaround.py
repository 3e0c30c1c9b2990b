"""``caniexport workaround``: is this workaround still needed, and since when not."""

from __future__ import annotations

from pathlib import Path

import click

from caniexport.cli.options import (
    answer_options,
    install_options,
    names_option,
    open_for,
    parse_exporters,
    parse_opsets,
    print_answer,
    read_install,
    several,
)
from caniexport.corpus.verdicts import Workaround


@click.command("workaround")
@click.argument("name", metavar="[CASE[/WORKAROUND], OP or WORKAROUND]", required=False)
@several("--torch", "--release", "torch", metavar="VERSION", text="Your torch release: 2.8.")
@several("--opset", "opsets", metavar="N", text="Your opset; else each release's own.", read=parse_opsets)
@several("--exporter", "exporters", metavar="NAME", text="trace, script, dynamo, default.", read=parse_exporters)
@names_option("--theme", "themes", "Families of operators: pooling.")
@names_option("--op", "ops", "Operators: cross,GridSample.")
@click.option(
    "--fail-on",
    type=click.Choice([word.value for word in Workaround]),
    multiple=True,
    help="Exit 1 where a workaround has this verdict; repeatable: --fail-on obsolete.",
)
@install_options("Answer for what you have installed")
@answer_options
def command(
    name: str | None,
    torch: tuple[str, ...],
    opsets: tuple[int, ...],
    exporters: tuple[str, ...],
    themes: tuple[str, ...],
    ops: tuple[str, ...],
    fail_on: tuple[str, ...],
    lock: Path | None,
    here: bool,
    whole: bool,
    as_json: bool,
) -> None:
    """Say which workarounds to keep and which to remove at your release, and since when.

    The release is the newest measured unless --torch, --lock or --here names yours.
    """
    from caniexport.answers.scope import find_scope, resolve_name
    from caniexport.answers.workaround import answer_workaround, list_verdicts
    from caniexport.store.views import Views

    if len(opsets) > 1:
        raise click.UsageError("--opset: a number is wanted")
    opset = opsets[0] if opsets else None
    install = read_install(lock, here, torch)
    dataset, given = open_for(install, {"torch": torch})
    views = Views.of(dataset)
    asked = resolve_name(views, name) if name else find_scope(views, themes=themes, ops=ops)
    found = answer_workaround(dataset, asked, "".join(given["torch"][:1]), opset, exporters)
    print_answer(found, whole=whole, as_json=as_json, judges=False)
    if list_verdicts(found) & set(fail_on):
        click.get_current_context().exit(1)
