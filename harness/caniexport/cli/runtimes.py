"""``caniexport runtimes``: runtime releases side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from caniexport import names as known
from caniexport import versions
from caniexport.cli import output
from caniexport.cli.options import json_option, open_dataset, several
from caniexport.names import plural

if TYPE_CHECKING:
    from caniexport.answers.contributed import ContributedRun
    from caniexport.answers.node_tests import OperatorLine
    from caniexport.answers.provider_runs import ProviderRuns
    from caniexport.answers.runtimes import RuntimeLine
    from caniexport.cli.output import Console

_Line = TypeVar("_Line", "OperatorLine", "RuntimeLine", "ContributedRun", "ProviderRuns")
#: files of a contributed run that are named
_SHOWN = 5
#: operators and cases of a provider that are shown
_MOST = 25
#: operators with their opsets that fit beside each other
_WIDEST = 14
#: short heads for the reasons of a refusal, and the columns after them: fourteen columns in a hundred characters
_SHORT = {"IR": "ir new", "OPSET": "op new", "OPERATOR": "op?"}
_LATER = ("later", "mismatch", "lost")
_NOTHING = "No bundle has been run by a further runtime yet: `caniexport measure --runtime onnxruntime==1.23.2` does."


@click.command("runtimes")
@several("--runtime", "names", metavar="NAME", text="Only this runtime; globs work.")
@click.option("--corpus", type=click.Choice(["onnx-node"]), help="ONNX's own node tests in place of exported files.")
@several("--op", "operators", metavar="NAME", text="Node tests of this operator, by opset; globs.")
@click.option("--provider", metavar="NAME", help="What runs on a provider, and what it leaves to the CPU: cuda.")
@click.option("--contributed", is_flag=True, help="Only the runs that others handed in.")
@json_option
def command(
    names: tuple[str, ...],
    corpus: str | None,
    operators: tuple[str, ...],
    provider: str | None,
    contributed: bool,
    as_json: bool,
) -> None:
    """Show what each runtime release takes: highest opset and IR version, and how the exported files end on it.

    All of it is measured: the ceilings with the smallest model of each opset and IR version, the rest with the
    bundles that torch releases exported, the same file on every runtime. With --op (Resize), how many of ONNX's own
    tests of an operator pass, by the opset of their files. Runs that others handed in are counted once a sample of
    their files was run here too and agrees; --contributed shows all of them. With --provider, the operators of
    exported files that a provider such as CUDA leaves to the CPU, and the cases whose files end otherwise there.
    """
    from caniexport.answers import node_tests
    from caniexport.answers.contributed import contributed_runs
    from caniexport.answers.provider_runs import elsewhere, provider_runs
    from caniexport.answers.runtimes import runtimes

    if contributed:
        output.answer(_of(names, contributed_runs(open_dataset())), show_contributed, as_json)
    elif provider:
        dataset = open_dataset()
        asked = known.require("provider", provider, elsewhere(dataset))
        output.answer(_of(names, provider_runs(dataset, asked, corpus or "")), show_provider, as_json)
    elif operators:
        output.answer(_of(names, node_tests.operators(open_dataset(), operators)), show_operators, as_json)
    else:
        output.answer(_of(names, runtimes(open_dataset(), corpus or "")), show, as_json)


def _of(names: Sequence[str], lines: list[_Line]) -> list[_Line]:
    """The lines of the runtimes asked for, of all where none is named."""
    taken = known.require_all("runtime", names, dict.fromkeys(line.runtime for line in lines))
    return [line for line in lines if not names or line.runtime in taken]


def show_operators(lines: list[OperatorLine], console: Console) -> None:
    """Print operators and their opsets across, releases of runtimes down."""
    across = list(dict.fromkeys((line.operator, line.opset) for line in lines))
    if len(across) > _WIDEST:
        raise click.UsageError(f"{len(across)} operators and opsets do not fit beside each other: --json has them")
    cells = {(line.runtime, line.version, line.provider, line.operator, line.opset): line for line in lines}
    made = output.grid("runtime", "provider", *(f"{operator} {opset}" for operator, opset in across))
    keys = {(line.runtime, line.version, line.provider) for line in lines}
    for runtime, version, provider in sorted(keys, key=lambda key: (key[0], key[2], versions.parse(key[1] or "0"))):
        found = [cells.get((runtime, version, provider, *place)) for place in across]
        made.add_row(
            f"{runtime} {version}",
            provider,
            *("-" if line is None else f"{line.passed}/{line.tests}" for line in found),
        )
    console.print(made)
    console.print("\n- ONNX's own node tests that pass, of all with a row, by the opset of their files")
    console.print("- tests of random values, of types that numpy has not and of sequences are not counted")


def show_provider(found: list[ProviderRuns], console: Console) -> None:
    """Print, for each release, its sentence, what ends otherwise there, and the operators left to the CPU."""
    for place, runs in enumerate(found):
        console.print(("\n" if place else "") + runs.told, soft_wrap=True)
        for end in dict.fromkeys(item.end for item in runs.apart):
            mine = [item for item in runs.apart if item.end is end]
            console.print(f"\nFiles that {end.value}, by case:")
            for item in mine[:_MOST]:
                said = f"{plural(item.files, 'file')}; {item.cause}"
                console.print(f"  {item.case}/{item.variant}: {said}", soft_wrap=True)
            if len(mine) > _MOST:
                console.print(f"  and {len(mine) - _MOST} further: --json has them")
        made = output.grid("left to the CPU", "files", "of", "nodes", "in cases such as")
        for left in runs.left[:_MOST]:
            made.add_row(left.operator, f"{left.files:,}", f"{left.of:,}", f"{left.nodes:,}", ", ".join(left.cases[:2]))
        console.print()
        console.print(made)
        if len(runs.left) > _MOST:
            console.print(f"- and {len(runs.left) - _MOST} further operators: --json has them")
    console.print("\n- of: files with the operator that work; a node that a provider has no kernel for, or is told to")
    console.print("  leave (shapes, small integers), runs on the CPU, and its tensors are copied there and back")


def show_contributed(runs: list[ContributedRun], console: Console) -> None:
    """Print whose runs they are, how their files ended, and whether their rows are used."""
    if not runs:
        console.print("Nobody has handed in a run: docs/your-runtime.md says how.")
    for run in runs:
        where = f", {run.contributed_from}" if run.contributed_from else ""
        ends = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
        console.print(f"{run.runtime} {run.version} on {run.provider}, by {run.contributor}{where}", soft_wrap=True)
        console.print(f"  {run.files} files: {ends} ({run.platform}; {run.measured_at[:10]})", soft_wrap=True)
        used = f"used: {run.repeated} files were run here too and agree" if run.gate == "good" else run.gate
        console.print(f"  {used}", soft_wrap=True)
        for name in run.differing[:_SHOWN]:
            console.print(f"    {name} ended otherwise here", soft_wrap=True)


def show(lines: list[RuntimeLine], console: Console) -> None:
    """Print the table."""
    from caniexport.corpus.refusals import Refusal

    if not lines:
        console.print(_NOTHING)
        return
    reasons = [cause for cause in Refusal if any(line.refusals.get(cause.value) for line in lines)]
    short = [_SHORT.get(cause.name, cause.name.lower()) for cause in reasons]
    made = output.grid("runtime", "opset", "IR", "files", "pass", *short, *_LATER, gap=1)
    made.no_wrap = True
    for line in lines:
        passed = line.statuses.get("pass", 0) + line.statuses.get("degraded", 0)
        refused = sum(line.refusals.values())
        lost = sum(line.statuses.get(name, 0) for name in ("crash", "timeout", "oom"))
        mismatch = line.statuses.get("mismatch", 0)
        numbers = [passed, *(line.refusals.get(cause.value, 0) for cause in reasons)]
        numbers += [max(0, line.bundles - passed - refused - mismatch - lost), mismatch, lost]
        made.add_row(
            _name(line, lines) + "*" * line.local,
            *(str(number) if number is not None else "-" for number in (line.max_opset, line.max_ir)),
            str(line.bundles),
            *(str(number) if number else "·" for number in numbers),
        )
    # a number that is cut would be another number
    console.print(made, crop=False)
    console.print("\n- opset, IR: the highest that loads and runs; then how many of the same exported files end how")
    meanings = ", ".join(f"{name} ({cause.value})" for name, cause in zip(short, reasons, strict=True))
    not_loaded = f"not loaded: {meanings}; " if meanings else ""
    console.print(f"- {not_loaded}later: an error when it runs; lost: crash, timeout, out of memory")
    for line in lines:
        if line.apart is not None:
            console.print(f"- {_name(line)}: values of {line.apart} files are not those of its package's CPU provider")
    if any(line.provider not in ("cpu", "none") for line in lines):
        console.print("- --provider NAME says what runs there, and what is left to the CPU")
    output.say_local([line.local for line in lines], console)


def _name(line: RuntimeLine, among: Sequence[RuntimeLine] = ()) -> str:
    """The release, and its provider where that is not the cpu; ``among`` others, the device only to tell two apart."""
    alike = [other for other in among if (other.version, other.provider) == (line.version, line.provider)]
    where = "" if line.provider == "cpu" else f" {line.provider}"
    is_named = line.device not in ("", "cpu") and len({other.device for other in alike}) != 1
    return f"{line.runtime} {line.version}{where}" + (f" ({line.device})" if is_named else "")
