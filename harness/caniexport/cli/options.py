"""Options that several commands share, and the dataset that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.filters import TAKEN
from caniexport.cli import output
from caniexport.home import Home

if TYPE_CHECKING:
    from caniexport.store import Dataset

_Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def several(*names: str, metavar: str, text: str) -> Callable[[_Command], _Command]:
    """An option that may be given several times."""
    return click.option(*names, multiple=True, metavar=metavar, help=text)


def releases_option(text: str) -> Callable[[_Command], _Command]:
    """The torch releases that a command is about."""
    return several("--release", "--torch", "releases", metavar="VERSION", text=text)


_FILTERS = {
    "case": several("--case", metavar="CASE[/VARIANT]", text="A case, or one variant of it; globs work."),
    "variant": several("--variant", metavar="NAME", text="plain, or a fix's name."),
    "torch": several("--torch", "--release", "torch", metavar="VERSION", text="torch release: 2.8.0, 2.8."),
    "opset": several("--opset", metavar="N", text="Opset asked for: 14, 9-14, '>=11', default."),
    "exporter": several("--exporter", metavar="NAME", text="trace, script, dynamo, default."),
    "provider": several("--provider", metavar="NAME", text="cpu, cuda, ..."),
    "status": several("--status", metavar="STATUS", text="pass, fail, mismatch, ..."),
    "theme": several("--theme", metavar="NAME", text="Op family: a case file's name."),
    "op": several("--op", metavar="OP", text="torch or ONNX operator: cross, GridSample."),
}


def filter_options(answer: str, *but: str) -> Callable[[_Command], _Command]:
    """Options for the filters that ``answer`` takes, except those that the command has as an argument.

    The command gets them as keyword arguments, for :func:`caniexport.answers.filters.read_filters`.
    """

    def decorate(command: _Command) -> _Command:
        for name, option in reversed(_FILTERS.items()):
            if name in TAKEN[answer] and name not in but:
                command = option(command)
        return command

    return decorate


def open_dataset(home: Home | None = None) -> Dataset:
    """The published and the local dataset together. What cannot be read is named on stderr when the command ends."""
    from caniexport.store import Dataset

    home = homes.find() if home is None else home
    dataset = Dataset.open(home.published, home.local)

    def report() -> None:
        for problem in dataset.problems:
            output.say(f"caniexport: warning: {problem}")

    # files are read as answers need them, so what is wrong with them is known at the end
    click.get_current_context().call_on_close(report)
    return dataset


_OPSETS = range(1, 40)


def case_names(home: Home, asked: Sequence[str]) -> tuple[str, ...]:
    """The names as the corpus has them, globs resolved; raises :class:`UnknownName`."""
    if not asked:
        return ()
    known = home.read_cases()
    found = []
    for text in asked:
        pattern, _, variant = text.partition("/")
        for case in sorted(names.require_all("case", [pattern], known)):
            chosen = names.require_all(f"variant of {case}", filter(None, [variant]), known[case].variant_names)
            found += [f"{case}/{name}" for name in sorted(chosen)] if variant else [case]
    return tuple(dict.fromkeys(found))


def opset_numbers(asked: Sequence[str]) -> tuple[int, ...]:
    """The opsets that ``14`` and ``9-14`` mean."""
    return tuple(number for number in _OPSETS if any(versions.opset_in(number, text) for text in asked))


def release_names(dataset: Dataset, asked: Sequence[str]) -> tuple[str, ...]:
    """The measured releases that these words name; none for all. Raises :class:`UnknownName`."""
    measured = [torch for (torch,) in dataset.grouped(("torch",), {}) if torch]
    return () if "all" in asked else tuple(versions.resolve(text, measured) for text in asked)
