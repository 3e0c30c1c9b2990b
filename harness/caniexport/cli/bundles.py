"""``caniexport bundles``: exported files that travel, and the rows that come back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport import home
from caniexport.cli import WholeSentences
from caniexport.cli import output as out
from caniexport.cli.options import (
    expand_cases,
    expand_releases,
    json_option,
    open_dataset,
    parse_exporters,
    parse_opsets,
    releases_option,
    several,
    workers_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from caniexport.bundles.pack import PackReport
    from caniexport.measure.job import RunReport

#: cells without a row that a line shows
_SHOWN = 6


@click.group("bundles", cls=WholeSentences)
def command() -> None:
    """Carry exported files with their inputs and outputs to any runtime, on any machine.

    `pack` writes one archive that needs Python, numpy and the runtime alone: `python bundles.zip --runtime
    onnxruntime -o rows` there, then `caniexport bundles merge rows --ours` here.
    """


@command.command("pack")
@releases_option("Bundles of this torch release, or all.")
@several("--case", "cases", metavar="CASE[/VARIANT]", text="Only of this case; globs work.")
@several("--exporter", "exporters", metavar="NAME", text="trace, script, dynamo, default.", read=parse_exporters)
@several("--opset", "opsets", metavar="N", text="Only of these opsets: 14, 9-14.", read=parse_opsets)
@click.option("--corpus", type=click.Choice(["onnx-node"]), help="ONNX's own node tests instead.")
@click.option("--onnx", default="1.23.2", show_default=True, metavar="VERSION", help="A release of onnx, or weekly.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE")
@json_option
def pack(
    releases: tuple[str, ...],
    cases: tuple[str, ...],
    exporters: tuple[str, ...],
    opsets: tuple[int, ...],
    corpus: str | None,
    onnx: str,
    output: Path,
    as_json: bool,
) -> None:
    """Write the bundles of releases and cases, with what runs them, into one archive.

    Only bundles that were made on this machine can be packed: `caniexport measure` keeps them in results-local.
    With --corpus onnx-node, the tests of every operator that onnx brings, made by that release of onnx.
    """
    if corpus:
        if releases or cases or exporters or opsets:
            raise click.UsageError(
                "--corpus onnx-node has no torch releases and no cases of ours: leave those filters out"
            )
        from caniexport.bundles import node_tests

        made = node_tests.pack_node_tests(output, onnx)
        out.report(made, _packed(made, f"of onnx {onnx}"), as_json)
        return
    from caniexport.bundles import pack as bundles
    from caniexport.measure.replays import describe_missing, select_bundles

    place = home.find()
    dataset = open_dataset(place)
    torch = expand_releases(dataset, releases)
    wanted = select_bundles(dataset, place, torch, expand_cases(place, cases), exporters, opsets)
    report = bundles.pack_bundles(output, wanted, place.local / "bundles")
    missing = [describe_missing(report.missing).removeprefix("; ")] if report.missing else []
    out.report(report, _packed(report, f"for {report.cells} cells", missing), as_json)


def _packed(report: PackReport, of: str, more: Sequence[str] = ()) -> list[str]:
    first = f"{report.file}: {report.bundles} bundles {of}, {report.size / 1e6:.1f} MB"
    return [first, *more, f"anywhere: python {report.file.name} --runtime onnxruntime --provider cpu -o rows"]


@command.command("run")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--runtime", required=True, metavar="NAME[==VERSION]", help="onnxruntime, onnxruntime==1.14.1, ort1.14.")
@click.option("--provider", default="", metavar="NAME", help="Execution provider [default: the runtime's first].")
@click.option("--python", default="", metavar="PATH", help="Where no version is named: the Python with the runtime.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="For the rows.")
@workers_option("Processes side by side.", 1)
@click.option("--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds for a bundle.")
@json_option
def run(
    file: Path,
    runtime: str,
    provider: str,
    python: str,
    output: Path | None,
    workers: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Run an archive's bundles on a runtime and write a row for each.

    With a version, its environment is made first. Without, the runtime is the one that the Python at hand has, or
    that of --python. Rows go into the local dataset, or into DIR: `bundles merge DIR --ours` brings them in.
    """
    from caniexport import runtime_releases
    from caniexport.measure.job import ReplayOptions
    from caniexport.measure.merge import Contributor, merge
    from caniexport.measure.replays import measure_replays, run_here
    from caniexport.runner.archive import Archive

    Archive(file)
    place = home.find()
    versioned = "==" in runtime or runtime[-1:].isdigit()
    found = runtime_releases.choose_releases([runtime], provider) if versioned else ()
    if found:
        options = ReplayOptions(
            home=place,
            runtimes=found,
            provider=provider,
            workers=workers,
            timeout=timeout,
            fresh=True,
            archive=file,
            output=output,
        )
        reports = measure_replays(options, out.say)
    else:
        rows = output or place.local / "arrived" / file.stem
        arguments = ["--runtime", runtime, "--provider", provider, "-o", str(rows), "--workers", str(workers)]
        code = run_here(file, [*arguments, "--timeout", str(timeout)], python)
        if code:
            click.get_current_context().exit(code)
        reports = [] if output else merge([rows], place, Contributor())[0]
    show_reports(reports, as_json)


@command.command("merge")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--ours", is_flag=True, help="They were measured by whom this dataset is of, on another machine.")
@click.option("--by", default="", metavar="NAME", help="Who measured them, where the rows do not say it.")
@click.option("--at", default="", metavar="WORDS", help="Where it was measured: a board, a CI job.")
@json_option
def bring_in(folder: Path, ours: bool, by: str, at: str, as_json: bool) -> None:
    """Bring the rows that an archive wrote elsewhere into the local dataset; `caniexport publish` promotes them.

    The gate judges them as any run's. Rows that are not --ours name their contributor for ever:
    `caniexport table --by runtime --all` shows whose they are.
    """
    from caniexport.measure.merge import Contributor, merge

    if ours and (by or at):
        raise click.UsageError("rows that are --ours are nobody else's: leave --by and --at out")
    reports, problems = merge([folder], home.find(), Contributor() if ours else Contributor(by or "somebody", at))
    for problem in problems:
        out.say(f"caniexport: warning: {problem}")
    show_reports(reports, as_json)


def show_reports(reports: Sequence[RunReport], as_json: bool) -> None:
    """What was run, and whether the gate took it; exit code 1 where it did not, or where cells are missing."""
    out.report(reports, report_lines(reports), as_json)
    if any(report.problem or report.missing for report in reports):
        click.get_current_context().exit(1)


def report_lines(reports: Sequence[RunReport]) -> Iterator[str]:
    """What came of each run."""
    for report in reports:
        words = ", ".join(f"{count} {status}" for status, count in report.statuses.items()) or "nothing new"
        yield f"{report.runtime} {report.version} on {report.provider}: {words}"
        if report.problem:
            yield f"  {report.problem}"
        if report.missing:
            some = ", ".join(report.missing[:_SHOWN])
            yield f"  missing: {len(report.missing)} cells, {some}; --json names all, `measure` measures them"
