"""A workflow for GitHub Actions that measures releases in shards, one job each, and merges what they hand in.

The file names no release: its first job asks :func:`matrix` when it runs, which reads the table of releases, the plan
and the seconds that rows took. So a new release or case needs no new file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

from caniexport.measure.shards import Shard, Unit, past_of_each, total_seconds
from caniexport.model import plan
from caniexport.model.errors import CaniexportError

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase
    from caniexport.model.releases import Release
    from caniexport.store import Dataset

#: jobs that GitHub makes of one matrix at most
MOST_JOBS = 256
#: processors of a job's machine, and minutes of a job in which its environment is made
_WORKERS, _MAKING = 4, 15


class TooManyJobsError(CaniexportError):
    """More jobs than one matrix may have."""


def matrix(
    releases: Iterable[Release], corpus: Mapping[str, LoadedCase], dataset: Dataset, hours: float
) -> dict[str, Any]:
    """The jobs of a matrix: so many shards of each release that none takes longer than these hours.

    Raises :class:`TooManyJobsError`.
    """
    wanted = list(releases)
    past = past_of_each(dataset, [release.torch for release in wanted])
    jobs = [job for release in wanted for job in _jobs(release, corpus, past[release.torch], hours)]
    if len(jobs) > MOST_JOBS:
        raise TooManyJobsError(
            f"{len(jobs)} jobs of {hours:g} h are more than the {MOST_JOBS} of one matrix: take fewer releases or "
            "longer jobs"
        )
    return {"include": jobs}


def _jobs(
    release: Release, corpus: Mapping[str, LoadedCase], past: Mapping[Unit, int], hours: float
) -> Iterable[dict[str, str]]:
    cells = plan.cells(dict(corpus), release, "cpu")
    seconds = total_seconds(cells, past) / _WORKERS
    count = max(1, ceil(seconds / (hours * 3600 - _MAKING * 60)))
    for number in range(1, count + 1):
        shard = Shard(number, count)
        yield {"torch": release.torch, "shard": str(shard), "name": f"{release.torch}-{shard.file_name}"}


def workflow(hours: float) -> str:
    """The file ``.github/workflows/nightly.yml``."""
    minutes = int(hours * 60) + 2 * _MAKING
    return _TEXT.replace("HOURS", f"{hours:g}").replace("MINUTES", str(minutes))


_TEXT = """\
# A nightly run for GitHub Actions, written by `caniexport workflow`: .github/workflows/nightly.yml of a clone.
#
# It measures what is new, a job for each shard of each release, merges what the jobs hand in, compares it with the
# published dataset, and fails on a regression that nobody knows yet. Which jobs there are is asked when it runs. The
# summary is on the run's page, annotations on the commit, the feed and the rows among its artifacts.
name: nightly

on:
  schedule:
    - cron: "30 2 * * *"
    - cron: "30 9 * * 0" # weekly: the audit
  workflow_dispatch:
    inputs:
      releases:
        description: torch releases (2.15.0 2.14.1), or all
        default: newest

permissions:
  contents: read

concurrency:
  group: nightly

jobs:
  plan:
    if: github.event.schedule != '30 9 * * 0'
    runs-on: ubuntu-latest
    outputs:
      matrix: ${{ steps.matrix.outputs.matrix }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install -e '.[measure]'
      - id: matrix
        run: |
          for release in ${RELEASES:-newest}; do set -- "$@" --release "$release"; done
          echo "matrix=$(caniexport workflow --matrix --hours HOURS "$@")" >> "$GITHUB_OUTPUT"
        env:
          RELEASES: ${{ inputs.releases }}

  measure:
    needs: plan
    strategy:
      fail-fast: false
      matrix: ${{ fromJSON(needs.plan.outputs.matrix) }}
    name: torch ${{ matrix.torch }}, ${{ matrix.shard }}
    runs-on: ubuntu-latest
    timeout-minutes: MINUTES
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install -e '.[measure]'
      # a job that was ended goes on where it was: its dataset is kept from night to night
      - uses: actions/cache@v4
        with:
          path: results-local
          key: results-${{ matrix.name }}-${{ github.run_id }}
          restore-keys: results-${{ matrix.name }}-
      - name: Measure
        run: |
          caniexport measure --release ${{ matrix.torch }} --shard ${{ matrix.shard }} --to delivered \\
            --rolling --disk-budget 10
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: shard-${{ matrix.name }}
          path: delivered

  merge:
    needs: [plan, measure]
    if: ${{ !cancelled() && needs.plan.result == 'success' }}
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0 # a git revision of results/ can be a baseline
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install -e '.[measure]'
      - uses: actions/download-artifact@v4
        with:
          pattern: shard-*
          path: delivered
      - name: Merge # the gate judges all shards together; what is missing or refused is named
        run: caniexport merge delivered
      - name: Alerts
        if: ${{ !cancelled() }}
        run: |
          caniexport alerts --format markdown >> "$GITHUB_STEP_SUMMARY" || true
          caniexport alerts --format atom > alerts.atom || true
          caniexport alerts --format github ${WEBHOOK:+--webhook "$WEBHOOK"}
        env:
          WEBHOOK: ${{ secrets.ALERTS_WEBHOOK }}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: alerts
          path: |
            alerts.atom
            results-local

  # a sample of the published rows, measured again by a plain script; each week's seed is another
  audit:
    if: github.event.schedule == '30 9 * * 0'
    runs-on: ubuntu-latest
    timeout-minutes: 350
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - run: pip install -e '.[measure]'
      - name: Audit
        run: caniexport audit --cells 300 --seed ${{ github.run_number }} --disk-budget 10 --save
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: audit
          path: results/audit.parquet # committed, it stands on the About page
"""
