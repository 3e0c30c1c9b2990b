"""``caniexport measure``: measure releases on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from caniexport import home as homes
from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.cli import extras, output
from caniexport.cli.options import (
    cells_options,
    corpus_option,
    expand_cases,
    expand_releases,
    json_option,
    open_dataset,
    profile_option,
    refuse_unused,
    releases_option,
    several,
    workers_option,
)
from caniexport.home import DOCUMENTED, NEWEST, Home
from caniexport.measure.shards import read_shard
from caniexport.model.made_cases import OPERATORS
from caniexport.profiles import EnvironmentProfile, find_profile, of_lock

if TYPE_CHECKING:
    from caniexport.measure.job import MeasureOptions, ReleaseReport
    from caniexport.model.releases import Release


@click.command("measure")
@releases_option("A torch release, newest, or all. Repeatable.")
@several("--case", "cases", metavar="CASE[/VARIANT]", text="Only this case or variant; globs work.")
@cells_options
@click.option(
    "--cells",
    "cells_file",
    type=click.File(encoding="utf-8", errors="replace"),
    metavar="FILE",
    help="Only the cells named in a file, one torch/case/variant/exporter/opset a line, also if measured before.",
)
@click.option("--held-back", is_flag=True, help="Only the cells that publish holds back, each apart and twice.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="N published cells again, drawn from every status, release and exporter: did the measuring code change one?",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What --sample draws by.")
@click.option("--apart", is_flag=True, help="Each cell in a process of its own, twice; where they differ: unstable.")
@several(
    "--runtime",
    "runtimes",
    metavar="NAME[==VERSION]",
    text="Run bundles of this machine on a runtime instead: onnxruntime==1.14.1, ort1.14, onnxruntime (all).",
)
@click.option(
    "--provider", default="", metavar="NAME", help="cpu (the default) or cuda; with --runtime any that it has."
)
@workers_option("Processes side by side [default: one a core].")
@click.option("--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds for a cell.")
@profile_option("Versions of the companion packages:")
@corpus_option("What is measured.")
@click.option(
    "--lock",
    type=click.Path(path_type=Path),
    help="Measure exactly what a lock file installs, as a profile of its own: uv.lock, requirements.txt, ...",
)
@click.option(
    "--shard",
    metavar="I/N",
    default=None,
    callback=lambda _, __, text: read_shard(text) if text else None,
    help="The I-th of N parts of each release; --merge puts the results-local of all machines together.",
)
@click.option(
    "--on",
    metavar="ADDRESS",
    help="Measure on the workers of a Dask cluster: tcp://host:8786, or local:4 for four processes here.",
)
@click.option("--shards", type=click.IntRange(1, 99_999), help="With --on: parts of a release [default: by its cells].")
@click.option("--missing", is_flag=True, help="Measure only what the published dataset does not hold either.")
@click.option("--rolling", is_flag=True, help="Delete each environment and its downloads after it has been measured.")
@click.option("--plan", is_flag=True, help="Only say how many cells would be measured.")
@click.option("--fresh", is_flag=True, help="Measure again what is there already.")
@click.option(
    "--repeat",
    type=click.IntRange(0),
    default=500,
    show_default=True,
    help="Cells measured twice where a whole release is measured.",
)
@click.option("--merge", is_flag=True, help="Instead: bring in what other machines measured: their results-local.")
@click.option("--by", default="", metavar="TEXT", help="With --merge: who measured it, if not you; the rows name them.")
@click.option(
    "--at", default="", metavar="TEXT", help="With --merge: where the contributor measured: a board, a CI job."
)
@click.argument("folders", nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--strict", is_flag=True, help="Exit 1 for every release that was not measured, whatever the reason.")
@json_option
def command(
    releases: tuple[str, ...],
    cases: tuple[str, ...],
    cells_file: TextIO | None,
    sample: int | None,
    seed: int,
    held_back: bool,
    apart: bool,
    runtimes: tuple[str, ...],
    provider: str,
    plan: bool,
    repeat: int,
    merge: bool,
    by: str,
    at: str,
    folders: tuple[Path, ...],
    strict: bool,
    profile: str,
    corpus: str,
    lock: Path | None,
    on: str | None,
    shards: int | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Make the environments of torch releases and measure what is new in each.

    Without --release it measures one release for each era of torch's exporters. An interrupted run continues where
    it stopped. A release that cannot be measured here is named and does not stop the others; the exit code is then
    1, but 0 where all that is lacking is its Python and another release was measured. A second measurement of a
    release into the same folder waits for the first. With --runtime nothing is exported: the bundles that earlier
    measurements left on this machine are run by other releases of a runtime, each once.

    With --merge the gate judges each machine's rows as it judges those of this one. Cells of a release measured in
    shards that have no row yet are named, and the exit code is then 1; so it is where the gate refuses a run.
    """
    if merge:
        _merge(folders, by, at, corpus, as_json)
        return
    refuse_unused({str(folders[0]) if folders else "": bool(folders), "--by": bool(by), "--at": bool(at)}, "--merge")
    from caniexport.measure.cells import measure
    from caniexport.measure.job import MeasureOptions
    from caniexport.measure.list_operators import list_operators
    from caniexport.model.releases import DEFAULT_RELEASES, read_table

    chosen, wanted = find_profile(profile), _releases(releases)
    if lock is not None:
        wanted, chosen = _locked(lock, releases, profile)
    home = homes.find().of_corpus(corpus).of(chosen.name)
    _refuse_conflicts(provider, bool(asked["shard"]), bool(on), bool(runtimes), bool(cells_file or sample or held_back))
    asked |= {"home": home, "cases": expand_cases(home, cases)}
    if runtimes:
        if plan:
            raise click.UsageError("--plan counts cells of torch releases: leave it out, or leave out --runtime")
        _measure_replays(releases, runtimes, provider, as_json, asked)
        return
    cells = _asked_cells(home, wanted, cells_file, sample, seed, held_back)
    if corpus == OPERATORS:  # without the table of operators nothing of a release is planned
        list_operators(home, wanted or _releases(DEFAULT_RELEASES), output.say, rolling=asked["rolling"])
    named = {name.partition("/")[0] for name in cells}
    options = MeasureOptions(
        releases=wanted or tuple(item for item in read_table() if item.torch in named),
        cells=cells,
        apart=apart or held_back,
        provider=provider or "cpu",
        repeat=repeat,
        plan=plan,
        profile=chosen,
        corpus=corpus,
        **asked,
    )
    if plan:
        reports = measure(options, say=lambda line: output.echo(line, err=as_json))
        output.report(reports, [f"{sum(report.planned for report in reports)} cells in all"], as_json)
        return
    extras.require("tox", "tox_uv")
    if on:
        _measure_on(options, on, shards, as_json)
        return
    reports = measure(options, output.say)
    if sample or as_json or corpus != DOCUMENTED:
        counted = [f"torch {report.torch}: {report.measured} rows in {report.seconds:.0f} s" for report in reports]
        moved = [f"  {name}" for report in reports for name in report.moved]
        again = f"{len(cells)} published cells were measured again: {len(moved) or 'none'} came out otherwise"
        output.report(reports, [again, *moved] if sample else counted, as_json)
    else:
        _show(home, reports, options)
    if _failed(reports, strict):
        click.get_current_context().exit(1)


def _refuse_conflicts(provider: str, shard: bool, on: bool, replays: bool, cells: bool) -> None:
    if shard and on:
        raise click.UsageError("--on cuts releases itself: --shards says into how many parts, instead of --shard")
    if (shard or on) and (replays or cells):
        raise click.UsageError("a shard is part of a release's plan: without --runtime, --cells, --sample, --held-back")
    if not replays and provider not in ("", "cpu", "cuda"):
        raise click.UsageError(f"torch is measured on cpu or cuda, not on {provider}: that is a provider of --runtime")


def _asked_cells(
    home: Home, wanted: Sequence[Release], file: TextIO | None, sample: int | None, seed: int, held_back: bool
) -> frozenset[str]:
    """The cells that are asked for by name; none where releases are."""
    if held_back:
        return _held_back(home, wanted)
    if sample:
        return _sample(home, wanted, sample, seed)
    return _read_cell_names(home, file) if file is not None else frozenset()


def _failed(reports: Sequence[ReleaseReport], strict: bool) -> bool:
    """Whether something went wrong: a Python that this machine lacks is no fault while another release has rows."""
    problems = [report for report in reports if report.problem]
    return bool(problems) and (strict or len(problems) == len(reports) or any(not report.lacks for report in problems))


def _merge(folders: Sequence[Path], by: str, at: str, corpus: str, as_json: bool) -> None:
    """Rows that other machines measured."""
    from caniexport.cli.bundles import show_reports
    from caniexport.measure.merge import Contributor, merge

    refuse_unused({"--at": bool(at and not by)}, "--by")
    if not folders:
        raise click.UsageError("--merge wants the folders that other machines measured into: their results-local")
    whose = Contributor(by, at) if by else None
    reports, problems = merge(folders, homes.find().of_corpus(corpus), whose)
    for problem in problems:
        output.say(f"caniexport: warning: {problem}")
    show_reports(reports, as_json)


def _measure_on(options: MeasureOptions, address: str, shards: int | None, as_json: bool) -> None:
    """What the workers of a cluster measure, a process each unless more are asked for."""
    from caniexport.cli.bundles import report_lines
    from caniexport.measure.cluster import measure_on

    context = click.get_current_context()
    if options.rolling or options.apart:
        raise click.UsageError("--on is without --rolling and --apart: an environment is shared by its shards")
    if context.get_parameter_source("workers") is ParameterSource.DEFAULT:
        options = replace(options, workers=1)
    reports, failed = measure_on(options, address, shards, output.say)
    lines = [*report_lines(reports), *(f"{name} failed: {why}" for name, why in failed.items())]
    output.report({"releases": reports, "failed": failed}, lines, as_json)
    if failed or any(report.problem or report.missing for report in reports):
        context.exit(1)


def _locked(lock: Path, releases: tuple[str, ...], profile: str) -> tuple[tuple[Release, ...], EnvironmentProfile]:
    """Read the release and the profile of a lock file, and print them."""
    from caniexport.locks import read_lock
    from caniexport.model.errors import UnknownName

    if profile != NEWEST or len(releases) > 1:
        raise click.UsageError("--lock names the packages: without --profile, and with one --release at most")
    found = read_lock(lock, *releases)
    if not found.pins:
        raise UnknownName(f"{found.text}: it pins nothing but torch: use --release")
    chosen = of_lock(found.pins, found.python)
    for line in (found.text, *found.notes, f"measured as profile {chosen.name}"):
        output.echo(line, err=True)
    return _releases((found.packages["torch"],)), chosen


def _measure_replays(
    releases: Sequence[str], runtimes: Sequence[str], provider: str, as_json: bool, asked: Mapping[str, Any]
) -> None:
    """Bundles on further releases of a runtime."""
    from caniexport import runtime_releases
    from caniexport.cli.bundles import show_reports
    from caniexport.measure.job import ReplayOptions
    from caniexport.measure.replays import measure_replays

    chosen = runtime_releases.choose_releases(runtimes, provider)
    torch = expand_releases(open_dataset(asked["home"]), releases)
    options = ReplayOptions(runtimes=chosen, torch=torch, provider=provider, **asked)
    show_reports(measure_replays(options, output.say), as_json)


def _releases(asked: Sequence[str]) -> tuple[Release, ...]:
    """The releases as the table of releases has them; raises :class:`UnknownName`."""
    from caniexport.model import releases

    table = releases.read_table()
    if "all" in asked:
        return table
    return tuple(dict.fromkeys(table[-1] if text == "newest" else releases.find(text) for text in asked))


def _held_back(home: Home, asked: Sequence[Release]) -> frozenset[str]:
    """The cells that publish holds back and that a measurement apart can settle; where there is none, that is all."""
    from caniexport.gate.held_back import cells_to_settle

    wanted = {release.torch for release in asked}
    found = cells_to_settle(home.published, home.local)
    cells = frozenset(name for name in found if not wanted or name.partition("/")[0] in wanted)
    if not cells:
        output.echo("nothing is held back", err=True)
        click.get_current_context().exit(0)
    return cells


def _sample(home: Home, asked: Sequence[Release], count: int, seed: int) -> frozenset[str]:
    """Names of published cells drawn by a seed, of the releases asked for or of all."""
    from caniexport.audit.sample import draw_sample, read_published
    from caniexport.model import releases
    from caniexport.store import Dataset

    dataset, cases = Dataset.open(home.published, None), home.read_cases()
    wanted = {release.torch for release in asked or releases.read_table()}
    known = [cell for release in sorted(wanted) for cell in read_published(dataset, release, cases)]
    return frozenset(cell.name for cell in draw_sample(known, count, seed))


def _read_cell_names(home: Home, lines: Iterable[str]) -> frozenset[str]:
    """The cells that a file names; raises :class:`UnknownName` for a release, case or variant that nobody knows."""
    from caniexport.answers.filters import require_exporter
    from caniexport.model import releases

    known = home.read_cases()
    found = set()
    for number, line in enumerate(filter(None, map(str.strip, lines)), start=1):
        parts = line.split("/")
        if len(parts) != 5:
            raise click.UsageError(f"line {number}: {line!r} is no torch/case/variant/exporter/opset")
        torch, case, variant, exporter, opset = parts
        names.require("case", case, known)
        names.require(f"variant of {case}", variant, known[case].variants)
        found.add("/".join((releases.find(torch).torch, case, variant, require_exporter(exporter), opset)))
    if not found:
        raise click.UsageError("the file names no cell")
    return frozenset(found)


def _show(home: Home, reports: Sequence[ReleaseReport], options: MeasureOptions) -> None:
    """What was measured: the table of what was asked for, on the releases that have rows."""
    from caniexport.answers.inventory import Inventory
    from caniexport.answers.table import answer_table
    from caniexport.render.terminal import print_answer

    dataset = open_dataset(home)
    # cells that a file names have no ``cases`` among the options
    shown = options.cases or tuple(sorted({name.split("/")[1] for name in options.cells}))
    known = home.read_cases() if shown else {}
    found = Inventory.of(dataset)
    releases = tuple(report.torch for report in reports if report.torch in found.torch)
    opsets = tuple(str(opset) for opset in options.opsets if opset in found.opsets)
    lacking = [item.torch for item in reports if item.torch in releases and item.problem and not item.measured]
    if lacking:
        output.echo(f"Nothing was measured now of torch {', '.join(lacking)}: the table has its earlier rows.")
    if shown and all(known[name.partition("/")[0]].is_environment for name in shown):
        asked = Filters(cases=shown)
    elif releases:
        asked = Filters(shown, exporters=options.exporters, torch=releases, opsets=opsets)
    else:
        return
    print_answer(answer_table(dataset, asked), output.console(), rest="caniexport table --all")
