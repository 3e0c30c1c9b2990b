"""``caniexport mcp``: the answers as read-only tools of a coding agent."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from caniexport.cli.options import json_option, open_dataset

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: escapes of JSON: a backslash, a surrogate pair, and half of one
_ESCAPES = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


@click.command("mcp")
@json_option
def command(as_json: bool) -> None:
    """Serve case, explain_error, workaround, upgrade and op to a coding agent: MCP over stdio, read-only.

    An agent starts it: claude mcp add caniexport -- uvx --from 'caniexport[mcp]' caniexport mcp. The answers are those
    of the commands, cut short, with links; [tool.caniexport] of the folder that it is started in counts. --json prints
    what the tools are called.
    """
    from caniexport.agents import Agent, make_server
    from caniexport.cli.output import print_json

    dataset = open_dataset()
    if as_json:
        print_json({tool.__name__: tool.__doc__ for tool in Agent(dataset).tools})
        return
    sys.stdin = io.TextIOWrapper(io.BufferedReader(WholeCharacters(sys.stdin.buffer)))
    make_server(dataset, Path.cwd()).run("stdio")


class WholeCharacters(io.RawIOBase):
    """Lines of JSON in which half of a surrogate pair is spelled out: the server answers no line that has one."""

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines
        self._left = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer with what is left of a line, or with the next one."""
        room = memoryview(buffer)
        if not self._left:
            self._left = _ESCAPES.sub(lambda found: (b"\\" if found[1] else b"") + found[0], self._lines.readline())
        given, self._left = self._left[: len(room)], self._left[len(room) :]
        room[: len(given)] = given
        return len(given)
