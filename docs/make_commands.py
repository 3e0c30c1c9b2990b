"""Writes docs/commands.md: every command with its options, real runs on the published dataset, the words of answers.

``python docs/make_commands.py`` runs each example; ``--check`` only says what the page leaves out (a command, an
option, a word), whatever the rows are now.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

from caniexport.alerts.alert import STOPS, AlertStage
from caniexport.alerts.expectations import Trouble
from caniexport.answers.declared import Agreement
from caniexport.answers.signs import CLAIM, WORKAROUND
from caniexport.cli import COMMANDS, main
from caniexport.corpus.verdicts import Verdict
from caniexport.pages.glossary import AGREEMENT, CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent

TARGET = ROOT / "docs" / "commands.md"
_MOST_LINES = 32

#: what is run for each command; one with ``None`` measures, writes or serves, and is only shown
EXAMPLES: dict[str, list[str]] = {
    "table": ["table --theme pooling --exporter dynamo", "table --by runtime"],
    "case": [
        "case cross-no-symbolic",
        "case cross-no-symbolic --torch 1.10.2 --opset 14",
        "case adaptive-avg-pool2d-non-factor/resize_to_multiple --along torch --exporter default",
    ],
    "why": ["why 'RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported'"],
    "workaround": ["workaround cross-no-symbolic"],
    "scan": ["scan cases/elementary.py --torch 1.10.2"],
    "upgrade": [
        "upgrade --from 2.5 --to 2.9,exporter=dynamo --op grid_sample --op sdpa --op lstm --op index_put",
        "upgrade --from 1.13.1 --op grid_sample --op lstm",
    ],
    "alerts": ["alerts --torch all", "alerts --baseline results --current results"],
    "op": ["op F.grid_sample", "op --status mismatch --dtype float16"],
}
SHOWN: dict[str, str] = {
    "measure": "measure --release 2.8.0 --case cross-no-symbolic --plan",
    "check": "check my_model:make",
    "publish": "publish --audit 300 --seed 18 --save",
    "dashboard": "dashboard --port 8501",
}

STATES: Mapping[AlertStage, str] = {
    AlertStage.OPEN: "seen, nobody has looked at it",
    AlertStage.ACKNOWLEDGED: "known: stops no build until it grows",
    AlertStage.RESOLVED: "its cells were measured twice and were good",
}
TROUBLES: Mapping[Trouble, str] = {
    Trouble.EXPIRED: "past its review date",
    Trouble.UNMATCHED: "matches no measured cell",
    Trouble.UNEXPECTED_PASS: "what is expected to fail works",
}


def text() -> str:
    """The page; runs every example."""
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        home = Path(folder)
        for name in ("results", "cases", "docs"):
            (home / name).symlink_to(ROOT / name)
        os.environ.update(CANIEXPORT_HOME=str(home), COLUMNS="110", NO_COLOR="1")
        os.chdir(home)
        parts = ["\n".join(_head())]
        parts += ["\n".join(_command(name)) for name in COMMANDS]
    parts += ["\n".join(lines) for lines in _words()]
    return "\n".join(parts)


def _head() -> Iterator[str]:
    yield "# Commands\n"
    yield "Written by `python docs/make_commands.py`: every example is a real run on the published dataset."
    yield "Every command takes `--json`. Exit code 0 is fine, 1 a finding that should stop a build, 2 wrong use."
    yield "[Concepts](concepts.md) explains the words.\n"


def _command(name: str) -> Iterator[str]:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    yield f"## {name}\n"
    yield f"{_unwrapped(command.help or '')}\n"
    yield from _options(command)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield f"### {name} {inner.name}\n"
            yield f"{_unwrapped(inner.help or '')}\n"
            yield from _options(inner)
    for line in EXAMPLES.get(name, []):
        yield f"```\n$ caniexport {line}\n{_run(line)}\n```\n"
    if name in SHOWN:
        yield f"```\ncaniexport {SHOWN[name]}\n```\n"


def _options(command: click.Command) -> Iterator[str]:
    yield "| option | |\n| --- | --- |"
    for param in command.params:
        if isinstance(param, click.Option) and param.hidden:
            continue
        if isinstance(param, click.Option):
            meta = f" {param.make_metavar(click.Context(command))}".replace("|", "\\|") if not param.is_flag else ""
            yield f"| `{', '.join(param.opts)}{meta}` | {param.help or ''} |"
        else:
            yield f"| `{param.make_metavar(click.Context(command))}` | |"
    yield ""


def _unwrapped(help_text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in help_text.split("\n\n"))


def _run(line: str) -> str:
    reply = CliRunner().invoke(main, shlex.split(line))
    if reply.exit_code not in (0, 1) or not isinstance(reply.exception, SystemExit | None):
        raise RuntimeError(f"{line}: {reply.output}") from reply.exception
    lines = [item.rstrip() for item in reply.output.rstrip().split("\n")]
    more = [f"… ({len(lines) - _MOST_LINES} more lines)"] if len(lines) > _MOST_LINES else []
    return "\n".join([*lines[:_MOST_LINES], *more])


def _words() -> Iterator[list[str]]:
    """The vocabularies of answers."""
    changes = {word.value: CLASSES[word] for word in Verdict}
    yield _table("What happened between two cells of a case", changes)
    yield _table("What a workaround is in a cell", {word.value: sign.meaning for word, sign in WORKAROUND.items()})
    yield _table("Kinds of alerts that stop a build, worst first", {kind.value: CLASSES[kind] for kind in STOPS})
    yield _table("States of an alert", {state.value: STATES[state] for state in AlertStage})
    yield _table("Expectations that do not hold", {word.value: TROUBLES[word] for word in Trouble})
    yield _table("Outcomes of a claim", {word: sign.meaning for word, sign in CLAIM.items()})
    yield _table("Operator tables against measurements", {word.value: AGREEMENT[word] for word in Agreement})


def _table(title: str, words: Mapping[str, str]) -> list[str]:
    return [f"## {title}\n", "| word | meaning |\n| --- | --- |", *(f"| `{w}` | {m} |" for w, m in words.items()), ""]


def left_out(page: str) -> list[str]:
    """Commands, options and words that a page does not have."""
    missing = []
    for name in COMMANDS:
        if f"\n## {name}\n" not in page:
            missing.append(f"command {name}")
            continue
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        command = main.get_command(click.Context(main), name)
        assert command is not None
        inner = list(command.commands.values()) if isinstance(command, click.Group) else []
        for one in (command, *inner):
            missing += [
                f"{name} {param.opts[0]}"
                for param in one.params
                if isinstance(param, click.Option) and not param.hidden and f"`{param.opts[0]}" not in section
            ]
    words = [line.split("|")[1].strip() for lines in _words() for line in lines if line.startswith("| `")]
    return missing + [word for word in words if f"| {word} |" not in page]


def run() -> int:
    """Write the page, or with ``--check`` say what it leaves out."""
    if "--check" in sys.argv[1:]:
        missing = left_out(TARGET.read_text(encoding="utf-8") if TARGET.is_file() else "")
        print("\n".join(missing))
        return 1 if missing else 0
    made = text()
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run())
