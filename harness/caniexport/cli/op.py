"""``caniexport op``: one operator of torch, or a list of operators."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
from caniexport.cli import output
from caniexport.cli.options import json_option, open_dataset
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import Exporter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caniexport.answers.operator_grid import FailingOperators
    from caniexport.answers.operator_lists import ListedOperator
    from caniexport.answers.operator_score import ReleaseScore
    from caniexport.answers.torch_operators import OperatorHistory, OperatorPlace, OperatorsSummary
    from caniexport.cli.output import Console
    from caniexport.store import Dataset

_LISTS = ("declared-fails", "undeclared-passes", "regressed", "silent", "torchscript-only", "onnxscript")
#: lines of a list that are shown unless all are asked for
_FEW = 40
#: exporters in the order of the columns
_SHOWN = (Exporter.DYNAMO.value, Exporter.TRACE.value)


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
@click.option("--torch", metavar="VERSION", help="The release: of a list, or of the first line about NAME.")
@click.option("--all", "every", is_flag=True, help="Every line.")
@json_option
def command(
    name: str | None, which: str | None, fails: str | None, torch: str | None, every: bool, as_json: bool
) -> None:
    """Say since when an operator of torch exports, with which dtype, exporter and opset.

    NAME is any spelling: torch.nn.functional.grid_sample, F.grid_sample, aten::grid_sampler, or an ONNX operator. The
    calls are the sample inputs of torch's own database of operators, each exported, run and compared. Without NAME
    and --list: which share of them passes in each release.
    """
    from caniexport.answers import operator_lists as lists
    from caniexport.answers import operator_score
    from caniexport.answers import torch_operators as answers
    from caniexport.answers.operator_findings import findings_by_operator
    from caniexport.answers.select import cases_about, load
    from caniexport.cli.support import show_cases

    if sum(map(bool, (name, which, fails))) > 1:
        raise click.UsageError("an operator's NAME is wanted, or --list, or --fails")
    home = homes.find().of_corpus(OPERATORS)
    summary = answers.OperatorsSummary(home.published)
    if which:
        tests = lists.read_tests(home.cases)
        found = lists.listed(summary, open_dataset(), lists.OperatorList(which), torch, tests)
        output.answer(found, partial(_show_list, every=every), as_json)
    elif fails:
        output.answer(_failing(summary, fails, torch), partial(show_failing, every=every), as_json)
    elif name:
        found_by_hand = findings_by_operator(home.cases)
        dataset = open_dataset()
        try:
            places = answers.torch_operator(summary, dataset, name, found_by_hand)
        except UnknownName:
            cases = cases_about(name, load(dataset))
            if not cases:
                raise
            show_cases(dataset, name, cases, as_json=as_json, has_samples=False)
            return
        if torch:
            output.echo(_at(summary, dataset, name, torch), err=as_json)
        output.answer(places, partial(_show, every=every), as_json)
    else:
        used = operator_score.read_used(home.cases)
        output.answer(operator_score.scores(summary, used), partial(_show_scores, models=used.models), as_json)


def _at(summary: OperatorsSummary, dataset: Dataset, name: str, torch: str) -> str:
    """How the operator's calls end at a release."""
    from caniexport.answers.operator_at import tell_meant
    from caniexport.answers.points import Places
    from caniexport.answers.select import load

    asked = Places(load(dataset)).fill({"torch": torch})
    told = tell_meant(summary, name, asked.torch)
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in asked.notes if "not measured" in note)
    return f"{told}{notes}\n" if told else f"Nothing was measured of {name} at torch {asked.torch}.{notes}"


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


def _show(found: Sequence[OperatorPlace], console: Console, *, every: bool) -> None:
    """The operator that the name means, whole; of several a line each."""
    from caniexport.answers.torch_operators import decide_several

    meant = [place for place in found if place.meant]
    whole = found if every else meant if len(meant) == 1 else []
    if not whole:
        console.print(decide_several(meant), highlight=False)
    for place in whole:
        _show_place(place, console)
    _show_lines([place for place in found if place not in whole], console)


def _show_lines(places: Sequence[OperatorPlace], console: Console) -> None:
    """A line for each operator."""
    if not places:
        return
    made = output.grid("operator", "dtype", *(EXPORTER_SHORT[name] for name in _SHOWN))
    for place in places:
        by = {line.exporter: line for line in place.told}
        dtype = place.told[0].dtype if place.told else ""
        made.add_row(place.op, dtype, *(_ended(by.get(name)) for name in _SHOWN))
    console.print(made)
    console.print(f"`caniexport op {places[0].op}` tells more of one, --all of each", highlight=False)


def _ended(line: OperatorHistory | None) -> str:
    if line is None:
        return ""
    if not line.works:
        return f"{line.counted} calls ({line.status})"
    return f"{line.passing}, since {line.since} (opset {line.opset})"


def _show_place(place: OperatorPlace, console: Console) -> None:
    """The decision, then its lines."""
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
            _status(line),
        )
    if place.lines:
        console.print(made)
    for label, words in _facts(place):
        output.labelled(label, words, console)
    if not place.lines:
        console.print("`caniexport check` measures a model of your own.")


def _status(line: OperatorHistory) -> str:
    """``fail (plain); passed on 2.1.2 to 2.10.0 (opset 18, 20)``."""
    ends = f"{line.status} ({line.sample})" if line.sample else line.status
    return f"{ends}; passed on {line.passed}" if line.passed else ends


def _facts(place: OperatorPlace) -> list[tuple[str, str]]:
    declared = [f"{EXPORTER_SHORT.get(name, name)} {opsets}" for name, opsets in place.declared.items()]
    left_out = [f"{dtype or 'all'}: {reason}" for dtype, reason in place.left_out.items()]
    reasons: dict[str, list[str]] = {}
    for line in place.lines:
        if line.signature:
            where = " ".join(filter(None, (line.dtype, line.form, EXPORTER_SHORT.get(line.exporter, line.exporter))))
            reasons.setdefault(line.signature.replace("|", ": "), []).append(where)
    found = {
        "seen": "\n".join(place.findings),
        "fails": "\n".join(f"{', '.join(where)}: {reason}" for reason, where in reasons.items()),
        "dynamo": place.companions,
        "becomes": place.becomes,
        "onnxruntime": "; ".join(f"{op}: {words}" for op, words in place.runs_on.items()),
        "declared": "; ".join(declared),
        "cases": ", ".join(place.cases),
        "fixes": ", ".join(place.fixes),
        "left out": "; ".join(left_out),
    }
    return [(label, words) for label, words in found.items() if words]


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
