"""``caniexport dashboard``: the Streamlit app on this machine."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from caniexport import home as homes
from caniexport.cli import extras, output
from caniexport.cli.options import json_option, several
from caniexport.model.errors import CaniexportError

_APP = homes.dashboard_folder() / "app.py"
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


@click.command("dashboard")
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True)
@click.option("--address", default="127.0.0.1", show_default=True, help="Loopback unless you open it to others.")
@several(
    "--host", "hosts", metavar="NAME", text="A name or number under which others reach it; all others are refused."
)
@json_option
@click.pass_context
def command(ctx: click.Context, port: int, address: str, hosts: tuple[str, ...], as_json: bool) -> None:
    """Open the dashboard in a browser. --json prints the address and the command instead of starting it."""
    if not _APP.is_file():
        raise CaniexportError(f"the dashboard is not where it is looked for: {_APP}")
    home = homes.find()
    line = streamlit_command(port, address, hosts)
    if as_json:
        output.print_json({"url": f"http://{address}:{port}", "home": home.root, "command": line})
        return
    extras.require("streamlit", "jinja2")
    output.echo(f"http://{address}:{port}  (press Ctrl+C to stop)")
    # a plain installation has no home to name: the app finds what this command found
    named = {homes.VARIABLE: str(home.root)} if home.cases.parent == home.root else {}
    environ = {**os.environ, **named}
    if os.name == "posix":
        # this process becomes the server: so a signal stops everything
        sys.stdout.flush()
        os.execve(line[0], line, environ)
    try:
        ctx.exit(subprocess.run(line, env=environ, check=False).returncode)
    except KeyboardInterrupt:
        ctx.exit(0)


def streamlit_command(port: int, address: str, hosts: tuple[str, ...]) -> list[str]:
    """Return the command that serves the app under the names of this machine, ``address`` and ``hosts``.

    A page elsewhere that points its own name to this machine (DNS rebinding) sends that name, and gets no data. No file
    watcher: it would walk every installed package.
    """
    options = [
        ("server.port", str(port)),
        ("server.address", address),
        ("server.headless", "true"),
        ("server.fileWatcherType", "none"),
        ("browser.gatherUsageStats", "false"),
        *(("server.allowedHosts", host) for host in sorted({*_OWN_HOSTS, address, *hosts})),
    ]
    flags = [item for name, value in options for item in (f"--{name}", value)]
    return [sys.executable, "-m", "streamlit", "run", str(_APP), *flags]
