"""``caniexport publish --audit``: published cells measured again by a plain script."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import click

from caniexport import home as homes
from caniexport.cli import extras, output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from caniexport.audit.run import ReleaseAudit


def audit_published(*, seed: int | None, save: bool, as_json: bool, **asked: Any) -> None:
    """Measure a sample of the published cells again and name each that is not as published; exit code 1 for one.

    Each release gets an environment of its own out of the table's pins, removed afterwards; each cell a process.
    """
    extras.require("tox", "tox_uv")
    from caniexport.audit import run, saved

    home = homes.find()
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    found = run.audit(run.AuditOptions(home, seed=seed, **asked), output.say)
    if save:
        saved.save_audit(home.writable_results(), found)
    output.report([item.row for item in found], _lines(found, seed), as_json)
    if any(item.differing or item.problem for item in found):
        click.get_current_context().exit(1)


def _lines(found: Sequence[ReleaseAudit], seed: int) -> Iterator[str]:
    """What differs, then how many agree."""
    for release in found:
        for item in release.differing:
            yield f"{item.cell}\n  published  {item.published}\n  found      {item.found}"
        if release.problem:
            yield release.summary
    audited = [item for item in found if not item.problem]
    agreeing, cells = sum(item.agreeing for item in audited), sum(item.cells for item in audited)
    yield f"{agreeing} of {cells} cells agree, of {len(audited)} torch releases (seed {seed})"
