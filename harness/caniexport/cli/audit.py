"""``caniexport audit``: published cells measured again by a plain script."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport.cli import output
from caniexport.cli.options import corpus_option, disk_option, json_option, releases_option, workers_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from caniexport.audit.run import ReleaseAudit


@click.command("audit")
@click.option("--cells", type=click.IntRange(1), default=300, show_default=True, help="Cells in the sample.")
@click.option("--seed", type=click.IntRange(0, 2**62), help="Seed of the sample.  [default: drawn, and printed]")
@corpus_option("Whose cells are measured again.")
@releases_option("Of this torch release only.")
@workers_option("Processes side by side.", 2)
@click.option("--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds for a cell.")
@disk_option("GB for environments.")
@click.option("--save", is_flag=True, help="Keep the result in results/: the pages show the last one.")
@json_option
def command(seed: int | None, save: bool, as_json: bool, **asked: Any) -> None:
    """Measure a sample of the published cells again with a plain script, and name each that is not as published.

    The sample has cells of every status, and of every release and exporter as far as it goes. Each release gets an
    environment of its own out of the table's pins, removed afterwards; each cell a process of its own. Exit code 1
    where a cell differs or a release could not be audited.
    """
    from caniexport.audit import run, saved

    home = homes.find()
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    options = run.AuditOptions(home, seed=seed, **asked)
    found = run.audit(options, output.say)
    if save:
        saved.save(home.writable_results(), found)
    output.report(saved.rows(found), _lines(found, seed), as_json)
    if any(item.differing or item.problem for item in found):
        click.get_current_context().exit(1)


def _lines(found: Sequence[ReleaseAudit], seed: int) -> Iterator[str]:
    """What differs, then how many agree."""
    for release in found:
        for item in release.differing:
            yield f"{item.cell}\n  published  {item.published}\n  found      {item.found}"
        if release.problem:
            yield f"torch {release.torch}: not audited: {release.problem}"
    audited = [item for item in found if not item.problem]
    agreeing, cells = sum(item.agreeing for item in audited), sum(item.cells for item in audited)
    yield f"{agreeing} of {cells} cells agree, of {len(audited)} torch releases (seed {seed})"
