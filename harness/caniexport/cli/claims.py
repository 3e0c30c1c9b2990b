"""``caniexport claims``: what the documents say against what was measured."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.answers.signs import CLAIM, WHY_NOT
from caniexport.cli import output
from caniexport.cli.options import filter_options, json_option, open_dataset, several, with_measured, with_named
from caniexport.cli.output import labelled, legend, styled
from caniexport.names import plural

if TYPE_CHECKING:
    from caniexport.answers.documents import Claims
    from caniexport.cli.output import Console


@click.command("claims")
@click.argument("name", required=False, metavar="[NAME]")
@several("--source", "sources", metavar="NAME", text="seed:000, owner/repo#1, a record, a glob.")
@filter_options("claims")
@json_option
def command(name: str | None, sources: tuple[str, ...], as_json: bool, **given: tuple[str, ...]) -> None:
    """Set what the documents say against what was measured: each claim about NAME, then counts by outcome.

    NAME is a case, an operator or a theme. Without it and without a filter only the counts are shown.
    --status takes reproduced, partly, not-reproduced, pending (not measured yet) and not-measured (it cannot be); of
    those not reproduced contradicted, form-not-met, hidden-by-newer and version-misattributed.
    """
    from caniexport.answers.documents import claims

    dataset = open_dataset()
    given = with_measured(dataset, given)
    bare = not (name or sources or any(given.values()))
    found = claims(dataset, read_filters("claims", with_named(dataset, name, given)), sources)
    output.answer(found, partial(show, bare=bare), as_json)


def show(found: Claims, console: Console, *, bare: bool = False) -> None:
    """Print the claims, then the counts of every outcome; ``bare``: the counts alone."""
    for claim in () if bare else found.claims:
        sign = CLAIM[claim.outcome]
        console.print(styled(f"{sign.sign} {claim.word}", sign), f"  {claim.claim} ({claim.source})", sep="")
        about = f"{claim.versions}" + (f", fix {claim.variant}" if claim.variant != "plain" else "")
        labelled("says", f"{claim.says} [{about}]", console, indent=4)
        if claim.reason:
            labelled("measured", claim.reason, console, indent=4)
    total = sum(found.counts.values())
    console.print(
        f"\n{plural(total, 'claim')}: " + ", ".join(f"{count} {name}" for name, count in found.counts.items())
    )
    console.print(legend(CLAIM.items(), console.width))
    if any(found.why_not.values()):
        console.print("not reproduced, because:")
    for word, count in found.why_not.items():
        if count:
            console.print(f"- {count} {word}: {WHY_NOT[word]}")
    if bare:
        console.print("Each claim: caniexport claims NAME (a case, an operator, a theme), --source or --status")
