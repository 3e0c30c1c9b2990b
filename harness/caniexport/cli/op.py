"""``caniexport op``: one operator of torch, or a list of operators."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.cli import output
from caniexport.cli.options import json_option, open_dataset
from caniexport.model.made_cases import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caniexport.answers.operator_lists import ListedOperator
    from caniexport.answers.torch_operators import OperatorPlace
    from caniexport.cli.output import Console

_LISTS = ("declared-fails", "undeclared-passes", "regressed", "silent", "torchscript-only", "onnxscript")
#: lines of a list, and operators of a name, that are shown unless all are asked for
_FEW = 40


@click.command("op")
@click.argument("name", required=False)
@click.option("--list", "which", type=click.Choice(_LISTS), help="A list of operators of the newest release instead.")
@click.option("--torch", metavar="VERSION", help="The release of a list.")
@click.option("--all", "every", is_flag=True, help="Every line.")
@json_option
def command(name: str | None, which: str | None, torch: str | None, every: bool, as_json: bool) -> None:
    """Say since when an operator of torch exports, with which dtype, exporter and opset.

    NAME is any spelling: torch.nn.functional.grid_sample, F.grid_sample, aten::grid_sampler, or an ONNX operator. The
    calls are the sample inputs of torch's own database of operators, each exported, run and compared.
    """
    from caniexport.answers import operator_lists as lists
    from caniexport.answers import torch_operators as answers

    if bool(name) == bool(which):
        raise click.UsageError("an operator's NAME is wanted, or --list")
    home = homes.find().of_corpus(OPERATORS)
    summary = answers.OperatorsSummary(home.published)
    if which:
        tests = lists.read_tests(home.cases)
        found = lists.listed(summary, open_dataset(), lists.OperatorList(which), torch, tests)
        output.answer(found, partial(_show_list, every=every), as_json)
    elif name:
        output.answer(answers.torch_operator(summary, open_dataset(), name), partial(_show, every=every), as_json)


def _show(found: Sequence[OperatorPlace], console: Console, *, every: bool) -> None:
    """The decision on each, then its lines."""
    shown = found if every else found[:3]
    for place in shown:
        console.print(place.decision, highlight=False)
        made = output.grid("dtype", "form", "exporter", "since", "opset", "passes at", "asked", "calls", "ends")
        for line in place.lines:
            made.add_row(
                line.dtype,
                line.form,
                EXPORTER_SHORT.get(line.exporter, line.exporter),
                line.since or "-",
                "" if line.opset is None else str(line.opset),
                line.passing or "-",
                line.asked,
                line.counted,
                line.status if not line.sample else f"{line.status} ({line.sample})",
            )
        if place.lines:
            console.print(made)
        for label, words in _facts(place):
            output.labelled(label, words, console)
    if len(found) > len(shown):
        console.print(
            f"and {len(found) - len(shown)} more: {', '.join(item.op for item in found[len(shown) :])} (--all)"
        )


def _facts(place: OperatorPlace) -> list[tuple[str, str]]:
    declared = [f"{EXPORTER_SHORT.get(name, name)} {opsets}" for name, opsets in place.declared.items()]
    left_out = [f"{dtype or 'all'}: {reason}" for dtype, reason in place.left_out.items()]
    reasons: dict[str, list[str]] = {}
    for line in place.lines:
        if line.signature:
            where = " ".join(filter(None, (line.dtype, line.form, EXPORTER_SHORT.get(line.exporter, line.exporter))))
            reasons.setdefault(line.signature.replace("|", ": "), []).append(where)
    found = {
        "fails": "\n".join(f"{', '.join(where)}: {reason}" for reason, where in reasons.items()),
        "becomes": ", ".join(place.became),
        "onnxruntime": "; ".join(f"{op}: {words}" for op, words in place.runs_on.items()),
        "declared": "; ".join(declared),
        "cases": ", ".join(place.cases),
        "fixes": ", ".join(place.fixes),
        "left out": "; ".join(left_out),
    }
    return [(label, words) for label, words in found.items() if words]


def _show_list(found: Sequence[ListedOperator], console: Console, *, every: bool) -> None:
    made = output.grid("operator", "dtype", "exporter", "opset", "torch", "")
    for item in found if every else found[:_FEW]:
        short = EXPORTER_SHORT.get(item.exporter, item.exporter)
        made.add_row(item.op, item.dtype, short, str(item.opset or ""), item.torch, item.said[:100])
    console.print(made)
    console.print(f"{len(found)} operators and dtypes" + ("" if every or len(found) <= _FEW else "; --all shows them"))
