"""``caniexport op``: one operator of torch, or a list of operators."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.cli import output
from caniexport.cli.options import json_option, open_dataset, print_answer
from caniexport.model.made_cases import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caniexport.answers.operator_grid import FailingOperators
    from caniexport.answers.operator_lists import ListedOperator
    from caniexport.answers.operator_score import ReleaseScore
    from caniexport.answers.torch_operators import OperatorsSummary
    from caniexport.cli.output import Console

_LISTS = ("declared-fails", "undeclared-passes", "regressed", "silent", "torchscript-only", "onnxscript")
#: lines of a list that are shown unless all are asked for
_FEW = 40


@click.command("op")
@click.argument("name", required=False)
@click.option(
    "--list",
    "which",
    metavar="NAME",
    type=click.Choice(_LISTS),
    help=f"A list of operators of the newest release instead: {', '.join(_LISTS)}.",
)
@click.option(
    "--fails",
    type=click.Choice(("dynamo", "trace")),
    help="The operators of which no opset passes every call by this exporter, instead of one.",
)
@click.option("--torch", metavar="VERSION", help="The release of a list.")
@click.option("--all", "every", is_flag=True, help="Every line.")
@json_option
def command(
    name: str | None, which: str | None, fails: str | None, torch: str | None, every: bool, as_json: bool
) -> None:
    """Say since when an operator of torch exports, by which call, at which opsets and in which dtypes.

    NAME is any spelling: torch.nn.functional.grid_sample, F.grid_sample, aten::grid_sampler, or an ONNX operator. What
    is measured are the operator samples: torch's own test inputs, each exported, run and compared. Without NAME: which
    share of them passes in each release.
    """
    from caniexport.answers import operator_lists as lists
    from caniexport.answers import operator_score
    from caniexport.answers.op import op
    from caniexport.answers.operator_findings import findings_by_operator
    from caniexport.answers.torch_operators import OperatorsSummary, operators_beside

    if sum(map(bool, (name, which, fails))) > 1:
        raise click.UsageError("an operator's NAME is wanted, or --list, or --fails")
    if name:
        dataset = open_dataset()
        findings = findings_by_operator(homes.find().cases / OPERATORS)
        print_answer(op(operators_beside(dataset), dataset, name, findings), whole=every, as_json=as_json, judges=False)
        return
    home = homes.find().of_corpus(OPERATORS)
    summary = OperatorsSummary(home.published)
    if which:
        tests = lists.read_tests(home.cases)
        found = lists.listed(summary, open_dataset(), lists.OperatorList(which), torch, tests)
        output.answer(found, partial(_show_list, every=every), as_json)
    elif fails:
        output.answer(_failing(summary, fails, torch), partial(show_failing, every=every), as_json)
    else:
        used = operator_score.read_used(home.cases)
        output.answer(operator_score.scores(summary, used), partial(_show_scores, models=used.models), as_json)


def _failing(summary: OperatorsSummary, exporter: str, torch: str | None) -> FailingOperators:
    from caniexport.answers.operator_grid import failing_at
    from caniexport.answers.select import exporter_name

    release = versions.resolve(torch, summary.releases) if torch else ""
    return failing_at(summary, exporter_name(exporter), release)


def show_failing(found: FailingOperators, console: Console, *, every: bool = False) -> None:
    """Print how many operators fail by an exporter, and of each how its calls end."""
    console.print(f"{found.told}.", style="bold", soft_wrap=True)
    made = output.grid("operator", "dtype", "calls that pass", "ends", "passed")
    for item in found.entries if every else found.entries[:_FEW]:
        status = item.now[found.exporter]
        ended = output.marked(f"{STATUS[status].sign} {word(status)}", STATUS[status])
        share, until = item.share.get(found.exporter) or "none", item.passed.get(found.exporter, "")
        made.add_row(item.op, item.dtype, share, ended, until)
    console.print(made)
    left = len(found.entries) - _FEW
    more = f"{left} more: `caniexport op --fails {EXPORTER_SHORT[found.exporter]} --torch {found.torch} --all`. "
    console.print(f"{more if left > 0 and not every else ''}`caniexport op NAME` tells more of one.", soft_wrap=True)


def _show_scores(found: Sequence[ReleaseScore], console: Console, *, models: int) -> None:
    made = output.grid("torch", "exporter", "opset", "operators", "pass %", "used", "pass %, by use")
    for item in found:
        short = EXPORTER_SHORT.get(item.exporter, item.exporter)
        by_use = "-" if item.by_use is None else str(item.by_use)
        made.add_row(item.torch, short, str(item.opset), str(item.operators), str(item.share), str(item.used), by_use)
    console.print(made)
    words = f"By use: the operators that {models} models call, each as often as models call it."
    console.print(f"The mean of the operators' calls that pass, at the newest opset that was asked. {words}")


def _show_list(found: Sequence[ListedOperator], console: Console, *, every: bool) -> None:
    from caniexport.answers.torch_operators import STANDS_FOR

    made = output.grid("operator", "dtype", "exporter", "opset", "torch", "")
    for item in found if every else found[:_FEW]:
        short = EXPORTER_SHORT.get(item.exporter, item.exporter)
        dtype = f"{item.dtype} {item.form}".strip()
        made.add_row(item.op, dtype, short, str(item.opset or ""), item.torch, item.said[:100])
    console.print(made)
    console.print(STANDS_FOR)
    console.print(f"{len(found)} operators and dtypes" + ("" if every or len(found) <= _FEW else "; --all shows them"))
