"""``caniexport table``: the matrix in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from harness.cli.options import filter_options, filters, json_option, open_dataset

if TYPE_CHECKING:
    from rich.console import Console

    from harness.answers.matrix import Line, Table

_READING = {
    "torch": "Each place: the opsets that pass in that torch release, then the signs of what the other opsets do.",
    "opset": "Each place: the torch releases that pass at that opset, then the signs of what the others do.",
    "exporter": "Each place: the opsets that pass with that exporter, then the signs of what the other opsets do.",
    "runtime": "Each place: the opsets that pass on that runtime, then the signs of what the other opsets do.",
    "provider": "Each place: the opsets that pass on that provider, then the signs of what the other opsets do.",
}


@click.command("table")
@click.option(
    "--by",
    type=click.Choice(["torch", "opset", "exporter", "runtime", "provider"]),
    default="torch",
    show_default=True,
    help="What the columns are.",
)
@filter_options()
@json_option
def command(by: str, as_json: bool, **given: tuple[str, ...]) -> None:
    """Show the matrix: cases against torch releases, opsets, exporters, runtimes or providers.

    Without --case or --variant it has the failing forms, with the tracing and the dynamo exporter.
    """
    from harness.answers import By, table
    from harness.cli import output

    found = table(open_dataset(), filters(given), By(by))
    if as_json:
        output.print_json(found)
        return
    show(found, output.console())


def show(found: Table, console: Console) -> None:
    """Print the matrix, in as many blocks of columns as the width needs, then how to read it."""
    from harness.cli.output import status_legend

    if not found.lines:
        console.print("Nothing measured is within these filters.")
    for columns in _blocks(found, console.width):
        _block(found, columns, console)
    if found.lines:
        places = [place for line in found.lines for place in line.places.values()]
        console.print(_READING[found.by.value])
        console.print(status_legend(_statuses(found)))
        _say_local([place.local for place in places if place.at], console)
    for note in found.notes:
        console.print(f"- {note}")
    if found.unmeasured:
        console.print(f"- known, not measured: {_some(found.unmeasured)}")


def _statuses(found: Table) -> set[object]:
    from harness.worker.status import Status

    shown = set()
    for line in found.lines:
        for place in line.places.values():
            shown |= {Status(status) for status in place.at} or {Status.NOT_RUN}
            if "·" in place.text:
                shown.add(Status.NOT_RUN)
    return shown


def _say_local(local: Sequence[bool], console: Console) -> None:
    if all(local):
        console.print("- every row was measured on this machine")
    elif any(local):
        console.print("- *: measured on this machine; the others are published rows")


def _some(items: Sequence[str], most: int = 8) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def _head(line: Line, found: Table) -> list[str]:
    from harness.answers.signs import EXPORTER_SHORT

    name = line.case if line.variant == "plain" else f"{line.case}/{line.variant}"
    head = [name]
    if line.exporter is not None:
        head.append(EXPORTER_SHORT.get(line.exporter, line.exporter))
    if any(item.provider for item in found.lines):
        head.append(line.provider or "")
    return head


def _heading(found: Table) -> list[str]:
    heading = ["case"]
    if any(line.exporter is not None for line in found.lines):
        heading.append("exporter")
    if any(line.provider for line in found.lines):
        heading.append("provider")
    return heading


def _marked(found: Table) -> bool:
    local = [place.local for line in found.lines for place in line.places.values() if place.at]
    return any(local) and not all(local)


def _blocks(found: Table, width: int) -> Iterator[tuple[str, ...]]:
    """The columns in blocks that fit beside the row heads; always at least one column."""
    heads = [_heading(found), *(_head(line, found) for line in found.lines)]
    left = sum(max(len(head[index]) for head in heads) + 2 for index in range(len(heads[0])))
    block: list[str] = []
    used = left
    for name in found.columns:
        wide = max([len(name), *(len(line.places[name].text) for line in found.lines)]) + 2 + _marked(found)
        if block and used + wide > width:
            yield tuple(block)
            block, used = [], left
        block.append(name)
        used += wide
    if block:
        yield tuple(block)


def _block(found: Table, columns: Sequence[str], console: Console) -> None:
    from rich import box
    from rich.table import Table as Grid

    from harness.answers.signs import STATUS
    from harness.cli.output import styled

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in _heading(found):
        grid.add_column(name, no_wrap=name != "case", overflow="fold")
    for name in columns:
        grid.add_column(name, no_wrap=True)
    marked = _marked(found)
    before = ""
    for line in found.lines:
        head = _head(line, found)
        name, head[0] = head[0], "" if head[0] == before else head[0]
        before = name
        places = [line.places[column] for column in columns]
        texts = [f"{place.text}*" if marked and place.local else place.text for place in places]
        cells = [styled(text, STATUS[place.status]) for text, place in zip(texts, places, strict=True)]
        grid.add_row(*head, *cells)
    console.print(grid)
