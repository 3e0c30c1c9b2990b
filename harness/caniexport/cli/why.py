"""``caniexport why``: what an error text is; a case, an operator or words lead to what is known of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import TAKEN
from caniexport.answers.package_versions import ALONG_PACKAGES
from caniexport.cli.options import (
    add_note,
    filter_options,
    install_options,
    json_option,
    leave_setting,
    open_dataset,
    open_for,
    print_answer,
    read_install,
)
from caniexport.cli.project import is_setting
from caniexport.model.errors import UnknownName

if TYPE_CHECKING:
    from caniexport.answers.answer import Answer

#: what places an error
_POINT = ("torch", "exporter", "opset")
_READ_AS = {"case": "a case", "operator": "an operator", "words": "words"}


@click.command("why")
@click.argument("case", metavar="CASE[/VARIANT]|OPERATOR|ERROR|WORDS|-")
@filter_options("why", "case", "variant", "status")
@click.option(
    "--along",
    type=click.Choice(["torch", *ALONG_PACKAGES]),
    help="Where the outcome of a case changed: intervals (a, b] of torch, or (with --torch) of a companion package.",
)
@install_options("Answer for what you have installed")
@click.option("--all", "whole", is_flag=True, help="Every row and every message, not one screen.")
@json_option
def command(
    case: str,
    along: str | None,
    lock: Path | None,
    here: bool,
    whole: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Say what an error text is and what to do, or what a case, an operator or words stand for.

    An error text, in quotes or with - from standard input: the cases that fail alike, and the workarounds that work at
    --torch, --exporter and --opset. A case is answered as `caniexport case` does, an operator as `caniexport op` does.
    Anything else is words: a list of the cases and operators that have them.

    In a single line filters may stand as they are typed: "grid_sample torch=2.8 opset=18".

    With --lock or --here it is the torch release that is installed, with the measured packages that are nearest.
    """
    from caniexport.answers.op import answer_op, is_sample
    from caniexport.answers.search import InputKind, is_error, list_hits, read_input
    from caniexport.cli.case import show_case

    if case == "-" or is_error(case):
        print_answer(_why_error(case, lock, here, given), whole=whole, as_json=as_json, judges=False)
        return
    if is_sample(case):
        show_case(open_dataset(), case, _asked(given), along=along, whole=whole, as_json=as_json)
        return
    dataset, given = open_for(read_install(lock, here, given["torch"]), given)
    read = read_input(dataset, case, TAKEN["why"])
    given |= {name: (value,) for name, value in read.filters.items() if not given.get(name)}
    add_note(f"read as: {_READ_AS[read.kind]}")
    if read.kind is InputKind.WORDS:
        print_answer(list_hits(dataset, read.text), whole=whole, as_json=as_json, judges=False)
    elif read.kind is InputKind.OPERATOR:
        print_answer(answer_op(dataset, read.text), whole=whole, as_json=as_json, judges=False)
    else:
        show_case(dataset, read.text, _asked(given), along=along, whole=whole, as_json=as_json)


def _asked(given: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The point that the filters name. A project's settings complete one, and do not say that one is wanted."""
    found = {name: given[name][-1] for name in (*_POINT, "provider") if given.get(name)}
    if all(is_setting(click.get_current_context(), name) for name in found):
        leave_setting(*found)
        return {}
    return found


def _why_error(text: str, lock: Path | None, here: bool, given: dict[str, tuple[str, ...]]) -> Answer:
    """What an error text is, and what to do about it at the point that is asked for."""
    from caniexport.answers.search import split_filters
    from caniexport.answers.why import answer_error

    add_note("read as: an error text")
    text = sys.stdin.read() if text == "-" else text
    typed, rest = ({}, text) if "\n" in text.strip() else split_filters(text, TAKEN["why"])
    install = read_install(lock, here, given["torch"])
    dataset, placed = open_for(install, given) if install else (open_dataset(), dict(given))
    placed |= {name: (value,) for name, value in typed.items() if not given.get(name)}
    return answer_error(dataset, rest, _point(placed))


def _point(given: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The one release, exporter and opset that an error is answered at. Raises :class:`UnknownName` for several."""
    several = [name for name in _POINT if len(given.get(name, ())) > 1]
    if several:
        raise UnknownName(f"an error text is answered at one {several[0]}: {', '.join(given[several[0]])} are several")
    others = [name for name, values in given.items() if values and name not in _POINT]
    if others:
        raise UnknownName(f"--{others[0]} says nothing about an error text (--torch, --exporter and --opset do)")
    return {name: given[name][0] for name in _POINT if given.get(name)}
