"""Text and JSON for people and programs: one console, one way to turn an answer into JSON."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from caniexport.answers.plain import to_plain
from caniexport.answers.signs import ascii_only
from caniexport.model.printable import escape_control

if TYPE_CHECKING:
    from rich.console import Console as Console

_Answer = TypeVar("_Answer")
#: columns of a pipe or a file, where there is no terminal to ask
WIDTH = 100
_NARROWEST = 40
#: columns of a label before its text
_LABEL = 10


def console() -> Console:
    """Where an answer for a person goes: the terminal's width, or ``COLUMNS``, or 100 in a pipe; no colours there."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PrintableConsole(Console):
        """Escapes what a text brings along, before its own colours come to it."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else escape_control(segment.text)
                yield segment if text == segment.text else segment._replace(text=text)

    _spell_out_what_cannot_be_encoded()
    width = None if sys.stdout.isatty() else _columns() or WIDTH
    return PrintableConsole(width=width, highlight=False, soft_wrap=False, emoji=False, markup=False)


def _columns() -> int:
    text = os.environ.get("COLUMNS", "")
    return max(int(text), _NARROWEST) if text.isdigit() else 0


def _spell_out_what_cannot_be_encoded() -> None:
    def replace(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        return ascii_only(error.object[error.start : error.end]), error.end

    codecs.register_error("caniexport", replace)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="caniexport")


def answer(found: _Answer, show: Callable[[_Answer, Console], None], as_json: bool) -> None:
    """Print an answer: as JSON, or as ``show`` does for a person."""
    if as_json:
        print_json(found)
    else:
        show(found, console())


def report(done: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print what was done: as JSON, or in these lines."""
    if as_json:
        print_json(done)
    else:
        for line in lines:
            echo(line)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text with its control characters escaped: everything leaves here or through :func:`console`."""
    click.echo(escape_control(text), err=err, nl=nl)  # noqa: TID251 - the one place


def say(line: str) -> None:
    """Print a line about the progress on stderr."""
    echo(line, err=True)


def print_json(answer: Any) -> None:
    """The answer as one JSON document with the names of its fields."""
    echo(json.dumps(to_plain(answer), indent=2, ensure_ascii=False))
