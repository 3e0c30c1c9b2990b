"""``caniexport workaround``: is this fix still needed, and since when not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.cli.options import filter_options, filters, json_option, open_dataset

if TYPE_CHECKING:
    from rich.console import Console

    from harness.answers import Standing, Workarounds
    from harness.answers.source import Cell

_WORDS = ("needed", "obsolete", "broken", "harmful", "unknown")


@click.command("workaround")
@click.argument("case", metavar="[CASE[/FIX]]", required=False)
@filter_options("cases")
@click.option(
    "--fail-on",
    type=click.Choice(_WORDS),
    multiple=True,
    help="Exit 1 where a fix has this word: --fail-on obsolete --fail-on harmful.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, case: str | None, fail_on: tuple[str, ...], as_json: bool, **given: tuple[str, ...]
) -> None:
    """Say of each fix whether it is needed, obsolete, broken, harmful or unknown, and since which version.

    The point is the newest measured torch and each release's own default opset unless --torch and --opset name
    another. --status takes these words.
    """
    from harness.answers import workarounds
    from harness.cli import output

    cases = (case,) if case else ()
    found = workarounds(open_dataset(), filters(given, cases=cases))
    if as_json:
        output.print_json(found)
    else:
        show(found, output.console(), evidence=bool(case))
    if any(item.word.value in fail_on for item in (*found.standings, *found.cautions)):
        ctx.exit(1)


def show(found: Workarounds, console: Console, *, evidence: bool) -> None:
    """Print the words as a table of fixes by exporters, or with sentences and evidence for one case."""
    from harness.answers.signs import WORKAROUND
    from harness.cli.output import legend

    if not found.standings and not found.cautions:
        console.print("No fix within these filters has been measured.")
    for title, standings in (("", found.standings), ("Documented as wrong or partial:", found.cautions)):
        if standings and title:
            console.print(title)
        if evidence:
            _sentences(standings, console)
        elif standings:
            _overview(standings, console)
    if found.standings:
        counts = Counter(item.word for item in found.standings)
        console.print("; ".join(f"{counts[word]} {word.value}" for word in WORKAROUND))
    console.print(legend((word.value, sign) for word, sign in WORKAROUND.items()))
    for note in found.notes:
        console.print(f"- {note}")


def _overview(standings: Sequence[Standing], console: Console) -> None:
    from rich import box
    from rich.table import Table as Grid

    from harness.answers.signs import EXPORTER_SHORT, WORKAROUND
    from harness.cli.output import styled

    exporters = [name for name in EXPORTER_SHORT if any(item.exporter == name for item in standings)]
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("case / fix", overflow="fold")
    grid.add_column("kind", no_wrap=True)
    for name in exporters:
        grid.add_column(EXPORTER_SHORT[name], no_wrap=True)
    lines: dict[tuple[str, str, str], dict[str, Standing]] = {}
    for item in standings:
        lines.setdefault((item.case, item.variant, item.provider or ""), {})[item.exporter] = item
    several = len({key[2] for key in lines}) > 1
    for (case, variant, provider), by_exporter in lines.items():
        words = []
        for name in exporters:
            standing = by_exporter.get(name)
            sign = WORKAROUND[standing.word] if standing else None
            words.append(styled(f"{sign.sign} {standing.word.value}", sign) if standing and sign else "")
        kind = next(iter(by_exporter.values())).kind
        grid.add_row(f"{case}/{variant}" + f" ({provider})" * several, kind, *words)
    console.print(grid)


def _sentences(standings: Sequence[Standing], console: Console) -> None:
    from rich.text import Text

    from harness.answers.signs import EXPORTER_SHORT, WORKAROUND
    from harness.cli.output import styled

    before = None
    for item in standings:
        if (item.case, item.variant) != before:
            before = item.case, item.variant
            source = "" if item.documented else "; our own proposal, no source states it"
            name = Text(f"{item.case}/{item.variant}", style="bold")
            console.print(name, f" {item.kind}: {item.note}{source}", sep="")
        sign = WORKAROUND[item.word]
        provider = "" if item.provider in ("cpu", None) else f" on {item.provider}"
        where = EXPORTER_SHORT.get(item.exporter, item.exporter) + provider
        console.print("  ", f"{where:8} ", styled(f"{sign.sign} {item.word.value:9}", sign), item.statement, sep="")
        opset = "default opset" if item.opset is None else f"opset {item.opset}"
        shown = f"at torch {item.torch}, {opset}: plain {_cell(item.plain)}; fix {_cell(item.fix)}"
        console.print(f"{'':11}{shown}", style="dim")
    if standings:
        console.print()


def _cell(cell: Cell | None) -> str:
    from harness.answers.signs import word

    if cell is None:
        return "not measured"
    stage = "" if cell.works else f" at {cell.stage}"
    return f"{word(cell.status)}{stage}" + " (this machine)" * cell.local
