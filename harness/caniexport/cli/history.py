"""``caniexport why --along torch``: where the outcome of a case changed, as intervals."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from caniexport import versions

if TYPE_CHECKING:
    from rich.console import Console

    from caniexport.answers.history import Alike, History, ReleaseStretch
    from caniexport.cli.grid import Grid

_MOST_MESSAGES = 5


def show(item: History, console: Console) -> None:
    """Print one variant's stretches and the intervals between them."""
    from rich.text import Text

    from caniexport.answers.history import alike
    from caniexport.cli import output

    console.print(Text(f"{item.entry.case}/{item.entry.variant}", style="bold"))
    console.print(item.entry.title)
    if not item.lines:
        console.print("Not measured within these filters.\n")
        return
    lines = _without_refused(alike(item.lines))
    made = output.grid("exporter", "opset", "torch", "outcome", "at stage", "changed in", "by", "message")
    numbers = _numbers(lines)
    for line in lines:
        _add(made, line, numbers)
    console.print(made)
    _notes(item, lines, console)
    _messages(item, numbers, console)
    console.print()


def _numbers(lines: tuple[Alike, ...]) -> dict[int, int]:
    """The messages of the lines that are shown, numbered as they occur."""
    named = (stretch.message for each in lines for stretch in each.line.stretches)
    shown = dict.fromkeys(message for message in named if message is not None)
    return {message: number for number, message in enumerate(shown, 1)}


def _without_refused(lines: tuple[Alike, ...]) -> tuple[Alike, ...]:
    """Opsets that no release takes are left out where others are."""
    from caniexport.model.status import Status

    return tuple(each for each in lines if each.line.stretches[0].status is not Status.UNSUPPORTED) or lines


def _add(made: Grid, each: Alike, numbers: dict[int, int]) -> None:
    from caniexport.answers.signs import EXPORTER_SHORT, STATUS, word
    from caniexport.cli import output

    provider = "" if each.line.provider in ("cpu", None) else f" on {each.line.provider}"
    place = EXPORTER_SHORT.get(each.line.exporter, each.line.exporter) + provider, output.opset_text(each.opsets)
    for stretch in each.line.stretches:
        began = stretch.began
        made.add_row(
            *place,
            _releases(stretch) + "*" * stretch.local,
            output.marked(f"{STATUS[stretch.status].sign} {word(stretch.status)}", STATUS[stretch.status]),
            "" if stretch.stage == "done" else stretch.stage,
            f"({began.after}, {began.by}]" if began else "",
            began.axes if began else "",
            "" if stretch.message is None else f"[{numbers[stretch.message]}]",
        )
        place = "", ""


def _releases(stretch: ReleaseStretch) -> str:
    first, last = stretch.torch[0], stretch.torch[-1]
    return first if first == last else f"{first} to {last}"


def _notes(item: History, lines: tuple[Alike, ...], console: Console) -> None:
    stretches = [stretch for each in lines for stretch in each.line.stretches]
    if any(len(each.opsets) > 1 for each in lines):
        console.print("- several opsets in one line: each from the first release on that takes it")
    if any(stretch.began for stretch in stretches):
        console.print("- (a, b]: last seen otherwise on a, first seen so on b")
        console.print("- by torch: the release and the onnx beside it; by runtime: the onnxruntime beside it")
    silent = versions.ordered({name for each in lines for name in each.line.unmeasured})
    if silent:
        console.print(f"- not measured in some line, which widens its intervals: {', '.join(silent)}")
    if any(stretch.local for stretch in stretches):
        console.print("- *: measured on this machine, at least in part")
    for note in item.notes:
        console.print(f"- {note}")


def _messages(item: History, numbers: dict[int, int], console: Console) -> None:
    for message, number in list(numbers.items())[:_MOST_MESSAGES]:
        console.print(f"\n[{number}]")
        console.print(textwrap.indent(item.messages[message].rstrip(), "    "), soft_wrap=True)
    if len(numbers) > _MOST_MESSAGES:
        console.print(f"\n{len(numbers) - _MOST_MESSAGES} more messages: narrow with --exporter, --opset or --status.")
