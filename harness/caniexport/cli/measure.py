"""``caniexport measure``: measure releases on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from caniexport import home as homes
from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.cli import extras, output
from caniexport.cli.merge import merge_deliveries, told
from caniexport.cli.options import (
    case_names,
    cells_options,
    corpus_option,
    disk_option,
    json_option,
    open_dataset,
    profile_option,
    release_names,
    releases_option,
    several,
    workers_option,
)
from caniexport.home import DOCUMENTED, NEWEST, Home
from caniexport.measure.shards import Shard, read_shard
from caniexport.model.made_cases import OPERATORS
from caniexport.profiles import EnvironmentProfile, find_profile, of_lock

if TYPE_CHECKING:
    from caniexport.measure.job import MeasureOptions, ReleaseReport


@click.command("measure")
@releases_option("A torch release, or all. Repeatable.")
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
@profile_option("What is installed beside torch.")
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
    help="The I-th of N parts of each release, cut by the seconds that its rows took; --merge puts them together.",
)
@click.option(
    "--on",
    metavar="ADDRESS",
    help="Measure on the workers of a Dask cluster: tcp://host:8786, or local:4 for four processes here.",
)
@click.option("--shards", type=click.IntRange(1, 99_999), help="With --on: parts of a release [default: by its time].")
@click.option(
    "--to",
    metavar="DIR|URL",
    help="Where rows of a shard go: a folder or fsspec URL that other machines reach. With --on: as they are finished.",
)
@click.option("--missing", is_flag=True, help="Measure only what the published dataset does not hold either.")
@click.option("--rolling", is_flag=True, help="Delete each environment after it has been measured.")
@disk_option("GB that environments and downloads may take, with --rolling.")
@click.option("--plan", is_flag=True, help="Only say how many cells would be measured.")
@click.option("--fresh", is_flag=True, help="Measure again what is there already.")
@click.option(
    "--repeat",
    type=click.IntRange(0),
    help="Cells of a whole release measured twice [default: 500]; with --merge: of each file, here [default: 0].",
)
@click.option("--merge", is_flag=True, help="Instead: bring in what other machines measured, from each DIR or URL.")
@click.option("--by", default="", metavar="TEXT", help="With --merge: who measured it, if not you; it is contributed.")
@click.option("--at", default="", metavar="TEXT", help="With --merge: where, in the contributor's words.")
@click.option("--matrix", is_flag=True, help="Print the jobs that measure the releases as JSON, for a workflow.")
@click.option("--hours", type=click.FloatRange(0.5, 5.5), default=1.0, show_default=True, help="Of a job of --matrix.")
@click.argument("places", nargs=-1, metavar="[DIR|URL]...")
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
    disk_budget: int,
    plan: bool,
    repeat: int | None,
    merge: bool,
    by: str,
    at: str,
    matrix: bool,
    hours: float,
    places: tuple[str, ...],
    strict: bool,
    profile: str,
    corpus: str,
    lock: Path | None,
    to: str | None,
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

    With --merge the gate judges all that has come of a release together: canaries, versions, A/A. Shards that have
    not come and cells without a row are named, and the exit code is then 1; so it is where the gate refuses a run.
    Files that say different things of one cell are refused. With --by rows are contributed: no answer counts them and
    `publish` leaves them out until --repeat has measured 50 of their cells (all, where there are fewer) here too and
    99% of these came out alike.
    """
    if merge or by or at or places:
        _merge(merge, places, repeat or 0, by, at, corpus, as_json)
        return
    if matrix:
        _print_matrix(releases, hours)
        return
    from caniexport.measure.cells import measure
    from caniexport.measure.deliveries import send_deliveries
    from caniexport.measure.describe import describe
    from caniexport.measure.job import MeasureOptions

    chosen = find_profile(profile)
    if lock is not None:
        releases, chosen = _locked(lock, releases, profile)
    home = homes.find().of_corpus(corpus).of(chosen.name)
    _check_asked(provider, asked["shard"], on, to, bool(runtimes), bool(cells_file or sample or held_back))
    asked |= {"home": home, "cases": case_names(home, cases)}
    if runtimes:
        _measure_replays(releases, runtimes, provider, as_json, asked)
        return
    cells = _cells(home, _releases(releases), cells_file, sample, seed, held_back)
    if corpus == OPERATORS:
        _list_operators(home, _releases(releases), asked["rolling"])
    options = MeasureOptions(
        releases=_releases(releases) or _releases_of(cells),
        cells=cells,
        apart=apart or held_back,
        provider=provider or "cpu",
        disk_budget=disk_budget,
        repeat=500 if repeat is None else repeat,
        plan=plan,
        profile=chosen,
        corpus=corpus,
        tables=corpus == DOCUMENTED,
        **asked,
    )
    if plan:
        reports = measure(options, say=lambda line: output.echo(line, err=as_json))
        output.report(reports, [f"{sum(report.planned for report in reports)} cells in all"], as_json)
        return
    extras.require("tox", "tox_uv")
    if on:
        _measure_on(options, on, to, shards, as_json)
        return
    # before, so that the dashboard has words for what comes; after, because claims are judged by it
    _check_budget(options)
    describe(home)
    reports = measure(options, output.say)
    describe(home)
    send_deliveries([Path(report.file) for report in reports if report.file], to)
    if sample or as_json or corpus != DOCUMENTED:
        output.report(reports, _moved(reports, len(cells)) if sample else _counted(reports), as_json)
    else:
        _show(home, reports, options)
    if _failed(reports) or (strict and any(report.problem for report in reports)):
        click.get_current_context().exit(1)


def _merge(merge: bool, places: Sequence[str], repeat: int, by: str, at: str, corpus: str, as_json: bool) -> None:
    if not merge:
        raise click.UsageError(f"{places[0] if places else '--by' if by else '--at'} goes with --merge")
    if not places:
        raise click.UsageError("--merge wants the folders or URLs with what `measure --shard` wrote")
    merge_deliveries(places, repeat, by, at, corpus, as_json=as_json)


def _print_matrix(names: Sequence[str], hours: float) -> None:
    """Print the jobs of a matrix of GitHub Actions; the newest release where none is named."""
    from caniexport.measure.workflow import matrix
    from caniexport.model import releases

    home, table = homes.find(), releases.table()
    every = {"all": table, "newest": table[-1:]}
    chosen = [item for name in names or ("newest",) for item in every.get(name) or (releases.find(name),)]
    # one line: a step's output has no others
    output.echo(json.dumps(matrix(dict.fromkeys(chosen), home.read_cases(), open_dataset(home), hours)))


def _cells(
    home: Home, releases: tuple[str, ...], file: TextIO | None, sample: int | None, seed: int, held_back: bool
) -> frozenset[str]:
    """The cells that are asked for by name; none where releases are."""
    if held_back:
        return _held_back(home, releases)
    if sample:
        return _sample(home, releases, sample, seed)
    return cell_names(home, file) if file is not None else frozenset()


def _check_asked(
    provider: str, shard: Shard | None, on: str | None, to: str | None, replays: bool, cells: bool
) -> None:
    if to and not (shard or on):
        raise click.UsageError("--to is where the rows of a shard go: with --shard, or with --on")
    if shard and on:
        raise click.UsageError("--on cuts releases itself: --shards says into how many parts, instead of --shard")
    if (shard or on) and (replays or cells):
        raise click.UsageError("a shard is part of a release's plan: without --runtime, --cells, --sample, --held-back")
    if not replays and provider not in ("", "cpu", "cuda"):
        raise click.UsageError(f"torch is measured on cpu or cuda, not on {provider}: that is a provider of --runtime")


def _measure_on(options: MeasureOptions, address: str, place: str | None, shards: int | None, as_json: bool) -> None:
    """What the workers of a cluster measure, a process each unless more are asked for."""
    from click.core import ParameterSource

    from caniexport.measure.cluster import measure_on
    from caniexport.measure.describe import describe

    context = click.get_current_context()
    if options.rolling or options.apart:
        raise click.UsageError("--on is without --rolling and --apart: an environment is shared by its shards")
    if context.get_parameter_source("workers") is ParameterSource.DEFAULT:
        options = replace(options, workers=1)
    report = measure_on(options, address, place, shards, output.say)
    describe(options.home)
    lines = [line for release in report.releases for line in told(release)]
    output.report(report, [*lines, *(f"{name} failed: {why}" for name, why in report.failed.items())], as_json)
    if not report.complete:
        context.exit(1)


def _check_budget(options: MeasureOptions) -> None:
    """Raises :class:`~caniexport.machine.disk.BudgetTooSmallError` at once, not after the claims have been judged."""
    if options.rolling:
        options.budget.check()


def _locked(lock: Path, releases: tuple[str, ...], profile: str) -> tuple[tuple[str, ...], EnvironmentProfile]:
    """The release and the profile of a lock file, which are told."""
    from caniexport.locks import read_lock
    from caniexport.model.errors import UnknownName

    if profile != NEWEST or len(releases) > 1:
        raise click.UsageError("--lock names the packages: without --profile, and with one --release at most")
    found = read_lock(lock, *releases)
    if not found.pins:
        raise UnknownName(f"{found.text}: it names nothing beside torch, which --release measures")
    chosen = of_lock(found.pins, found.python)
    for line in (found.text, *found.notes, f"measured as profile {chosen.name}"):
        output.echo(line, err=True)
    return (found.packages["torch"],), chosen


def _failed(reports: Sequence[ReleaseReport]) -> bool:
    """Whether something went wrong: a Python that this machine lacks is no fault while another release has rows."""
    problems = [report for report in reports if report.problem]
    return any(not report.lacks for report in problems) or bool(problems and len(problems) == len(reports))


def _measure_replays(
    releases: Sequence[str], runtimes: Sequence[str], provider: str, as_json: bool, asked: Mapping[str, Any]
) -> None:
    """Bundles on further releases of a runtime."""
    from caniexport.bundles import runtime_releases
    from caniexport.cli.bundles import show_reports
    from caniexport.measure.job import ReplayOptions
    from caniexport.measure.replays import measure_replays

    chosen = runtime_releases.chosen(runtimes, provider)
    torch = release_names(open_dataset(asked["home"]), releases)
    options = ReplayOptions(runtimes=chosen, torch=torch, provider=provider, **asked)
    show_reports(measure_replays(options, output.say), as_json)


def _releases(asked: tuple[str, ...]) -> tuple[str, ...]:
    """The releases as the table of releases has them; raises :class:`UnknownName`."""
    from caniexport.model import releases

    return ("all",) if "all" in asked else tuple(releases.find(text).torch for text in asked)


def _releases_of(cells: frozenset[str]) -> tuple[str, ...]:
    from caniexport.model import releases

    named = {name.partition("/")[0] for name in cells}
    return tuple(item.torch for item in releases.table() if item.torch in named)


def _held_back(home: Home, asked: tuple[str, ...]) -> frozenset[str]:
    """The cells that publish holds back and that a measurement apart can settle; where there is none, that is all."""
    from caniexport.gate.held_back import cells_to_settle

    found = cells_to_settle(home.published, home.local)
    wanted = set(asked) - {"all"}
    cells = frozenset(name for name in found if not wanted or name.partition("/")[0] in wanted)
    if not cells:
        output.echo("nothing is held back", err=True)
        click.get_current_context().exit(0)
    return cells


def _sample(home: Home, asked: tuple[str, ...], count: int, seed: int) -> frozenset[str]:
    """Names of published cells drawn by a seed, of the releases asked for or of all."""
    from caniexport.audit.sample import draw, published
    from caniexport.model import releases
    from caniexport.store import Dataset

    dataset, cases = Dataset.open(home.published, None), home.read_cases()
    wanted = set(asked) - {"all"} or {item.torch for item in releases.table()}
    known = [cell for release in sorted(wanted) for cell in published(dataset, release, cases)]
    return frozenset(cell.name for cell in draw(known, count, seed))


def _moved(reports: Sequence[ReleaseReport], count: int) -> list[str]:
    moved = [f"  {name}" for report in reports for name in report.moved]
    return [f"{count} published cells were measured again: {len(moved) or 'none'} came out otherwise", *moved]


def cell_names(home: Home, lines: Iterable[str]) -> frozenset[str]:
    """The cells that a file names; raises :class:`UnknownName` for a release, case or variant that nobody knows."""
    from caniexport.answers.select import require_exporter
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


def _counted(reports: Sequence[ReleaseReport]) -> list[str]:
    return [f"torch {report.torch}: {report.measured} rows in {report.seconds:.0f} s" for report in reports]


def _list_operators(home: Home, releases: tuple[str, ...], rolling: bool) -> None:
    """The operators of releases that the table of operators lacks: without them nothing of a release is planned."""
    from caniexport.measure.list_operators import list_operators
    from caniexport.model.releases import DEFAULT_RELEASES

    list_operators(home, releases or DEFAULT_RELEASES, output.say, rolling=rolling)


def _has_nothing_new(report: ReleaseReport) -> bool:
    return bool(report.problem) and not report.measured


def _show(home: Home, reports: Sequence[ReleaseReport], options: MeasureOptions) -> None:
    """What was measured: the table of what was asked for, on the releases that have rows."""
    from caniexport.answers.reading import load
    from caniexport.answers.table import table
    from caniexport.render.terminal import show

    dataset = open_dataset(home)
    # cells that a file names have no ``cases`` among the options
    shown = options.cases or tuple(sorted({name.split("/")[1] for name in options.cells}))
    known = home.read_cases() if shown else {}
    rows = load(dataset)
    releases = tuple(report.torch for report in reports if report.torch in rows.torch)
    opsets = tuple(str(opset) for opset in options.opsets if opset in rows.opsets)
    if missing := [report.torch for report in reports if report.torch in releases and _has_nothing_new(report)]:
        output.echo(f"Nothing was measured now of torch {', '.join(missing)}: the table has its earlier rows.")
    if shown and all(known[name.partition("/")[0]].is_environment for name in shown):
        show(table(dataset, Filters(cases=shown)), output.console())
    elif releases:
        asked = Filters(shown, exporters=options.exporters, torch=releases, opsets=opsets)
        show(table(dataset, asked), output.console())
