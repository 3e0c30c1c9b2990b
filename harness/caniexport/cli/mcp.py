"""``caniexport mcp``: the answers as read-only tools of a coding agent."""

from __future__ import annotations

from pathlib import Path

import click

from caniexport.cli.options import json_option, open_dataset


@click.command("mcp")
@json_option
def command(as_json: bool) -> None:
    """Serve why, explain_error, workaround, upgrade and op to a coding agent: MCP over stdio, read-only.

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
    make_server(dataset, Path.cwd()).run("stdio")
