"""``caniexport table``: the matrix in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from caniexport import names
from caniexport.answers.filters import read_filters
from caniexport.answers.signs import EXPORTER_SHORT, NOT_MEASURED, REFUSED, STATUS, word
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset, with_measured
from caniexport.cli.output import grid, marked
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status

if TYPE_CHECKING:
    from caniexport.answers.gathered import Gathered, Share
    from caniexport.answers.matrix import CaseTable, MatrixRow
    from caniexport.answers.summary import Summary
    from caniexport.cli.grid import Grid
    from caniexport.cli.output import Console

_NOTHING = "Nothing has been measured yet: `caniexport measure` does."
#: columns of a release in the overview
_THEME_COLUMN = 8
_READING = {
    "torch": "numbers: opsets that pass in that torch release (all it takes: all); then what its other opsets do",
    "opset": "numbers: torch releases that pass at that opset; then what the others do",
    "exporter": "numbers: opsets that pass with that exporter (all it takes: all); then what its other opsets do",
    "runtime": "numbers: opsets that pass on that runtime (all measured: all); then what the others do",
    "provider": "numbers: opsets that pass on that provider (all measured: all); then what the others do",
    "onnxscript": "numbers: opsets that pass with that onnxscript; then what the others do",
    "onnx": "numbers: opsets that pass with that onnx; then what the others do",
}


@click.command("table")
@click.option(
    "--by",
    type=click.Choice(["torch", "opset", "exporter", "runtime", "provider", "onnxscript", "onnx"]),
    default="torch",
    show_default=True,
    help="What the columns are.",
)
@filter_options("table")
@json_option
def command(by: str, as_json: bool, **given: tuple[str, ...]) -> None:
    """Show the matrix: cases against torch releases, opsets, exporters, runtimes, providers or packages beside torch.

    Without --case or --variant it has the failing forms, with the tracing and the dynamo exporter. Without any filter
    but --torch it is an overview by theme; --theme '*' and --json show every case.
    """
    from caniexport.answers.gathered import by_theme
    from caniexport.answers.matrix import By, table
    from caniexport.answers.select import load, select

    dataset = open_dataset()
    given = with_measured(dataset, given)
    filters = read_filters("table", given)
    bare = by == By.TORCH.value and not any(values for name, values in given.items() if name != "torch")
    called = table(dataset, replace(filters, exporters=(Exporter.DEFAULT.value,))) if bare and not as_json else None
    lines = by_theme(called.lines, called.columns) if called else []
    found = [line for line in lines if any(share.measured for share in line.places.values())]
    if called and found:
        entries = select(load(dataset), filters).catalogue.values()
        cases = Counter(entry.theme for entry in entries if entry.variant == PLAIN)
        show_themes(sorted(found, key=lambda line: line.name), cases, called.columns, output.console())
    else:
        output.answer(table(dataset, filters, By(by)), show, as_json)


def show_themes(found: Sequence[Gathered], cases: Mapping[str, int], releases: Sequence[str], console: Console) -> None:
    """Print the overview with as many of the newest releases as fit; ``cases`` are counted by theme."""
    wide = max(len(line.name) for line in found) + 2 + len("cases")
    fitting = max(1, (console.width - wide) // _THEME_COLUMN)
    shown = releases[-fitting:]
    made = grid("theme", "cases", *shown)
    for line in found:
        made.add_row(line.name, str(cases[line.name]), *(_count(line.places[torch]) for torch in shown))
    console.print(made)
    left = f"; the newest {len(shown)} of {len(releases)} releases" if len(shown) < len(releases) else ""
    console.print(f"- 12/17: of 17 cases measured 12 work as torch.onnx.export is called by default{left}")
    console.print("- the cases of one: caniexport table --theme NAME, --op OP or --case NAME; all: --theme '*'")


def _count(share: Share) -> str:
    return f"{share.works}/{share.measured}" if share.measured else NOT_MEASURED


def show(found: CaseTable, console: Console) -> None:
    """Print the matrix, in as many blocks of columns as the width needs, then how to read it."""
    layout = _Layout(found, console.width)
    if not found.lines and not found.environments:
        console.print("Nothing measured is within these filters." if found.measured else _NOTHING)
    for columns in layout.blocks():
        console.print(layout.grid(columns))
    if found.environments:
        _environments(found, console)
    if found.lines:
        console.print()
        console.print(output.status_legend(layout.statuses(), console.width))
        console.print(f"- {_READING[found.by.value]}")
        if layout.counted:
            console.print("- 3/14: of 14 measured cells 3 pass; ~3/14: none passes, 3 run, but not as asked")
        if layout.refused:
            console.print(
                f"- {REFUSED} it works there, and onnx's checker refuses the file: `caniexport why` shows its message"
            )
        output.say_local(layout.local, console, mixed=layout.mixed)
    for note in found.notes:
        console.print(f"- {note}")
    if found.unmeasured:
        console.print(f"- known, not measured: {names.some(found.unmeasured, 8)}")


def _environments(found: CaseTable, console: Console) -> None:
    console.print("\nEnvironments: what can be installed and imported together")
    made = grid("case", "outcome", "at stage")
    before = ""
    for line in found.environments:
        if line.case != before and line.variant != "plain":
            made.add_row(line.case)
        before = line.case
        sign = STATUS[line.status]
        name = line.case if line.variant == "plain" else f"  {line.variant}"
        made.add_row(name, marked(f"{sign.sign} {word(line.status)}", sign), "" if line.stage == "done" else line.stage)
    console.print(made)


class _Layout:
    """The texts of a matrix and how its columns are cut into blocks of at most ``width`` characters.

    Places are said in words where all columns fit beside each other so, else in signs and numbers only. Where not even
    one column fits beside the heads of the lines, they are told line by line.
    """

    def __init__(self, found: CaseTable, width: int) -> None:
        self.found = found
        self.width = width
        self.local = [place.local for line in found.lines for place in line.places.values() if place.at]
        self.mixed = any(place.mixed for line in found.lines for place in line.places.values())
        self.marked = self.mixed or (any(self.local) and not all(self.local))
        self.refused = any(place.refused for line in found.lines for place in line.places.values())
        self.counted = any("/" in place.short for line in found.lines for place in line.places.values())
        self.heading = ["case"]
        self.heading += ["exporter"] * any(line.exporter is not None for line in found.lines)
        self.heading += ["provider"] * any(line.provider for line in found.lines)
        self.heads = [self._head(line) for line in found.lines]
        self._wides: dict[tuple[str, bool], int] = {}
        self.stacked, self.short, self.gap = False, False, 2
        if self._is_narrow() or len(list(self.blocks())) > 1:
            self.short, self.gap = True, 1
        self.stacked = self._is_narrow()
        self.short &= not self.stacked

    def _head(self, line: MatrixRow) -> list[str]:
        head = [line.case if line.variant == "plain" else f"  {line.variant}"]
        if "exporter" in self.heading:
            head.append(EXPORTER_SHORT.get(line.exporter or "-", line.exporter or "-"))
        return head + [line.provider or ""] * ("provider" in self.heading)

    def _text(self, place: Summary) -> str:
        return (place.short if self.short else place.text) + "*" * (self.marked and place.local)

    def blocks(self) -> Iterator[tuple[str, ...]]:
        """The columns in blocks that fit beside the heads of the lines; at least one column each."""
        if self.stacked:
            yield self.found.columns
            return
        left = self._left()
        block: list[str] = []
        used = left
        for name in self.found.columns:
            wide = self._wide(name)
            if block and used + wide > self.width:
                yield tuple(block)
                block, used = [], left
            block.append(name)
            used += wide + self.gap
        if block:
            yield tuple(block)

    def _left(self) -> int:
        """What the heads of the lines take."""
        heads = [self.heading, *self.heads]
        return sum(max(len(head[index]) for head in heads) + self.gap for index in range(len(self.heading)))

    def _wide(self, name: str) -> int:
        key = name, self.short
        if key not in self._wides:
            self._wides[key] = max(len(name), *(len(self._text(line.places[name])) for line in self.found.lines), 0)
        return self._wides[key]

    def _is_narrow(self) -> bool:
        """Whether a column does not fit beside the heads of the lines."""
        left = self._left()
        return any(left + self._wide(name) > self.width for name in self.found.columns)

    def grid(self, columns: Sequence[str]) -> Grid:
        """One block; a case is named once, its fixes are set in below it."""
        made = grid(*self.heading, *columns, gap=self.gap)
        made.no_wrap, made.stacked = True, self.stacked
        before = ("", "")
        for line, head in zip(self.found.lines, self.heads, strict=True):
            if line.case != before[0] and line.variant != "plain":
                made.add_row(line.case)
            name = "" if (line.case, line.variant) == before else head[0]
            before = line.case, line.variant
            places = [line.places[column] for column in columns]
            made.add_row(name, *head[1:], *(marked(self._text(place), STATUS[place.status]) for place in places))
        return made

    def statuses(self) -> set[Status]:
        """The statuses whose signs are on the page."""
        shown = set()
        # the same place is in many lines
        for place in {id(place): place for line in self.found.lines for place in line.places.values()}.values():
            seen = {Status(status) for status in place.at}
            if STATUS[Status.UNSUPPORTED].sign not in place.short:
                seen.discard(Status.UNSUPPORTED)
            shown |= seen | ({Status.NOT_RUN} if NOT_MEASURED in place.short else set())
        return shown
