"""``caniexport check``: a user's own model, or case files of theirs, through the same matrix."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.signs import EXPORTER_SHORT, STATUS, WORKAROUND
from caniexport.cli import output
from caniexport.cli.options import (
    cells_options,
    disk_option,
    json_option,
    open_dataset,
    releases_option,
    several,
    workers_option,
)
from caniexport.cli.output import styled
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.check.answer import Checked
    from caniexport.check.found import Failure, Where
    from caniexport.check.matching import Match
    from caniexport.cli.output import Console

_AXIS = re.compile(r"^(?P<name>\w+):(?P<axis>\d+)(?:=(?P<label>[A-Za-z_]\w*))?$")
_MESSAGE_WIDTH = 300
_MOST_FIXES = 5


@click.command("check")
@click.argument("target", metavar="MODULE:FACTORY")
@releases_option("A torch release, or all. Repeatable.  [default: the newest]")
@cells_options
@several("--dynamic", metavar="NAME:AXIS[=LABEL]", text="An axis of an input that varies: x:0=batch.")
@click.option("--only-given", is_flag=True, help="Run the inputs given, and make no others of them.")
@click.option("--rtol", type=click.FloatRange(0), help="Relative tolerance against eager.  [default: by dtype]")
@click.option("--atol", type=click.FloatRange(0), help="Absolute tolerance against eager.  [default: by dtype]")
@several(
    "--with",
    "packages",
    metavar="PACKAGE",
    text="Install this too, in the environment of each release: torchvision, timm==1.0.9.",
)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("caniexport-check"),
    show_default=True,
    help="The folder for environments and rows.",
)
@workers_option("Processes side by side.  [default: one a core]")
@click.option("--timeout", type=click.FloatRange(1), default=120.0, show_default=True, help="Seconds for a cell.")
@click.option("--memory", type=click.IntRange(64), default=8192, show_default=True, help="MiB a cell may allocate.")
@click.option("--rolling", is_flag=True, help="Delete each environment after it has been measured.")
@disk_option("GB, with --rolling.")
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="After so long nothing more is begun that was not named.",
)
@click.option("--fresh", is_flag=True, help="Measure again what an earlier check of the same model has.")
@click.option("--keep-files", is_flag=True, help="Keep the exported files; a note says where.")
@json_option
def command(
    target: str,
    dynamic: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    only_given: bool,
    into: Path,
    as_json: bool,
    **asked: Any,
) -> None:
    """Take your own model through torch releases, exporters and opsets: where it passes, what fails, known fixes.

    MODULE:FACTORY (or FILE.py:FACTORY) names a function without arguments that returns (module, inputs): a tuple is one
    set of arguments, a list several sets, of which the first is exported and all are run. It is imported from the
    working directory, in the environment of each release. A case file or a folder of them is taken as well. Such a file
    is run with your rights: check a stranger's in a container. Exit code 1: wrong values, a release in which nothing
    works or whose default call does not, or an exporter or opset that was named and does not work there.
    """
    from caniexport.check.check import check
    from caniexport.check.run import CheckRequest
    from caniexport.check.subject import Options

    home = homes.find()
    request = CheckRequest(**asked)
    found = check(
        target,
        request,
        Options(axes(dynamic), rtol, atol, request.packages, not only_given),
        into=into,
        home=home,
        corpus=open_dataset(home),
        cwd=Path.cwd(),
        say=output.say,
    )
    output.answer(found, show, as_json)
    if found.findings:
        click.get_current_context().exit(1)


def axes(texts: Iterable[str]) -> dict[str, dict[int, str]]:
    """``x:0=batch`` as ``{"x": {0: "batch"}}``; an axis without a label gets one."""
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        match = _AXIS.match(text)
        if match is None:
            raise click.UsageError(f"--dynamic {text!r}: NAME:AXIS or NAME:AXIS=LABEL is wanted, such as x:0=batch")
        name, axis = match["name"], int(match["axis"])
        found.setdefault(name, {})[axis] = match["label"] or f"{name}_{axis}"
    return found


def show(found: Checked, console: Console) -> None:
    """Print the answer in one line, where it works, then each way of failing with what the corpus knows of it."""
    from caniexport.check.found import NOT_JUDGED
    from caniexport.render.terminal import show as show_answer

    _heading(found, console)
    several = len(found.works) > 1
    for item in found.works:
        if several:
            console.print(f"\n{item.case}/{item.variant}")
        _works(item.lines, found.releases, console)
    if several or len(found.releases) > 1:
        console.print()
        show_answer(replace(found.table, more=""), console, whole=True)
    heads = {False: "Where it fails, wrong values first:", True: "What could not be judged:"}
    for failure in found.failures:
        head = heads.pop(failure.is_ours, "")
        console.print(f"\n{head}\n" if head else "")
        named = f"{failure.case}/{failure.variant}: " if several else ""
        sign = STATUS[failure.status]
        operator = failure.operator or "no operator named"
        word = NOT_JUDGED if failure.is_ours else failure.status.value
        console.print(styled(f"{sign.sign} {named}{word} at {failure.stage}: {operator}", sign))
        _failure(failure, console)
    _remarks(found, console)


def _heading(found: Checked, console: Console) -> None:
    at = f" on torch {found.releases[0]}" if len(found.releases) == 1 else ""
    named = found.target + (f" ({found.module})" if found.module else "") + at
    console.print(f"{named}: {found.headline}", soft_wrap=True)
    if found.sets and found.works:
        console.print(f"Run on {len(found.sets)} sets of inputs: {'; '.join(found.sets)}.", soft_wrap=True)
    if found.refused:
        console.print(f"Not on these, which say nothing of a file: {'; '.join(found.refused)}.", soft_wrap=True)


def _remarks(found: Checked, console: Console) -> None:
    if found.notes or found.findings:
        console.print()
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    for finding in found.findings:
        console.print(f"! {finding}", soft_wrap=True)


def _works(lines: Sequence[object], releases: Sequence[str], console: Console) -> None:
    """Where it works; of one release the release is named, for it is no word about others."""
    from caniexport.answers.support import EVERYWHERE, Support

    for line in lines:
        assert isinstance(line, Support)
        rest = f" ({line.otherwise_text})" if line.otherwise_text else ""
        told = line.text if line.status is Status.SKIP else line.told
        text = told.replace(EVERYWHERE, f"on torch {releases[0]}") if len(releases) == 1 else told
        console.print(f"  {EXPORTER_SHORT[line.exporter]:8} {STATUS[line.status].sign} {text}{rest}", soft_wrap=True)


def _failure(failure: Failure, console: Console) -> None:
    for place in failure.where:
        console.print(f"    {_place(place)}")
    console.print(textwrap.indent(_shortened(failure.message), "      "), soft_wrap=True)
    if failure.warnings:
        console.print(f"    the exporter warned: {textwrap.shorten(failure.warnings, _MESSAGE_WIDTH)}", soft_wrap=True)
    if failure.hint:
        console.print(f"    {failure.hint}", soft_wrap=True)
    for match in failure.matches:
        _match(match, failure, console)


def _place(place: Where) -> str:
    opsets = "its own opset" if place.opsets == (None,) else f"opset {versions.opset_text(place.opsets)}"
    return f"torch {place.torch}, {EXPORTER_SHORT[place.exporter]}, {opsets}"


def _shortened(message: str) -> str:
    """The first words of a message and, where there are causes behind it, the last of them."""
    from caniexport.check.found import first_words, last_cause

    first = first_words(message)
    cause = last_cause(message)
    told = [first, f"caused by {cause}"] if cause else [first]
    return "\n".join(textwrap.shorten(line, _MESSAGE_WIDTH) for line in told)


def _match(match: Match, failure: Failure, console: Console) -> None:
    console.print(f"    {match.case}: {match.title} ({match.why})", soft_wrap=True)
    place = failure.shown or failure.where[0]
    opset = "" if place.opsets == (None,) else f", opset {place.opsets[-1]}"
    words = [fix for fix in match.fixes if not fix.caution][:_MOST_FIXES]
    if words:
        console.print(f"      its fixes at torch {match.torch}, {EXPORTER_SHORT[place.exporter]}{opset}:")
    wide = max((len(fix.variant) for fix in words), default=0)
    for fix in words:
        sign = WORKAROUND[Workaround.BROKEN if fix.refuted else fix.word]
        word = fix.word.value if not fix.refuted else "refuted"
        note = f"{fix.told} ({fix.refuted})" if fix.refuted else fix.told
        console.print(f"      {sign.sign} {word:8} {fix.variant:{wide}}  {note}", soft_wrap=True)
