"""``caniexport upgrade``: from one point to another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.cli.options import filter_options, json_option, open_dataset

if TYPE_CHECKING:
    from rich.console import Console

    from caniexport.answers.plan import Plan
    from caniexport.answers.upgrade import ChangeGroup, FixChange, Upgrade

_SHOWN = 12
_NOTHING = "No case of the corpus is about what is listed: nothing documented is known to change."


@click.command("upgrade")
@click.option(
    "--from", "before", required=True, metavar="POINT", help="torch=1.13.1,opset=17; exporter=, ort=1.20, provider=."
)
@click.option("--to", "after", metavar="POINT", help="What is left out is that release's own default.")
@click.option("--ops", "op_list", type=click.Path(path_type=Path), help="A file with operators, one a line.")
@click.option("--model", type=click.Path(path_type=Path), help="An ONNX file: the cases about what it uses.")
@click.option("--cases", "case_list", type=click.Path(path_type=Path), help="A TOML file: cases, ops, themes = [...].")
@click.option(
    "--plan", is_flag=True, help="Propose the newest target where nothing breaks, and the fewest fixes for --to."
)
@filter_options("upgrade")
@json_option
def command(
    before: str,
    after: str | None,
    op_list: Path | None,
    model: Path | None,
    case_list: Path | None,
    plan: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Say what breaks, what is fixed, which workaround may go or must come, and which axis did it.

    Exit code 1 where something that worked does not work afterwards.
    """
    from caniexport.answers import upgrade as answers
    from caniexport.answers.plan import plan as make_plan
    from caniexport.answers.points import parse
    from caniexport.answers.wanted import wanted
    from caniexport.cli import output, upgrade_plan

    if after is None and not plan:
        raise click.UsageError("Missing option '--to' (or --plan, which proposes one)")
    dataset = open_dataset()
    asked = wanted(dataset, read_filters("upgrade", given), op_list, model, case_list)
    if asked.nothing:
        output.print_json({"notes": asked.notes}) if as_json else click.echo("\n".join([*asked.notes, _NOTHING]))
        return
    found: Upgrade | Plan
    if plan:
        found = make_plan(dataset, parse(before), None if after is None else parse(after), asked.filters)
    else:
        found = answers.upgrade(dataset, parse(before), parse(after or ""), asked.filters)
    found = replace(found, notes=(*asked.notes, *found.notes))
    if as_json:
        output.print_json(found)
    elif isinstance(found, answers.Upgrade):
        show(found, output.console())
    else:
        upgrade_plan.show(found, output.console())
    if found.breaks:
        click.get_current_context().exit(1)


def show(found: Upgrade, console: Console) -> None:
    """Print the answer."""
    from rich.text import Text

    console.print(Text(f"{found.before.text}\n→ {found.after.text}", style="bold"), soft_wrap=True)
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    for group in found.groups:
        _group(group, console)
    _fixes("Workarounds that may go", found.drop, console)
    _fixes("Workarounds to add: what they fix breaks on the way", found.add, console)
    _fixes("Workarounds that stop working, and nothing else changes", found.lost, console)
    _fixes("Workarounds still needed", found.keep, console)
    if not found.groups:
        console.print("\nNothing changes.")
    _named("Works there, and onnx's checker refuses the file", found.refused, console)
    _named("Not the same every time at one of the two points", found.unstable, console)
    _named("Not measured at one of the two points", found.unknown, console)
    console.print("\n" + ", ".join(f"{count} {word}" for word, count in found.counts.items()))


def _named(lead: str, cases: Sequence[str], console: Console) -> None:
    if cases:
        names = ", ".join(cases[:_SHOWN]) + (" …" if len(cases) > _SHOWN else "")
        console.print(f"\n{lead}: {len(cases)} ({names})", soft_wrap=True)


def _group(group: ChangeGroup, console: Console) -> None:
    from rich.text import Text

    from caniexport.answers.upgrade import ORDER
    from caniexport.corpus.verdicts import REGRESSIONS, Verdict

    bad = group.verdict in REGRESSIONS or group.verdict is Verdict.WITHDRAWN
    good = ORDER.index(group.verdict) >= ORDER.index(Verdict.FIXED)
    style = "red" if bad else "green" if good else "yellow"
    console.print()
    console.print(Text(f"{group.verdict.value}: {len(group.changes)}", style=f"bold {style}"))
    if group.message:
        first = group.message.strip().splitlines()[0]
        console.print(textwrap.indent(textwrap.shorten(first, 200), "    "), soft_wrap=True)
    for change in group.changes[:_SHOWN]:
        by = f"  [{change.blamed}]" if change.axes else ""
        console.print(
            f"  {change.case}: {_word(change.before)} → {_word(change.after)}{by}", soft_wrap=True, markup=False
        )
        if change.told:
            console.print(f"      {change.told}", soft_wrap=True, markup=False)
        if change.fixes:
            console.print(f"      works there: {', '.join(change.fixes)}", soft_wrap=True, markup=False)
    if len(group.changes) > _SHOWN:
        console.print(f"  and {len(group.changes) - _SHOWN} more (--json has all)")


def _word(status: object) -> str:
    return getattr(status, "value", None) or "not measured"


def _fixes(title: str, found: Sequence[FixChange], console: Console) -> None:
    from rich.text import Text

    if not found:
        return
    console.print()
    console.print(Text(f"{title}: {len(found)}", style="bold"))
    for item in found[:_SHOWN]:
        console.print(f"  {item.case}/{item.variant} ({item.kind}): {item.note}", soft_wrap=True, markup=False)
    if len(found) > _SHOWN:
        console.print(f"  and {len(found) - _SHOWN} more (--json has all)")
