"""``caniexport why``: one cell or several, explained."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.beside_torch import ALONG_PACKAGES
from caniexport.answers.filters import TAKEN, read_filters
from caniexport.answers.signs import CLAIM, EXPORTER_SHORT, REFUSED, STATUS, word
from caniexport.cli import output
from caniexport.cli.options import (
    exporters_named,
    filter_options,
    install_options,
    json_option,
    open_dataset,
    open_for,
    opset_numbers,
    print_answer,
    read_install,
    tell,
    with_measured,
)
from caniexport.cli.output import labelled, styled
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import WORKS, Status

if TYPE_CHECKING:
    from caniexport.answers.answer import Answer
    from caniexport.answers.history import Alike, History
    from caniexport.answers.operator_cells import OperatorWhy
    from caniexport.answers.reasons import Detail, FailureGroup, Why
    from caniexport.answers.select import CatalogueEntry
    from caniexport.cli.grid import Grid
    from caniexport.cli.output import Console
    from caniexport.store import Dataset

_MOST_MESSAGES = 5
#: what places an error
_POINT = ("torch", "exporter", "opset")
_MOST_PLACES = 6
_READ_AS = {"case": "a case", "operator": "an operator", "words": "words"}
_PACKAGES = ("torch", "onnx", "onnxscript", "onnx_ir", "onnx-ir", "onnxruntime", "numpy", "protobuf")


@click.command("why")
@click.argument("case", metavar="CASE[/VARIANT]|OPERATOR|ERROR|WORDS|-")
@filter_options("why", "case")
@click.option(
    "--along",
    type=click.Choice(["torch", *ALONG_PACKAGES]),
    help="Where its outcome changed from release to release of torch, or of a package beside one torch (--torch): "
    "intervals (a, b], and what did it.",
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
    """Explain a case: where it stops, the real message, versions, the claims it bears on, how to repeat it.

    Without filters it covers every release, exporter and opset; --torch, --exporter and --opset narrow it.

    The text is read as one of four. A case: `cross-no-symbolic`, or one of its variants. An operator: `cross`,
    `GridSample`, with where each of its cases works; with --torch or --opset how these and their workarounds stand
    there. An error text (in quotes; - reads it from standard input), with several lines or an exception's name and a
    colon: the cases that fail alike, and the workarounds that work at --torch, --exporter and --opset. Anything else
    is words: a list of the cases and operators that have them.

    In a single line filters may stand as they are typed: "grid_sample torch=2.8 opset=18".

    An operator sample is a case too: op-cross/float32-plain, promotion-sub/int64-float-left.

    With --lock or --here it is the torch release that is installed, with the measured packages that are nearest.
    """
    from caniexport.answers.search import InputKind, is_error, list_hits, read_input

    if case == "-" or is_error(case):
        print_answer(_why_error(case, lock, here, given), whole=whole, as_json=as_json, judges=False)
        return
    from caniexport.answers.history import history
    from caniexport.answers.operator_cells import is_of_operators
    from caniexport.answers.reasons import why
    from caniexport.cli.support import show_cases

    if is_of_operators(case):
        output.answer(_why_operator(case, given), show_operator, as_json)
        return
    dataset, placed = open_for(read_install(lock, here, given["torch"]), given)
    given = with_measured(dataset, {**placed, "torch": given["torch"]}) if along == "torch" else placed
    read = read_input(dataset, case, TAKEN["why"])
    given |= {name: (value,) for name, value in read.filters.items() if not given.get(name)}
    kind = read.kind
    tell(f"read as: {_READ_AS[kind]}")
    if kind is InputKind.WORDS:
        print_answer(list_hits(dataset, read.text), whole=whole, as_json=as_json, judges=False)
        return
    if kind is InputKind.OPERATOR and not along:
        if not read.cases:
            print_answer(_operator_without_case(dataset, read.text), whole=False, as_json=as_json, judges=False)
            return
        if len(read.cases) > 1 and (given["torch"] or given["opset"]):
            print_answer(_workarounds_at(dataset, read.cases, given), whole=False, as_json=as_json, judges=False)
            return
        if len(read.cases) > 1:
            show_cases(dataset, read.text, read.cases, as_json=as_json)
            return
    about = (kind is InputKind.OPERATOR and read.cases) or (read.text,)
    asked = read_filters("why", {**given, "case": about})
    if along:
        output.answer_each(history(dataset, asked, along), show_history, as_json)
    else:
        output.answer_each(why(dataset, asked), show, as_json)


def _why_error(text: str, lock: Path | None, here: bool, given: dict[str, tuple[str, ...]]) -> Answer:
    """What an error text is, and what to do about it at the point that is asked for."""
    from caniexport.answers.search import split_filters
    from caniexport.answers.why import why_error

    tell("read as: an error text")
    text = sys.stdin.read() if text == "-" else text
    typed, rest = ({}, text) if "\n" in text.strip() else split_filters(text, TAKEN["why"])
    install = read_install(lock, here, given["torch"])
    dataset, placed = open_for(install, given) if install else (open_dataset(), dict(given))
    placed |= {name: (value,) for name, value in typed.items() if not given.get(name)}
    return why_error(dataset, rest, _point(placed))


def _operator_without_case(dataset: Dataset, name: str) -> Answer:
    """What the samples of an operator come to that no case is about."""
    from caniexport.answers.op import op
    from caniexport.answers.operator_findings import findings_by_operator
    from caniexport.answers.torch_operators import operators_beside

    summary = operators_beside(dataset)
    assert summary is not None  # it knows the name
    return op(summary, dataset, name, findings_by_operator(homes.find().of_corpus(OPERATORS).cases))


def _workarounds_at(dataset: Dataset, cases: tuple[str, ...], given: Mapping[str, tuple[str, ...]]) -> Answer:
    """What to do with the workarounds of an operator's cases at the release or opset asked for."""
    from caniexport.answers.scope import Scope
    from caniexport.answers.workaround import workaround

    opsets = opset_numbers(given["opset"])
    exporters = exporters_named(given["exporter"])
    return workaround(
        dataset, Scope(frozenset(cases)), "".join(given["torch"][-1:]), opsets[-1] if opsets else None, exporters
    )


def _why_operator(case: str, given: dict[str, tuple[str, ...]]) -> OperatorWhy:
    from caniexport.answers.operator_cells import why_operator
    from caniexport.answers.torch_operators import OperatorsSummary

    home = homes.find().of_corpus(OPERATORS)
    return why_operator(OperatorsSummary(home.published), home.local, case, given)


def show_operator(found: OperatorWhy, console: Console) -> None:
    """Print how the calls of an operator end, and how to have their rows."""
    console.print("/".join(filter(None, (found.case, found.variant))), style="bold")
    made = output.grid("torch", "exporter", "opset", "outcome", "at stage", "calls", "message")
    texts = list(dict.fromkeys(end.text for end in found.ends if end.text))
    for end in found.ends:
        sign = STATUS[Status(end.status)]
        made.add_row(
            end.torch,
            EXPORTER_SHORT.get(end.exporter, end.exporter),
            end.opsets,
            output.marked(f"{sign.sign} {word(Status(end.status))}", sign),
            "" if end.stage == "done" else end.stage,
            end.calls,
            f"[{texts.index(end.text) + 1}]" if end.text else "",
        )
    console.print(made)
    _messages([(number, text) for number, text in enumerate(texts, 1)], "--torch, --exporter or --opset", console)
    console.print(f"From {found.known_from}. The rows with their messages: `{found.rows_by}`.", soft_wrap=True)


def _point(given: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The one release, exporter and opset that an error is answered at. Raises :class:`UnknownName` for several."""
    several = [name for name in _POINT if len(given.get(name, ())) > 1]
    if several:
        raise UnknownName(f"an error text is answered at one {several[0]}: {', '.join(given[several[0]])} are several")
    others = [name for name, values in given.items() if values and name not in _POINT]
    if others:
        raise UnknownName(f"--{others[0]} says nothing about an error text (--torch, --exporter and --opset do)")
    return {name: given[name][0] for name in _POINT if given.get(name)}


def show(item: Why, console: Console) -> None:
    """Print one variant's answer: how it ends, then what of."""
    from caniexport.answers.decision import decide_why

    entry = item.entry
    console.print(f"{entry.case}/{entry.variant}", style="bold")
    if item.groups:
        console.print(decide_why([item]), soft_wrap=True)
    about = f"about: {entry.title}" if entry.title else ""
    for line in (about, f"fix ({entry.kind}): {entry.note}" if entry.note else ""):
        if line:
            console.print(line)
    if entry.caution:
        console.print("Careful: this fix is known to be wrong or partial.")
    for source in item.sources:
        if source.text:
            console.print(f"{source.source}: {source.text}", soft_wrap=True)
    if not item.groups:
        console.print(f"{_unmeasured(entry)}\n")
        return
    # refusals say nothing about the case; they are shown where they are all there is
    groups = [group for group in item.groups if group.status is not Status.UNSUPPORTED] or item.groups
    _outcomes(item, groups, console)
    _declared(item, console)
    _runtimes(item, console)
    shown = dict.fromkeys(group.message for group in groups if group.message is not None)
    texts = [(number + 1, item.messages[number]) for number in shown]
    _messages(texts, "--torch, --exporter, --opset or --status", console)
    if item.detail:
        _show_detail(item.detail, item.cells, console)
    _claims(item, console)
    console.print()


def _unmeasured(entry: CatalogueEntry) -> str:
    if entry.kind == "version-upgrade":
        named = f" (torch {entry.needs_torch})" if entry.needs_torch else ""
        return f"Not measured itself: the failing form on the releases that have it{named} answers for it."
    return f"Not measured within these filters. `caniexport measure --case {entry.case}/{entry.variant}` does."


def _outcomes(item: Why, groups: Sequence[FailureGroup], console: Console) -> None:
    made = output.grid("torch", "exporter", "opset", "outcome", "at stage", "file", "runtime", "message")
    local = [group.local for group in groups]
    marked = any(local) and not all(local)
    for group in groups:
        sign = STATUS[group.status]
        refused = REFUSED if group.told and group.status in WORKS else ""
        made.add_row(
            group.torch + "*" * (marked and group.local),
            EXPORTER_SHORT.get(group.exporter, group.exporter),
            versions.opset_text(group.opsets),
            output.marked(f"{sign.sign} {word(group.status)}{refused}", sign),
            "" if group.stage == "done" else group.stage,
            _file(group),
            group.runtime.removeprefix("onnxruntime ") or "-",
            "" if group.message is None else f"[{group.message + 1}]",
        )
    console.print(made)
    for told, where in _told(groups).items():
        console.print(f"- {told} ({where})", soft_wrap=True)
    output.say_local(local, console)
    if len(groups) < len(item.groups):
        console.print("- opsets that an exporter refuses are left out (--status refused shows them)")


def _told(groups: Sequence[FailureGroup]) -> dict[str, str]:
    """What statuses leave out, each sentence once, and where it holds."""
    found: dict[str, list[str]] = {}
    for group in groups:
        if group.told:
            exporter = EXPORTER_SHORT.get(group.exporter, group.exporter)
            found.setdefault(group.told, []).append(f"{group.torch} {exporter} {versions.opset_text(group.opsets)}")
    return {
        told: "; ".join(where[:_MOST_PLACES]) + (" …" * (len(where) > _MOST_PLACES)) for told, where in found.items()
    }


def _declared(item: Why, console: Console) -> None:
    """What torch's own tables promise for the case's operators, in one line a release."""
    by_op: dict[str, list[str]] = {}
    for one in item.declared:
        short = EXPORTER_SHORT.get(one.exporter, one.exporter)
        by_op.setdefault(one.op, []).append(f"{short} {one.declared or 'none'}")
    if by_op:
        said = "; ".join(f"{op}: {', '.join(parts)}" for op, parts in by_op.items())
        console.print(f"- rules that torch {item.declared[0].torch} itself lists: {said}", soft_wrap=True)


def _runtimes(item: Why, console: Console) -> None:
    """The same files on every runtime that has run them; what most of the others have in common first."""
    if not item.runtimes:
        return
    console.print("\nThe same files on other runtimes:")
    made = output.grid("runtime", "outcome", "mostly because")
    for line in item.runtimes:
        counts = ", ".join(f"{count} {status}" for status, count in line.counts.items())
        where = "" if line.provider == "cpu" else f" on {line.provider}"
        made.add_row(line.runtime + where, counts, next(iter(line.reasons), ""))
    console.print(made)


def _file(group: FailureGroup) -> str:
    """What the file was found to be, where that is not what was asked."""
    parts = [EXPORTER_SHORT.get(name, name) for name in group.exporters_effective if name != group.exporter]
    if group.opsets_effective and group.opsets_effective != group.opsets:
        parts.append(f"opset {versions.opset_text(group.opsets_effective)}")
    return " ".join(parts)


def _messages(texts: Sequence[tuple[int, str]], filters: str, console: Console) -> None:
    """The first few numbered texts, and how to see the others."""
    for number, text in texts[:_MOST_MESSAGES]:
        console.print(f"\n[{number}]")
        console.print(textwrap.indent(text.rstrip(), "    "), soft_wrap=True)
    if len(texts) > _MOST_MESSAGES:
        console.print(f"\n{len(texts) - _MOST_MESSAGES} more messages: narrow with {filters}.")


def _show_detail(detail: Detail, cells: int, console: Console) -> None:
    row = detail.row
    console.print()
    if cells > 1:
        opset = versions.opset_text([None if row["opset"] is None else int(row["opset"])])
        console.print(f"One of these {cells} cells: torch {row['torch']}, {row['exporter']}, opset {opset}")
    _numbers(row, console)
    if detail.told:
        labelled("beside", detail.told, console)
    if detail.checker:
        console.print("  onnx's checker")
        console.print(textwrap.indent(detail.checker.rstrip(), "    "), soft_wrap=True)
    if row.get("ops"):
        labelled("operators", str(row["ops"]), console)
    if detail.facts:
        labelled("facts", ", ".join(f"{name}={value}" for name, value in detail.facts.items()), console)
    installed = [f"{name} {detail.packages[name]}" for name in _PACKAGES if name in detail.packages]
    labelled("versions", f"Python {row.get('python')}, {', '.join(installed)}", console)
    if detail.platform:
        labelled("platform", detail.platform, console)
    if row.get("bundle"):
        console.print(f"  bundle      {row['bundle']}")
    if detail.warnings and cells == 1:
        console.print("  warnings")
        console.print(textwrap.indent(detail.warnings.rstrip(), "    "), soft_wrap=True)
    console.print("  repeat      ", end="")
    console.print(detail.repeat, soft_wrap=True)


def _numbers(row: dict[str, object], console: Console) -> None:
    if row.get("max_abs_error") is not None:
        console.print(
            f"  error       largest absolute {row['max_abs_error']:.3g}, relative {row['max_rel_error']:.3g}"
            f" (allowed: rtol {row['rtol']:g}, atol {row['atol']:g})"
        )
    if row.get("seconds_export") is not None:
        console.print(f"  export      {row['seconds_export']:.2f} s")


def _claims(item: Why, console: Console) -> None:
    if item.claims:
        console.print("\nClaims this bears on:")
    for claim in item.claims:
        sign = CLAIM[claim.outcome]
        console.print("  ", styled(f"{sign.sign} {claim.word}", sign), f"  {claim.claim} ({claim.source})", sep="")
        labelled("says", f"{claim.says} [{claim.versions}]", console, indent=4)
        labelled("measured", claim.reason, console, indent=4)


def show_history(item: History, console: Console) -> None:
    """Print one variant's stretches and the intervals between them."""
    from caniexport.answers.history import alike

    console.print(f"{item.entry.case}/{item.entry.variant}", style="bold")
    console.print(item.entry.title)
    if not item.lines:
        console.print("Not measured within these filters.\n")
        return
    lines = alike(item.lines)
    # opsets that no release takes are left out where others are
    lines = tuple(each for each in lines if each.line.stretches[0].status is not Status.UNSUPPORTED) or lines
    made = output.grid("exporter", "opset", item.along, "outcome", "at stage", "changed in", "by", "message")
    named = dict.fromkeys(stretch.message for each in lines for stretch in each.line.stretches)
    numbers = {message: number for number, message in enumerate((one for one in named if one is not None), 1)}
    for line in lines:
        _add(made, line, numbers)
    console.print(made)
    _notes(item, lines, console)
    texts = [(number, item.messages[message]) for message, number in numbers.items()]
    _messages(texts, "--exporter, --opset or --status", console)
    console.print()


def _add(made: Grid, each: Alike, numbers: dict[int, int]) -> None:
    provider = "" if each.line.provider in ("cpu", None) else f" on {each.line.provider}"
    place = EXPORTER_SHORT.get(each.line.exporter, each.line.exporter) + provider, versions.opset_text(each.opsets)
    for stretch in each.line.stretches:
        began = stretch.began
        made.add_row(
            *place,
            " to ".join(dict.fromkeys((stretch.torch[0], stretch.torch[-1]))) + "*" * stretch.local,
            output.marked(f"{STATUS[stretch.status].sign} {word(stretch.status)}", STATUS[stretch.status]),
            "" if stretch.stage == "done" else stretch.stage,
            f"({began.after}, {began.by}]" if began else "",
            began.axes if began else "",
            "" if stretch.message is None else f"[{numbers[stretch.message]}]",
        )
        place = "", ""


def _notes(item: History, lines: tuple[Alike, ...], console: Console) -> None:
    stretches = [stretch for each in lines for stretch in each.line.stretches]
    if any(len(each.opsets) > 1 for each in lines):
        console.print("- several opsets in one line: each from the first release on that takes it")
    if any(stretch.began for stretch in stretches):
        console.print("- (a, b]: last seen otherwise on a, first seen so on b")
        if item.along == "torch":
            console.print("- by torch: the release and the onnx beside it; by runtime: the onnxruntime beside it")
    silent = versions.ordered({name for each in lines for name in each.line.unmeasured})
    if silent:
        console.print(f"- not measured in some line, which widens its intervals: {', '.join(silent)}")
    if any(stretch.local for stretch in stretches):
        console.print("- *: measured on this machine, at least in part")
    for note in item.notes:
        console.print(f"- {note}")
