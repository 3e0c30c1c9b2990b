"""Options that several commands share, and the dataset that they read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from caniexport import home as homes
from caniexport import names, versions
from caniexport.answers.filters import TAKEN
from caniexport.cli import output
from caniexport.cli.project import is_setting, settings_used
from caniexport.home import NEWEST, Home

if TYPE_CHECKING:
    from caniexport.answers.answer import Answer
    from caniexport.locks import LockedInstall
    from caniexport.store import Dataset

_Command = Callable[..., Any]
#: where a command's context keeps the profile that it answers for, lines that belong to the answer, and options whose
#: setting is not used
_PROFILE, _NOTES, _UNUSED = "caniexport.profile", "caniexport.notes", "caniexport.unused"
#: commands whose output is a file
_PRINT_FILES = ("reproduce",)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
whole_option = click.option("--all", "whole", is_flag=True, help="Every row and every message, not one screen.")


def several(
    *names: str, metavar: str, text: str, read: Callable[[tuple[str, ...]], Any] = tuple
) -> Callable[[_Command], _Command]:
    """An option that may be given several times; the command gets what ``read`` makes of the texts."""
    return click.option(*names, multiple=True, metavar=metavar, help=text, callback=_reading(read))


def _listed(given: Sequence[str]) -> tuple[str, ...]:
    """The names of several texts, each of which may be a list with commas."""
    return tuple(name for text in given for part in text.split(",") if (name := part.strip()))


def releases_option(text: str) -> Callable[[_Command], _Command]:
    """The torch releases that a command is about."""
    return several("--release", "--torch", "releases", metavar="VERSION", text=text)


def cells_options(command: _Command) -> _Command:
    """The exporters and opsets that a command is about: the long names of exporters, opsets as numbers."""
    text = "trace, script, dynamo, default."
    exporters = several("--exporter", "exporters", metavar="NAME", text=text, read=parse_exporters)
    opsets = several("--opset", "opsets", metavar="N", text="Only these opsets: 14, 9-14.", read=parse_opsets)
    return exporters(opsets(command))


def parse_exporters(asked: Sequence[str]) -> tuple[str, ...]:
    """The exporters that these names mean; raises :class:`UnknownName`."""
    from caniexport.answers.filters import exporter_names

    return exporter_names(asked)


def workers_option(text: str, default: int | None = None) -> Callable[[_Command], _Command]:
    """How many processes work side by side; one for each core where no number is the default."""
    many = click.IntRange(1, 256)
    read = _reading(lambda given: given or os.cpu_count() or 1)
    return click.option("--workers", type=many, default=default, show_default=True, help=text, callback=read)


def names_option(option: str, name: str, text: str) -> Callable[[_Command], _Command]:
    """An option that takes one name or a list with commas, several times."""
    return several(option, name, metavar="NAME", text=text, read=_listed)


def answer_options(command: _Command) -> _Command:
    """What every question takes: the profile, all of the answer in place of a screen, and JSON."""
    return _answering_profile(whole_option(json_option(command)))


def print_answer(answer: Answer, *, whole: bool, as_json: bool, judges: bool = True) -> None:
    """Print an answer. Where it ``judges`` a build, the command ends with the exit code of its outcome."""
    if as_json:
        from caniexport.answers.answer import as_json as rendered

        output.print_json(rendered(answer))
    else:
        from caniexport.render.terminal import print_answer

        print_answer(answer, output.console(), whole=whole)
    if judges and answer.outcome.exit_code:
        click.get_current_context().exit(answer.outcome.exit_code)


def _answering_profile(command: _Command) -> _Command:
    """The profile that answers read, used by :func:`open_dataset`."""

    def keep(context: click.Context, _: click.Parameter, name: str) -> None:
        context.meta[_PROFILE] = name

    text = "Versions of the companion packages: newest, or period (two weeks after each release)."
    option = click.option("--profile", default=NEWEST, metavar="NAME", help=text, callback=keep, expose_value=False)
    return option(command)


def profile_option(text: str) -> Callable[[_Command], _Command]:
    """The option of a profile of companion packages; the command gets its name."""
    from caniexport.profiles import find_profile

    text = f"{text} newest (as the table of releases has it), period (two weeks after the release), onnxscript-0.5.6."
    read = _reading(lambda name: find_profile(name).name)
    return click.option("--profile", default="newest", metavar="NAME", help=text, callback=read)


def corpus_option(text: str) -> Callable[[_Command], _Command]:
    """Which cases; the command gets the corpus's name."""
    text = f"{text} documented (failures that documents state), operators (torch's database), models, patches."
    return click.option("--corpus", default=homes.DOCUMENTED, metavar="NAME", help=text)


def refuse_unused(given: Mapping[str, bool], needed: str) -> None:
    """Raise :class:`click.UsageError` for the first option that is given and that only ``needed`` takes."""
    for option in (name for name, is_given in given.items() if is_given):
        raise click.UsageError(f"{option} goes with {needed}")


def _reading(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """What an option's value is turned into, as click asks for it."""
    return lambda _, __, given: read(given)


_FILTERS = {
    "case": several("--case", metavar="CASE[/VARIANT]", text="A case, or one variant of it; globs work."),
    "variant": several("--variant", metavar="NAME", text="plain, or the name of a workaround."),
    "torch": several("--torch", "--release", "torch", metavar="VERSION", text="torch release: 2.8.0, 2.8."),
    "opset": several("--opset", metavar="N", text="Opset asked for: 14, 9-14, '>=11', default."),
    "exporter": several("--exporter", metavar="NAME", text="trace, script, dynamo, default."),
    "provider": several("--provider", metavar="NAME", text="cpu, cuda, ..."),
    "status": several("--status", metavar="STATUS", text="pass, fail, mismatch, ..."),
    "theme": several("--theme", metavar="NAME", text="Op family: a case file's name."),
    "op": several("--op", metavar="OP", text="torch or ONNX operators: cross,GridSample.", read=_listed),
}


def filter_options(answer: str, *but: str, profile: bool = True) -> Callable[[_Command], _Command]:
    """Options for the filters that ``answer`` takes, except those that the command has as an argument.

    The command gets them as keyword arguments, for :func:`caniexport.answers.filters.read_filters`.
    """

    def decorate(command: _Command) -> _Command:
        command = _answering_profile(command) if profile else command
        for name, option in reversed(_FILTERS.items()):
            if name in TAKEN[answer] and name not in but:
                command = option(command)
        return command

    return decorate


def install_options(text: str) -> Callable[[_Command], _Command]:
    """``--lock FILE`` and ``--here``: what a user has installed, for :func:`read_install`."""
    files = "uv.lock, poetry.lock, requirements.txt, environment.yml, pip freeze, ..."
    lock = click.option("--lock", type=click.Path(path_type=Path), help=f"{text}, from a lock file: {files}")
    here = click.option("--here", is_flag=True, help=f"{text}, from the packages of the active environment.")
    return lambda command: lock(here(command))


def read_install(lock: Path | None, here: bool, named: Sequence[str] = ()) -> LockedInstall | None:
    """What a user has installed; a release of torch that is ``named`` stands for the version there. ``None`` where no
    installation is asked for.
    """
    if lock is not None and here:
        raise click.UsageError("--lock and --here name two installations")
    if lock is None and not here:
        return None
    from caniexport.locks import read_here, read_lock

    torch = "" if is_setting(click.get_current_context(), "torch") else "".join(named[:1])
    return read_lock(lock, torch) if lock is not None else read_here(torch)


def open_for(
    install: LockedInstall | None, given: Mapping[str, tuple[str, ...]]
) -> tuple[Dataset, dict[str, tuple[str, ...]]]:
    """The dataset and the filters, of the measured packages nearest to what is installed; the answer says what differs.

    A profile that was named stays.
    """
    from caniexport.answers.point import Points

    dataset = open_dataset()
    if install is None:
        return dataset, use_measured_releases(dataset, given)
    context = click.get_current_context()
    named = (
        {"profile": dataset.profile} if context.get_parameter_source("profile") is ParameterSource.COMMANDLINE else {}
    )
    point, notes = Points(dataset).find({**install.packages, **named})
    leave_setting("torch")
    for line in (f"read: {install.text}", *install.notes, *notes):
        add_note(line)
    return dataset.of(point.profile), {**given, "torch": (point.torch,)}


def use_measured_releases(dataset: Dataset, given: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Replace an unmeasured patch release of torch by the nearest of its minor version, with a note."""
    from caniexport.answers.inventory import Inventory

    def nearest(asked: str) -> str:
        if asked == "all" or versions.is_range(asked):
            return asked
        found, note = versions.resolve_with_note(asked, Inventory.of(dataset).torch)
        if note:
            add_note(note)
        return found if note else asked

    return {**given, "torch": tuple(nearest(text) for text in given["torch"])} if given.get("torch") else dict(given)


def add_note(line: str) -> None:
    """Print a line below the answer, or on stderr if the answer is JSON or a file."""
    click.get_current_context().meta.setdefault(_NOTES, []).append(line)


def leave_setting(*names: str) -> None:
    """Mark options as unused, so that no note names their project settings."""
    click.get_current_context().meta.setdefault(_UNUSED, set()).update(names)


def _print_notes(context: click.Context) -> None:
    lines = [*context.meta.get(_NOTES, ())]
    used = settings_used(context, frozenset(context.meta.get(_UNUSED, ())))
    lines += [used] if used else []
    is_text = context.params.get("form", "text") == "text" and context.info_name not in _PRINT_FILES
    for line in lines:
        output.echo(f"- {line}", err=bool(context.params.get("as_json")) or not is_text)


def open_dataset(home: Home | None = None) -> Dataset:
    """The published and the local dataset together. What cannot be read is named on stderr when the command ends."""
    from caniexport.store import Dataset

    home = homes.find() if home is None else home
    dataset = Dataset.open(home.published, home.local)
    profile = click.get_current_context().meta.get(_PROFILE)
    dataset = dataset.of(profile) if profile else dataset

    def report() -> None:
        for problem in dataset.problems:
            output.say(f"caniexport: warning: {problem}")

    # files are read as answers need them, so what is wrong with them is known at the end
    context = click.get_current_context()
    context.call_on_close(report)
    context.call_on_close(lambda: _print_notes(context))
    return dataset


_OPSETS = range(1, 40)


def expand_cases(home: Home, asked: Sequence[str]) -> tuple[str, ...]:
    """The names as the corpus has them, globs resolved; raises :class:`UnknownName`."""
    if not asked:
        return ()
    known = home.read_cases()
    found = []
    for text in asked:
        pattern, _, variant = text.partition("/")
        cases = sorted(names.require_all("case", [pattern], known))
        if not variant:
            found += cases
            continue
        variants = {case: sorted(known[case].variant_names) for case in cases}
        chosen = names.require_all(f"variant of {pattern}", [variant], dict.fromkeys(chain(*variants.values())))
        found += [f"{case}/{name}" for case, mine in variants.items() for name in mine if name in chosen]
    return tuple(dict.fromkeys(found))


def parse_opsets(asked: Sequence[str]) -> tuple[int, ...]:
    """The opsets that ``14`` and ``9-14`` mean."""
    found = tuple(number for number in _OPSETS if any(versions.is_opset_in(number, text) for text in asked))
    if asked and not found:
        raise click.UsageError(f"--opset {' '.join(asked)}: give a number or a range such as 9-14")
    return found


def expand_releases(dataset: Dataset, asked: Sequence[str]) -> tuple[str, ...]:
    """Expand version prefixes to measured releases; empty means all. Raises :class:`UnknownName`."""
    if "all" in asked:
        return ()
    measured = [torch for (torch,) in dataset.distinct(("torch",)) if torch]
    return tuple(torch for text in asked for torch in versions.resolve_range(text, measured))
