"""``caniexport publish``: promote gated local rows into the published dataset."""

from __future__ import annotations

import click

from harness.cli.options import json_option


@click.command("publish")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Promote the local rows of runs that passed the gate into results/. Exit 1 where a run stays quarantined."""

    raise NotImplementedError
