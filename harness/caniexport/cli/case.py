"""``caniexport case``: one case, or one cell of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.package_versions import ALONG_PACKAGES
from caniexport.cli.cases import lint_cases, new_case
from caniexport.cli.options import (
    add_note,
    answer_options,
    install_options,
    open_dataset,
    parse_exporters,
    print_answer,
    read_install,
    refuse_unused,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caniexport.store import Dataset

_POINT = ("torch", "exporter", "opset", "runtime", "provider")


@click.command("case")
@click.argument("name", default="", metavar="[CASE[/VARIANT]]")
@click.option("--torch", "--release", "torch", default="", metavar="VERSION", help="One cell: torch release 2.8.")
@click.option("--exporter", default="", metavar="NAME", help="One cell: trace, script, dynamo, default.")
@click.option("--opset", default="", metavar="N", help="One cell: the opset asked for.")
@click.option("--runtime", default="", metavar="NAME", help="One cell: onnxruntime==1.20.")
@click.option("--provider", default="", metavar="NAME", help="One cell: cpu, cuda, …")
@click.option("--along", type=click.Choice(["torch", *ALONG_PACKAGES]), help="Where its outcome changed, as intervals.")
@click.option("--lint", is_flag=True, help="Check the case files (CASE may be a glob): exit code 1 for a finding.")
@click.option("--new", is_flag=True, help="Write the stub of the new case CASE into the file of its --theme.")
@click.option("--theme", default="", metavar="NAME", help="With --new: its op family, pooling or a new one.")
@click.option("--source", default="owner/repo#1", metavar="NAME", help="With --new: where the failure is documented.")
@install_options("Answer for what you have installed")
@answer_options
def command(
    name: str,
    along: str | None,
    lint: bool,
    new: bool,
    theme: str,
    source: str,
    lock: Path | None,
    here: bool,
    whole: bool,
    as_json: bool,
    **point: str,
) -> None:
    """Say where a case works and since when, by which call, and which workarounds help.

    With --torch, --exporter or --opset: the evidence of one cell, with its message, environment and script.
    Operator samples are cases too: op-cross/float32-plain, promotion-sub/int64-float-left. A stub of --new is filled in
    by hand, and `caniexport measure --case CASE --release 2.15.0` judges it.
    """
    if lint:
        lint_cases([*filter(None, [name])], as_json=as_json)
        return
    if not name:
        raise click.UsageError("Missing argument 'CASE'")
    if new:
        if not theme:
            raise click.UsageError("--new wants the op family of the case: --theme pooling")
        new_case(name, theme, source, as_json=as_json)
        return
    refuse_unused({"--theme": bool(theme)}, "--new")
    install = read_install(lock, here, [*filter(None, [point["torch"]])])
    asked = dict(install.packages) if install else {}
    asked |= {key: point[key] for key in _POINT if point[key]}
    if install:
        add_note(f"read: {install.text}")
    show_case(open_dataset(), name, asked, along=along, whole=whole, as_json=as_json)


def show_case(
    dataset: Dataset, name: str, asked: Mapping[str, str], *, along: str | None, whole: bool, as_json: bool
) -> None:
    """Print the answer about a case, or where its outcome changed."""
    from caniexport.answers.case import answer_case
    from caniexport.answers.changes import answer_changes

    if along:
        exporters = parse_exporters([*filter(None, [asked.get("exporter", "")])])
        answer = answer_changes(dataset, name, along, asked.get("torch", ""), exporters, asked.get("opset", ""))
    else:
        answer = answer_case(dataset, name, asked)
    print_answer(answer, whole=whole, as_json=as_json, judges=False)
