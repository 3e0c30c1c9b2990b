"""``caniexport check``: a user's own model, or case files of theirs, through the same matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from caniexport import home as homes
from caniexport.cli import output
from caniexport.cli.options import (
    answer_options,
    cells_options,
    open_dataset,
    print_answer,
    releases_option,
    several,
    workers_option,
)

_AXIS = re.compile(r"^(?P<name>\w+):(?P<axis>\d+)(?:=(?P<label>[A-Za-z_]\w*))?$")


@click.command("check")
@click.argument("target", metavar="MODULE:FACTORY")
@releases_option("A torch release, or all. Repeatable.  [default: the torch that is installed, else the newest]")
@cells_options
@several("--dynamic", metavar="NAME:AXIS[=LABEL]", text="An axis of an input that varies: x:0=batch.")
@click.option("--only-given", is_flag=True, help="Run the inputs given, and make no others of them.")
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance against eager.  [default: by dtype]")
@click.option("--atol", type=click.FloatRange(0), help="Absolute tolerance against eager.  [default: by dtype]")
@several(
    "--with",
    "packages",
    metavar="PACKAGE",
    text="Install this too, in an environment of its own: torchvision, timm==1.0.9.",
)
@workers_option("Exporters side by side.  [default: one a core]")
@click.option("--timeout", type=click.FloatRange(1), default=120.0, show_default=True, help="Seconds for a cell.")
@click.option("--memory", type=click.IntRange(64), default=8192, show_default=True, help="MiB a cell may allocate.")
@click.option("--rolling", is_flag=True, help="Delete each environment that was made, after it has been measured.")
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="After so long nothing more is begun that was not named.",
)
@click.option(
    "--keep", type=click.Path(file_okay=False, path_type=Path), help="Write the exported ONNX files to this folder."
)
@several(
    "--then",
    metavar="TOOL[:SETTING]",
    text="Take the file through this tool afterwards: onnxslim, onnx-converter:to13, fp16, int8. Repeatable, in order.",
)
@answer_options
def command(
    target: str,
    dynamic: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    only_given: bool,
    whole: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Export your own model and run it: which call to use, where it works, why not elsewhere, what to try.

    MODULE:FACTORY (or FILE.py:FACTORY) names a function without arguments that returns (module, inputs): a tuple is one
    set of arguments, a list several sets, of which the first is exported and all are run. It is imported from the
    working directory, by the Python that has torch: the activated environment, .venv, or one that is made for a
    --release. A case file or a folder of them is taken as well. Such a file is run with your rights: check a stranger's
    in a container. Exit code 1: wrong values anywhere, or a default call, or an exporter or opset that was named, that
    does not work.
    """
    from caniexport.check.check import CheckRequest, check
    from caniexport.check.target import Options

    home = homes.find()
    options = Options(axes(dynamic), rtol, atol, not only_given)
    corpus, cwd = open_dataset(home), Path.cwd()
    found = check(target, CheckRequest(**asked), options, home=home, corpus=corpus, cwd=cwd, say=output.say)
    print_answer(found, whole=whole, as_json=as_json)


def axes(texts: Iterable[str]) -> dict[str, dict[int, str]]:
    """``x:0=batch`` as ``{"x": {0: "batch"}}``; an axis without a label gets one."""
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        match = _AXIS.match(text)
        if match is None:
            raise click.UsageError(f"--dynamic {text!r}: give NAME:AXIS or NAME:AXIS=LABEL, such as x:0=batch")
        name, axis = match["name"], int(match["axis"])
        found.setdefault(name, {})[axis] = match["label"] or f"{name}_{axis}"
    return found
