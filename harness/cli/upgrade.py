"""``caniexport upgrade``: from one point to another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import filter_options, filters, json_option, open_dataset

if TYPE_CHECKING:
    from rich.console import Console

    from harness.answers.upgrade import FixChange, Group, Upgrade

_SHOWN = 12


@click.command("upgrade")
@click.option("--from", "before", required=True, metavar="POINT", help="torch=1.13.1,opset=17; exporter=, provider=.")
@click.option("--to", "after", required=True, metavar="POINT", help="What is left out is that release's own default.")
@click.option("--ops", "op_list", type=click.Path(path_type=Path), help="A file with operators, one a line.")
@filter_options("variants", "torch", "opsets", "exporters", "providers", "statuses")
@json_option
def command(before: str, after: str, op_list: Path | None, as_json: bool, **given: tuple[str, ...]) -> None:
    """Say what breaks, what is fixed, which workaround may go or must come, and which axis did it.

    Exit code 1 where something that worked does not work afterwards.
    """
    from harness.answers import upgrade as answers
    from harness.answers.points import parse
    from harness.cli import output

    asked = filters({**given, "ops": (*given["ops"], *_operators(op_list))})
    found = answers.upgrade(open_dataset(), parse(before), parse(after), asked)
    if as_json:
        output.print_json(found)
    else:
        show(found, output.console())
    if found.breaks:
        click.get_current_context().exit(1)


def _operators(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--ops {path}: cannot be read as a list of operators ({error})") from error
    return [text for text in (line.split("#")[0].strip() for line in lines) if text]


def show(found: Upgrade, console: Console) -> None:
    """Print the answer."""
    from rich.text import Text

    console.print(Text(f"{found.before.text}  →  {found.after.text}", style="bold"))
    for note in found.notes:
        console.print(f"- {note}")
    for group in found.groups:
        _group(group, console)
    _fixes("Workarounds that may go", found.drop, console)
    _fixes("Workarounds to add: what they fix breaks on the way", found.add, console)
    _fixes("Workarounds that stop working, and nothing else changes", found.lost, console)
    _fixes("Workarounds still needed", found.keep, console)
    if not found.groups:
        console.print("\nNothing changes.")
    if found.unknown:
        names = ", ".join(found.unknown[:_SHOWN]) + (" …" if len(found.unknown) > _SHOWN else "")
        console.print(f"\nNot measured at one of the two points: {len(found.unknown)} ({names})", soft_wrap=True)
    console.print("\n" + ", ".join(f"{count} {word}" for word, count in found.counts.items()))


def _group(group: Group, console: Console) -> None:
    from rich.text import Text

    from harness.answers.upgrade import ORDER
    from harness.verdicts import REGRESSIONS, Verdict

    bad = group.verdict in REGRESSIONS or group.verdict is Verdict.WITHDRAWN
    good = ORDER.index(group.verdict) >= ORDER.index(Verdict.FIXED)
    style = "red" if bad else "green" if good else "yellow"
    console.print()
    console.print(Text(f"{group.verdict.value}: {len(group.changes)}", style=f"bold {style}"))
    if group.message:
        first = group.message.strip().splitlines()[0]
        console.print(textwrap.indent(textwrap.shorten(first, 200), "    "), soft_wrap=True)
    for change in group.changes[:_SHOWN]:
        by = f"  [by {change.axes}]" if change.axes else ""
        console.print(
            f"  {change.case}: {_word(change.before)} → {_word(change.after)}{by}", soft_wrap=True, markup=False
        )
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
