"""``caniexport workaround``: is this fix still needed, and since when not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.answers.signs import EXPORTER_SHORT, NOT_MEASURED, WORKAROUND, word
from caniexport.cli import output
from caniexport.cli.options import (
    filter_options,
    install_options,
    json_option,
    leave_setting,
    open_for,
    read_install,
    with_named,
)
from caniexport.cli.output import grid, legend, marked, say_local, styled
from caniexport.cli.project import is_setting
from caniexport.names import some

if TYPE_CHECKING:
    from caniexport.answers.rows import MeasuredCell
    from caniexport.answers.standings import Standing, Workarounds
    from caniexport.cli.output import Console
    from caniexport.locks import LockedInstall

_WORDS = ("needed", "obsolete", "broken", "harmful", "unknown")


@click.command("workaround")
@click.argument("case", metavar="[CASE[/FIX], OP or FIX]", required=False)
@filter_options("workaround", "case")
@click.option(
    "--fail-on",
    type=click.Choice(_WORDS),
    multiple=True,
    help="Exit 1 where a fix is one of these; repeatable: --fail-on obsolete.",
)
@click.option(
    "--scan",
    "tree",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Find version gates, export rules and copied workarounds in this source tree.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="With --scan: text, annotations of a pull request, or SARIF for code scanning.",
)
@click.option("--all", "everything", is_flag=True, help="With --scan: also list the branches that are not judged.")
@install_options("Answer for what you have installed")
@json_option
def command(
    case: str | None,
    fail_on: tuple[str, ...],
    tree: Path | None,
    form: str,
    everything: bool,
    lock: Path | None,
    here: bool,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Say of each fix whether it is needed, obsolete, broken, harmful or unknown, and since which version.

    The point is the newest measured torch and each release's own default opset unless --torch and --opset name
    another. --status takes these names.

    With --scan the releases are those that the project's own files ask for, or --torch, --exporter and --opset.
    """
    from caniexport.answers.decide_fixes import decide_workarounds
    from caniexport.answers.standings import workarounds

    install = read_install(lock, here, given["torch"])
    if tree is not None:
        _scan(tree, case, fail_on, "json" if as_json else form, given, install, everything=everything)
        return
    if form not in ("text", "json"):
        raise click.UsageError(f"--format {form} is for --scan")
    if everything:
        raise click.UsageError("--all is for --scan")
    dataset, given = open_for(install, given)
    filters = read_filters("workaround", with_named(dataset, case, given, fixes=True))
    found = workarounds(dataset, filters)
    decision = decide_workarounds(found)
    output.answer(found, partial(show, evidence=bool(filters.cases), decision=decision), as_json or form == "json")
    # a fix that is known to be wrong is counted where nothing else was asked for
    if any(item.word.value in fail_on for item in found.standings or found.cautions):
        click.get_current_context().exit(1)


def _scan(
    tree: Path,
    case: str | None,
    fail_on: tuple[str, ...],
    form: str,
    given: dict[str, tuple[str, ...]],
    install: LockedInstall | None,
    *,
    everything: bool,
) -> None:
    from caniexport.cli.scanned import show_scan
    from caniexport.scan import formats
    from caniexport.scan.scan import scan

    # the project that is scanned has settings of its own
    given = {name: () if is_setting(click.get_current_context(), name) else values for name, values in given.items()}
    leave_setting(*given)
    others = [name for name, values in given.items() if values and name not in ("torch", "exporter", "opset")]
    if case or others:
        raise click.UsageError("--scan takes --torch, --exporter, --opset and --fail-on, and no case or other filter")
    if len(given["exporter"]) > 1 or len(given["opset"]) > 1:
        raise click.UsageError("--scan takes one exporter and one opset")
    opset = given["opset"][0] if given["opset"] else None
    if opset is not None and not opset.isdigit():
        raise click.UsageError(f"--opset {opset}: with --scan a number is wanted")
    exporter = given["exporter"][0] if given["exporter"] else None
    dataset, given = open_for(install, given)
    found = scan(dataset, tree, given["torch"], exporter, int(opset) if opset else None)
    if form in ("github", "sarif"):
        output.echo({"github": formats.github, "sarif": formats.sarif}[form](found), nl=False)
    else:
        output.answer(found, partial(show_scan, everything=everything), form == "json")
    stopping = [item for item in found.findings if item.is_measured and item.word.value in fail_on]
    if stopping:
        told = [f"{item.site.path}:{item.site.line} ({item.word.value})" for item in stopping]
        output.echo(f"Exit 1, by --fail-on: {some(told, 6)}", err=True)
        click.get_current_context().exit(1)


def show(found: Workarounds, console: Console, *, evidence: bool, decision: str) -> None:
    """Print the words as a table of fixes by exporters, or with sentences and evidence for one case, below the sentence
    that answers.
    """
    if not found.standings and not found.cautions:
        console.print("No fix within these filters has been measured.")
    elif decision:
        console.print(f"{decision}\n", style="bold", soft_wrap=True)
    for heading, standings in (("", found.standings), ("Known to be wrong or partial:", found.cautions)):
        if standings and heading:
            console.print(heading)
        if evidence:
            _sentences(standings, console)
            continue
        released = [item for item in standings if item.torch]
        beside = [item for item in standings if not item.torch]
        for title, items in (("", released), ("Environments:", beside)):
            if items:
                _overview(title, items, console)
    _count(found, console)
    console.print(legend(((word.value, sign) for word, sign in WORKAROUND.items()), console.width))
    say_local([cell.local for item in found.standings for cell in (item.plain, item.fix) if cell], console)
    for note in found.notes:
        console.print(f"- {note}")


def _count(found: Workarounds, console: Console) -> None:
    """How many are of each word; those that are known to be wrong apart."""
    if found.standings:
        counts = Counter(item.word for item in found.standings)
        console.print("; ".join(f"{counts[word]} {word.value}" for word in WORKAROUND))
    if found.cautions:
        counts = Counter(item.word for item in found.cautions)
        told = "; ".join(f"{counts[word]} {word.value}" for word in WORKAROUND if counts[word])
        console.print(f"Of those known to be wrong or partial: {told}")


def _overview(title: str, standings: Sequence[Standing], console: Console) -> None:
    if title:
        console.print(title)
    exporters = [name for name in EXPORTER_SHORT if any(item.exporter == name for item in standings)]
    made = grid("case / fix", "kind", *(EXPORTER_SHORT[name] for name in exporters))
    several = len({item.provider for item in standings}) > 1
    lines: dict[tuple[str, str, str], dict[str, Standing]] = {}
    for item in standings:
        lines.setdefault((item.case, item.variant, item.provider or ""), {})[item.exporter] = item
    before = ""
    for (case, variant, provider), by_exporter in lines.items():
        if case != before:
            made.add_row(case)
        before = case
        words = []
        for name in exporters:
            word = by_exporter[name].word if name in by_exporter else None
            words.append(marked(f"{WORKAROUND[word].sign} {word.value}", WORKAROUND[word]) if word else NOT_MEASURED)
        kind = next(iter(by_exporter.values())).kind
        other = " (other values)" * bool(next(iter(by_exporter.values())).changed)
        made.add_row(f"  {variant}{other}" + f" ({provider})" * several, kind, *words)
    console.print(made)
    console.print()


def _sentences(standings: Sequence[Standing], console: Console) -> None:
    from rich.text import Text

    for (case, variant), found in groupby(standings, key=lambda item: (item.case, item.variant)):
        items = list(found)
        first = items[0]
        proposal = "" if first.documented else " (our own proposal: no source states it)"
        console.print(Text(f"{case}/{variant}", style="bold"), f"  {first.kind}: {first.note}{proposal}", sep="")
        for same in _merged(items):
            _sentence(same, console)
        console.print()


def _merged(standings: Sequence[Standing]) -> list[list[Standing]]:
    """Exporters of which the same is said, together."""
    found: dict[tuple[str, ...], list[Standing]] = {}
    for item in standings:
        key = (item.word.value, item.statement, _point(item), _evidence(item), item.provider or "")
        found.setdefault(key, []).append(item)
    return list(found.values())


def _sentence(same: Sequence[Standing], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    item = same[0]
    sign = WORKAROUND[item.word]
    provider = "" if item.provider in ("cpu", None) else f" on {item.provider}"
    where = ", ".join(EXPORTER_SHORT.get(one.exporter, one.exporter) for one in same) + provider
    line = Text("  ").append_text(styled(f"{sign.sign} ", sign)).append(f"{where}: " if item.torch else "")
    line.append(item.statement)
    console.print(line)
    console.print(Padding(Text(f"{_point(item)}: {_evidence(item)}", style="dim"), (0, 0, 0, 6)))


def _point(item: Standing) -> str:
    opset = "its own default opset" if item.opset is None else f"opset {item.opset}"
    return f"torch {item.torch}, {opset}" if item.torch else item.opset_why


def _evidence(item: Standing) -> str:
    return f"plain {_cell(item.plain, item)}; fix {_cell(item.fix, item)}"


def _cell(cell: MeasuredCell | None, item: Standing) -> str:
    from caniexport.answers.rows import told

    if cell is None:
        return "not measured"
    stage = "" if cell.works or cell.unstable else f" at {cell.stage}"
    elsewhere = f" (plain on torch {cell.torch})" if cell.torch != item.torch else ""
    beside = f" ({told(cell)})" if cell.unstable or (cell.works and cell.refused) else ""
    return f"{word(cell.status)}{stage}{elsewhere}{beside}"
