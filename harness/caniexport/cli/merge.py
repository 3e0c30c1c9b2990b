"""``caniexport measure --merge``: rows that other machines measured."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from caniexport import home as homes
from caniexport.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from caniexport.measure.merged_release import MergedRelease

#: missing shards and owed cells that a line shows
_SHOWN = 6


def merge_deliveries(places: Sequence[str], repeat: int, by: str, at: str, corpus: str, *, as_json: bool) -> None:
    """Bring in the rows of these folders and URLs, and say what has come; exit code 1 where something is owed."""
    from caniexport.measure.deliveries import fetched

    with ExitStack() as held:
        # first, because it may need more packages than merging does
        folders = [held.enter_context(fetched(place)) for place in places]
        from caniexport.measure.arrived import Contributor
        from caniexport.measure.merge import merge

        reports, problems = merge(folders, homes.find().of_corpus(corpus), repeat, output.say, Contributor(by, at))
    for problem in problems:
        output.say(f"caniexport: warning: {problem}")
    output.report(reports, [line for report in reports for line in told(report)], as_json)
    if not all(report.complete for report in reports):
        click.get_current_context().exit(1)


def told(report: MergedRelease) -> Iterator[str]:
    """What has come of a release, and what has not."""
    profile = "" if report.profile == "newest" else f" ({report.profile})"
    shards = f", shards {_few(report.shards)}" if report.shards else ""
    yield f"torch {report.torch}{profile} on {report.provider}: {report.rows} rows from {report.files} files{shards}"
    if report.missing:
        yield f"  missing: shards {_few(report.missing)}"
    if report.owed:
        yield f"  owed: {len(report.owed)} cells: {_few(report.owed)} (--json names all)"
    if report.outdated:
        yield f"  left out: {report.outdated} rows of cases that have changed since, or that this corpus does not have"
    yield from (f"  {text}" for text in (report.problem, *report.notes) if text)


def _few(names: Sequence[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
