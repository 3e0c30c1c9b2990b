"""``caniexport op``: one operator of torch, or which of all work."""

from __future__ import annotations

import click

from caniexport.cli.options import json_option, open_dataset, parse_exporters, print_answer, several


@click.command("op")
@click.argument("name", required=False, default="")
@click.option("--torch", metavar="VERSION", default="", help="The newest release to look at.")
@several("--exporter", "exporters", metavar="NAME", text="Of a list: trace, dynamo.", read=parse_exporters)
@click.option("--opset", type=int, metavar="N", help="Of a list: all samples pass at this opset, not at any.")
@click.option("--dtype", metavar="NAME", default="", help="Of a list: this dtype, or all; else the first of each.")
@several("--status", "statuses", metavar="STATUS", text="Of a list: only these statuses: fail, mismatch, crash, ...")
@click.option("--all", "whole", is_flag=True, help="Every row and every message, not one screen.")
@json_option
def command(
    name: str,
    torch: str,
    exporters: tuple[str, ...],
    opset: int | None,
    dtype: str,
    statuses: tuple[str, ...],
    whole: bool,
    as_json: bool,
) -> None:
    """Say since when an operator of torch exports, by which call, at which opsets and in which dtypes.

    NAME is any spelling: torch.nn.functional.grid_sample, F.grid_sample, aten::grid_sampler, or an ONNX operator. What
    is measured are the operator samples: torch's own test inputs, each exported, run and compared. Without NAME, or
    with a glob such as 'fft.*': which operators work, those first that do not and that models call most.
    """
    from caniexport.answers.filters import require_statuses
    from caniexport.answers.op import answer_op
    from caniexport.answers.operators import OperatorFilters

    asked = OperatorFilters(
        torch=torch, exporters=exporters, opset=opset, dtype=dtype, statuses=require_statuses(statuses)
    )
    print_answer(answer_op(open_dataset(), name, asked), whole=whole, as_json=as_json, judges=False)
