"""``caniexport upgrade``: from one point to another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset

if TYPE_CHECKING:
    from caniexport.answers.plan import Plan, UpgradeTarget
    from caniexport.answers.upgrade import ChangeGroup, FixChange, Upgrade
    from caniexport.cli.output import Console

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

    if after is None and not plan:
        raise click.UsageError("Missing option '--to' (or --plan, which proposes one)")
    dataset = open_dataset()
    asked = wanted(dataset, read_filters("upgrade", given), op_list, model, case_list)
    if asked.nothing:
        output.report({"notes": asked.notes}, [*asked.notes, _NOTHING], as_json)
        return
    found: Upgrade | Plan
    if plan:
        found = make_plan(dataset, parse(before), None if after is None else parse(after), asked.filters)
    else:
        found = answers.upgrade(dataset, parse(before), parse(after or ""), asked.filters)
    found = replace(found, notes=(*asked.notes, *found.notes))
    output.answer(found, show, as_json)
    if found.breaks:
        click.get_current_context().exit(1)


def show(found: Upgrade | Plan, console: Console) -> None:
    """Print what an upgrade changes, or a plan for one."""
    from caniexport.answers.plan import Plan

    if isinstance(found, Plan):
        _plan(found, console)
        return
    console.print(f"{found.before.text}\n→ {found.after.text}", style="bold", soft_wrap=True)
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
        console.print(f"\n{lead}: {_some(cases)}", soft_wrap=True)


def _group(group: ChangeGroup, console: Console) -> None:
    from caniexport.answers.upgrade import ORDER
    from caniexport.corpus.verdicts import REGRESSIONS, Verdict

    bad = group.verdict in REGRESSIONS or group.verdict is Verdict.WITHDRAWN
    good = ORDER.index(group.verdict) >= ORDER.index(Verdict.FIXED)
    style = "red" if bad else "green" if good else "yellow"
    console.print()
    console.print(f"{group.verdict.value}: {len(group.changes)}", style=f"bold {style}")
    if group.message:
        first = group.message.strip().splitlines()[0]
        console.print(textwrap.indent(textwrap.shorten(first, 200), "    "), soft_wrap=True)
    for change in group.changes[:_SHOWN]:
        by = f"  [{change.blamed}]" if change.axes else ""
        console.print(f"  {change.case}: {_word(change.before)} → {_word(change.after)}{by}", soft_wrap=True)
        if change.told:
            console.print(f"      {change.told}", soft_wrap=True)
        if change.fixes:
            console.print(f"      works there: {', '.join(change.fixes)}", soft_wrap=True)
    if len(group.changes) > _SHOWN:
        console.print(f"  and {len(group.changes) - _SHOWN} more (--json has all)")


def _word(status: object) -> str:
    return getattr(status, "value", None) or "not measured"


def _fixes(title: str, found: Sequence[FixChange], console: Console) -> None:
    if not found:
        return
    console.print()
    console.print(f"{title}: {len(found)}", style="bold")
    for item in found[:_SHOWN]:
        console.print(f"  {item.case}/{item.variant} ({item.kind}): {item.note}", soft_wrap=True)
    if len(found) > _SHOWN:
        console.print(f"  and {len(found) - _SHOWN} more (--json has all)")


def _plan(found: Plan, console: Console) -> None:
    """Print the plan."""
    console.print(f"From {found.before.text}, {found.cases} cases", style="bold")
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    console.print()
    if found.newest:
        same = " (where you are)" if found.newest.place.torch == found.before.torch else ""
        console.print(f"Newest target where nothing breaks: {found.newest.place.text}{same}", style="bold green")
        _unmeasured(found.newest, console)
    else:
        console.print("Every release from here on breaks something.", style="bold red")
    for target in found.held:
        console.print(f"  {target.place.text}: {_some(target.breaks)}", soft_wrap=True)
    if found.wanted:
        _wanted(found, console)


def _wanted(found: Plan, console: Console) -> None:
    assert found.wanted is not None
    console.print()
    if found.wanted.clean:
        console.print(f"{found.wanted.place.text}: nothing breaks", style="bold green")
        _unmeasured(found.wanted, console)
        return
    console.print(f"{found.wanted.place.text}: {len(found.wanted.breaks)} break", style="bold red")
    _needs(found.wanted, console)
    best = found.best
    if best and best.place != found.wanted.place:
        console.print()
        console.print(f"Least to do on that release: {best.place.text}", style="bold")
        _needs(best, console)


def _needs(target: UpgradeTarget, console: Console) -> None:
    if target.clean:
        console.print("  nothing breaks there")
    if target.workarounds:
        console.print(f"  workarounds, {len(target.workarounds)}: {', '.join(target.workarounds)}", soft_wrap=True)
    if target.without:
        console.print(f"  no known workaround, {len(target.without)}: {', '.join(target.without)}", soft_wrap=True)
    _unmeasured(target, console)


def _unmeasured(target: UpgradeTarget, console: Console) -> None:
    if target.unmeasured:
        console.print(f"  not measured there: {_some(target.unmeasured)}", soft_wrap=True)


def _some(names: Sequence[str]) -> str:
    more = " …" if len(names) > _SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_SHOWN])}{more})"
