"""``caniexport workaround``: is this workaround still needed, and since when not."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from caniexport.cli import output
from caniexport.cli.options import (
    answer_options,
    exporters_named,
    install_options,
    leave_setting,
    open_for,
    opset_numbers,
    print_answer,
    read_install,
    several,
    several_names,
)
from caniexport.cli.project import is_setting
from caniexport.corpus.verdicts import Workaround
from caniexport.names import some


@click.command("workaround")
@click.argument("name", metavar="[CASE[/WORKAROUND], OP or WORKAROUND]", required=False)
@several("--torch", "--release", "torch", metavar="VERSION", text="Your torch release: 2.8.")
@several("--opset", "opsets", metavar="N", text="Your opset; else each release's own.", read=opset_numbers)
@several("--exporter", "exporters", metavar="NAME", text="trace, script, dynamo, default.", read=exporters_named)
@several_names("--theme", "themes", "Families of operators: pooling.")
@several_names("--op", "ops", "Operators: cross,GridSample.")
@click.option(
    "--fail-on",
    type=click.Choice([word.value for word in Workaround]),
    multiple=True,
    help="Exit 1 where a workaround has this verdict; repeatable: --fail-on obsolete.",
)
@click.option("--scan", "tree", type=click.Path(path_type=Path), metavar="PATH", help="Find them in this source.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="With --scan: text, annotations of a pull request, or SARIF.",
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
    tree: Path | None,
    form: str,
    lock: Path | None,
    here: bool,
    whole: bool,
    as_json: bool,
) -> None:
    """Say which workarounds to keep and which to remove at your release, and since when.

    The release is the newest measured unless --torch, --lock or --here names yours.
    """
    from caniexport.answers.scope import named, scope
    from caniexport.answers.workaround import verdicts, workaround
    from caniexport.store.views import Views

    if len(opsets) > 1:
        raise click.UsageError("--opset: a number is wanted")
    opset = opsets[0] if opsets else None
    install = read_install(lock, here, torch)
    if tree is not None:
        if name or themes or ops:
            raise click.UsageError(
                "--scan takes --torch, --exporter, --opset and --fail-on, and no case or other filter"
            )
        _scan(tree, fail_on, "json" if as_json else form, (torch, exporters, opset), (install, whole))
        return
    if form not in ("text", "json"):
        raise click.UsageError(f"--format {form} is for --scan")
    dataset, given = open_for(install, {"torch": torch})
    views = Views.of(dataset)
    asked = named(views, name) if name else scope(views, themes=themes, ops=ops)
    found = workaround(dataset, asked, "".join(given["torch"][:1]), opset, exporters)
    print_answer(found, whole=whole, as_json=as_json or form == "json", judges=False)
    if verdicts(found) & set(fail_on):
        click.get_current_context().exit(1)


def _scan(
    tree: Path,
    fail_on: tuple[str, ...],
    form: str,
    asked: tuple[tuple[str, ...], tuple[str, ...], int | None],
    others: tuple[object, bool],
) -> None:
    from caniexport.cli.scanned import show_scan
    from caniexport.scan import formats
    from caniexport.scan.scan import scan

    torch, exporters, opset = asked
    install, everything = others
    # the project that is scanned has settings of its own
    context = click.get_current_context()
    torch, exporters, opset = (
        () if is_setting(context, "torch") else torch,
        () if is_setting(context, "exporters") else exporters,
        None if is_setting(context, "opsets") else opset,
    )
    leave_setting("torch", "exporters", "opsets")
    if len(exporters) > 1:
        raise click.UsageError("--scan takes one exporter")
    dataset, given = open_for(install, {"torch": torch})  # type: ignore[arg-type]  # what read_install gives
    found = scan(dataset, tree, given["torch"], "".join(exporters) or None, opset)
    if form in ("github", "sarif"):
        output.echo({"github": formats.github, "sarif": formats.sarif}[form](found), nl=False)
    else:
        output.answer(found, partial(show_scan, everything=everything), form == "json")
    stopping = [item for item in found.findings if item.is_measured and item.word.value in fail_on]
    if stopping:
        told = [f"{item.site.path}:{item.site.line} ({item.word.value})" for item in stopping]
        output.echo(f"Exit 1, by --fail-on: {some(told, 6)}", err=True)
        context.exit(1)
