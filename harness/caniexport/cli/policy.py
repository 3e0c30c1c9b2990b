"""``caniexport policy``: torch release -> highest opset, as a table or as a file for other projects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport import versions
from caniexport.answers.filters import read_filters
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset, several, tell
from caniexport.cli.output import grid

if TYPE_CHECKING:
    from caniexport.answers.policy import Policy, Rule
    from caniexport.cli.output import Console

#: versions of a runtime that fit beside each other
_BESIDE = 8


@click.command("policy")
@several(
    "--runtime-version", "runtime_versions", metavar="VERSION", text="The files on this onnxruntime: 1.26; or all."
)
@click.option(
    "--ops", "op_list", type=click.Path(path_type=Path), help="A file with operators, one a line; or cross,lstm."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "toml", "json"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@filter_options("policy")
@json_option
def command(
    runtime_versions: tuple[str, ...], op_list: Path | None, form: str, as_json: bool, **given: tuple[str, ...]
) -> None:
    """Say for each torch release the highest opset: that works at all, and at which everything asked about passes.

    Without --exporter it is the exporter that the release's default call uses; without --runtime-version the
    onnxruntime that was installed beside it.
    """
    from caniexport.answers import policy as answers
    from caniexport.answers.wanted import wanted

    dataset = open_dataset()
    asked = wanted(dataset, read_filters("policy", given), op_list)
    if asked.nothing:
        raise click.UsageError("; ".join(asked.notes))
    for note in asked.notes:
        tell(note)
    found = answers.policy(dataset, asked.filters, runtime_versions)
    if form == "toml" and not as_json:
        output.echo(answers.to_toml(found), nl=False)
    else:
        output.answer(found, show, as_json or form == "json")


def show(found: Policy, console: Console) -> None:
    """Print the rules as a table; those of several runtimes beside each other, as far as they fit."""
    runtimes = list(dict.fromkeys(rule.runtime_version for rule in found.rules))
    asked = not all(rule.own for rule in found.rules)
    if asked and 1 < len(runtimes) <= _BESIDE:
        _side_by_side(found, runtimes, console)
    else:
        _one_below_the_other(found, console)
    console.print(f"- about {found.about}", soft_wrap=True)
    said = "- usable: a file of that opset is exported, loads and runs at all; all pass: every case, as it is"
    console.print(said, soft_wrap=True)
    if any(maybe is not None for rule in found.rules for maybe in (rule.usable_maybe, rule.passes_maybe)):
        said = "- (18?): nothing fails up to there, but not every file was run on that runtime"
        console.print(said, soft_wrap=True)
    if any(rule.unmeasured for rule in found.rules):
        said = "- cases N (M?): of M of them not every file was run there, so more than are told may work at no opset"
        console.print(said, soft_wrap=True)
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)


def _one_below_the_other(found: Policy, console: Console) -> None:
    made = grid("torch", "exporter", "runtime", "own", "usable", "all pass", "with fixes", "cases", "at no opset")
    for rule in found.rules:
        made.add_row(
            rule.torch,
            EXPORTER_SHORT.get(rule.exporter, rule.exporter),
            rule.runtime_version or "-",
            _number(rule.default),
            _number(rule.usable, rule.usable_maybe),
            _number(rule.passes, rule.passes_maybe),
            _number(rule.with_fixes, rule.with_fixes_maybe),
            _number(rule.cases, rule.unmeasured or None),
            str(len(rule.holds)),
        )
    console.print(made)
    console.print("- own: what is written where no opset is asked for", soft_wrap=True)
    console.print("- at no opset: cases that work nowhere (--json and --format toml name them)", soft_wrap=True)


def _side_by_side(found: Policy, runtimes: list[str], console: Console) -> None:
    """Releases down, versions of the runtime across: the opset that is usable, and that at which all pass."""
    rules = {(rule.torch, rule.exporter, rule.runtime_version): rule for rule in found.rules}
    made = grid("torch", "exporter", *runtimes)
    ordered = sorted(found.rules, key=lambda rule: versions.parse(rule.torch))
    for torch, exporter in dict.fromkeys((rule.torch, rule.exporter) for rule in ordered):
        mine = [rules.get((torch, exporter, version)) for version in runtimes]
        made.add_row(torch, EXPORTER_SHORT.get(exporter, exporter), *(_place(one) if one else "·" for one in mine))
    console.print(made)
    console.print("- usable: all pass, for each onnxruntime; -: nothing runs; ·: nothing was tried", soft_wrap=True)


def _place(rule: Rule) -> str:
    return f"{_number(rule.usable, rule.usable_maybe)}: {_number(rule.passes, rule.passes_maybe)}"


def _number(sure: int | None, maybe: int | None = None) -> str:
    said = "-" if sure is None else str(sure)
    return said if maybe is None else f"{said} ({maybe}?)"
