"""The command ``caniexport``: one module per command, imported when it is asked for.

Exit codes: 0 fine, 1 a finding that should stop a build or a failure to read or write, 2 wrong use.
"""

from __future__ import annotations

import errno
import importlib
import io
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from caniexport import __version__, names
from caniexport.cli.extras import missing_extra
from caniexport.model.errors import CaniexportError, CorpusError, UnknownName
from caniexport.model.printable import escape_control

#: the commands by what they are for, as a newcomer meets them
GROUPS = {
    "Ask": ("table", "op", "case", "why", "workaround", "upgrade", "alerts"),
    "Your own code": ("check", "scan", "reproduce", "bisect"),
    "Measure and serve": ("measure", "publish", "bundles", "dashboard", "site", "mcp"),
}
COMMANDS = tuple(name for group in GROUPS.values() for name in group)
#: longer than any sentence
_WHOLE = 1000


class WholeSentences(click.Group):
    """Lists its commands with the first sentence of each, whole: click cuts it where the line ends."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        self.write_section(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_section(
        self, ctx: click.Context, formatter: click.HelpFormatter, title: str, listed: Sequence[str]
    ) -> None:
        """Write some of the commands under a title."""
        found = [(name, self.get_command(ctx, name)) for name in listed]
        with formatter.section(title):
            formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in found if command])


class Commands(WholeSentences):
    """The commands, each in the module of its name as ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order in which a newcomer meets them."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list, a section for each group."""
        for title, group in GROUPS.items():
            self.write_section(ctx, formatter, title, group)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"caniexport.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names for an unknown command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            if len(args[0].split()) > 1:
                why = f"caniexport why {shlex.quote(args[0])}"
                raise click.UsageError(f"a question, or an error, is answered by: {why}", ctx)
            raise click.UsageError(str(names.unknown_name("command", args[0], COMMANDS)), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an error raised on purpose is one line, never a traceback."""
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            # what the output's encoding has not is printed as Python escapes it
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            vars(error)["message"] = escape_control(error.message)  # click prints it
            raise
        except (CaniexportError, ModuleNotFoundError) as error:
            extra = missing_extra(error, ctx.invoked_subcommand)
            if isinstance(error, ModuleNotFoundError) and not extra:
                raise
            _say_error(extra or str(error))
            ctx.exit(2 if isinstance(error, UnknownName | CorpusError) and not extra else 1)
        except OSError as error:
            if error.errno is None or error.errno == errno.EPIPE:  # whoever read the output has gone: click ends then
                raise
            _say_error(_worded(error))
            ctx.exit(1)
        except UnicodeError as error:  # a name on the command line that is no text, or a file's
            _say_error(f"no text in UTF-8: {error}")
            ctx.exit(2)


def _say_error(text: str) -> None:
    from caniexport.cli.output import say

    say(f"caniexport: {text}")


def _worded(error: OSError) -> str:
    """What the system refused, and of which file."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left{where}; what was there before is kept"
    return f"{(error.strerror or str(error)).lower()}{where}"


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """The version, then which dataset answers, how old it is, and where newer is."""
    if not asked:
        return
    from caniexport import home
    from caniexport.answers.data_source import data_sources
    from caniexport.cli import output
    from caniexport.render.terminal import print_answer

    output.echo(f"caniexport {__version__}")
    print_answer(data_sources(home.find(), datetime.now(UTC)), output.console())
    context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="The version, and which dataset answers.",
)
@click.pass_context
def main(context: click.Context) -> None:
    """Can I export it? Which PyTorch ops, failures and workarounds pass where, measured.

    Answers come from the published dataset and from what `measure` found on this machine; where both have a
    result, this machine's is used, and marked. Every command takes --json.
    """
    from caniexport.cli.project import use_settings

    use_settings(context)
