"""``caniexport table``: what passes where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.cli.options import answer_options, filter_options, open_dataset, print_answer, use_measured_releases

if TYPE_CHECKING:
    from caniexport.answers.answer import Answer
    from caniexport.store import Dataset


@click.command("table")
@click.option(
    "--by",
    type=click.Choice(
        ["torch", "opset", "exporter", "runtime", "provider", "onnxscript", "onnx", "tool", "plugin", "file"]
    ),
    default="torch",
    show_default=True,
    help="What the columns are.",
)
@click.option(
    "--lines",
    type=click.Choice(["cases", "themes", "operators", "models", "patches"]),
    help="What the lines are; themes where no case is named or filtered.",
)
@click.option("--models", "lines", flag_value="models", help="Whole models: bert, resnet18, yolo11n, ...")
@click.option(
    "--runtime", metavar="NAME==VERSION", default="", help="How the same files end there: openvino==2026.2.1."
)
@click.option("--corpus", type=click.Choice(["onnx-node"]), help="With --by runtime: ONNX's own node tests.")
@filter_options("table", profile=False)
@answer_options
def command(
    by: str,
    lines: str | None,
    runtime: str,
    corpus: str | None,
    whole: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Show what passes where: cases, themes or operators by torch release, opset, exporter, runtime or package.

    Without --case or --variant it has the original forms, by both exporters. A place names the opsets that pass: 16+
    is all that were tried from there on. ✗ fails with an error, ≠ gives wrong values, ! crashes, ⊘ is refused, ~ is not
    as asked, · was not measured.

    --by runtime without a case or filter shows what each runtime release takes: the highest opset and IR version that
    run, and how the same exported files end. With --provider cuda: what runs there, and what is left to the CPU; with
    --corpus onnx-node --op Resize: how many of ONNX's own tests pass.

    After the export: --by tool shows what slimming, converting, halving and quantizing do to the files, --by plugin
    which release of an execution provider works with which onnxruntime (--runtime NAME: one of them), --by file what
    onnx says of the files.
    """
    from caniexport.answers.point import Points
    from caniexport.answers.table import By, TableLines, answer_table

    dataset = open_dataset()
    of_cases = [name for name, values in given.items() if values and name not in ("op", "provider")]
    if corpus or (by == By.RUNTIME.value and not (of_cases or lines or (given["op"] and not corpus))):
        print_answer(_of_runtimes(dataset, given, runtime, corpus or ""), whole=whole, as_json=as_json, judges=False)
        return
    given = use_measured_releases(dataset, given)
    filters = read_filters("table", given)
    if by in (By.TOOL.value, By.PLUGIN.value, By.FILE.value):
        names = (runtime,) if runtime else ()
        print_answer(answer_table(dataset, filters, By(by), names=names), whole=whole, as_json=as_json, judges=False)
        return
    on = Points(dataset).find({"runtime": runtime})[0].on if runtime else None
    is_bare = not any(values for name, values in given.items() if name != "torch")
    found = TableLines(lines) if lines else TableLines.THEMES if is_bare else TableLines.CASES
    print_answer(answer_table(dataset, filters, By(by), found, on), whole=whole, as_json=as_json, judges=False)


def _of_runtimes(dataset: Dataset, given: Mapping[str, tuple[str, ...]], runtime: str, corpus: str) -> Answer:
    from caniexport.answers.runtimes import answer_node_tests, answer_provider, answer_runtimes

    names = (runtime,) if runtime else ()
    if given["provider"]:
        return answer_provider(dataset, given["provider"][-1], names, corpus)
    if given["op"]:
        return answer_node_tests(dataset, given["op"], names)
    return answer_runtimes(dataset, names, corpus)
