"""Writes docs/findings.md from the published dataset: every number and line in it is a query.

``python docs/make_findings.py`` (``--check`` only says whether the file is up to date).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.answers.upstream import (  # noqa: E402  # the path above comes first
    CLOSED_FAILING,
    OPEN_PASSING,
    upstream,
)
from harness.claims import (  # noqa: E402  # the path above comes first
    ADJUDICATED,
    NOT_MEASURED,
    NOT_REPRODUCED,
    PARTLY,
    PENDING,
    REPRODUCED,
    release_runs,
)
from harness.store import Dataset  # noqa: E402  # the path above comes first
from harness.versions import ordered, within  # noqa: E402  # the path above comes first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from harness.answers.upstream import Source

TARGET = ROOT / "docs" / "findings.md"
_MEASURABLE = ("torchscript-trace", "torchscript-script", "dynamo", "default")


def text(dataset: Dataset) -> str:
    """The page, from the published rows alone."""
    cells = dataset.cells(corpus="documented")
    cells = cells[cells["exporter"].isin(_MEASURABLE)]
    claims = dataset.claims()
    titles = dict(dataset.cases().drop_duplicates("case")[["case", "title"]].itertuples(index=False))
    parts = [_head(cells, claims), *_silent(cells, titles), *_gone(cells, titles)]
    parts += [*_odd(upstream(dataset), titles)]
    parts += [*_contradicted(claims), *_not_measured(claims)]
    return "\n".join(parts) + "\n"


def _head(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    releases = ordered(cells["torch"].unique())
    counts = claims["outcome"].value_counts()
    named = _naming_an_installable_version(claims, releases)
    judged = int(named["outcome"].isin(ADJUDICATED).sum())
    share = f" ({judged / len(named):.1%})" if len(named) else ""
    return (
        "# What measuring found\n\n"
        "Written by `python docs/make_findings.py` from `results/`; as installed together, each release on its own\n"
        "onnxruntime.\n\n"
        f"{len(cells)} cells of {cells['case'].nunique()} cases on torch {release_runs(releases)}. Of "
        f"{len(claims)} claims in the sources, {counts.get(REPRODUCED, 0)} are reproduced, "
        f"{counts.get(PARTLY, 0)} on some of the cells they speak of, {counts.get(NOT_REPRODUCED, 0)} are not; "
        f"{counts.get(PENDING, 0)} are not measured yet, {counts.get(NOT_MEASURED, 0)} cannot be measured here.\n"
        f"Of the {len(named)} claims that name a torch version which these releases have, {judged} are "
        f"adjudicated{share}.\n"
    )


def _naming_an_installable_version(claims: pd.DataFrame, releases: Sequence[str]) -> pd.DataFrame:
    """Claims about particular versions of torch, at least one of them among the releases that were entered."""
    installable = [
        bool(specifier) and any(within(release, specifier) for release in releases)
        for specifier in claims["torch"].fillna("")
    ]
    return claims[installable]


def _silent(cells: pd.DataFrame, titles: dict[str, str]) -> Iterator[str]:
    newest = ordered(cells["torch"].unique())[-1]
    rows = cells[(cells["torch"] == newest) & (cells["variant"] == "plain") & (cells["status"] == "mismatch")]
    rows = rows[rows["stage"] == "compare"]
    yield f"## Exports and runs in torch {newest}, and is wrong\n"
    yield "Failing forms whose exported file gives other values than eager on at least one input, without any error.\n"
    yield "| case | exporters | what |\n| --- | --- | --- |"
    for case, group in rows.groupby("case"):
        exporters = ", ".join(sorted(group["exporter"].unique()))
        yield f"| `{case}` | {exporters} | {titles.get(str(case), '')} |"
    yield ""


def _gone(cells: pd.DataFrame, titles: dict[str, str]) -> Iterator[str]:
    newest = ordered(cells["torch"].unique())[-1]
    plain = cells[(cells["variant"] == "plain") & (cells["status"] != "unsupported")]
    works = plain["status"].isin(["pass", "degraded"])
    ever_failed = set(plain[~works & (plain["exporter"] == "default")]["case"])
    yield f"## A bare torch.onnx.export failed once, and passes in torch {newest}\n"
    now = plain[(plain["torch"] == newest) & (plain["exporter"] == "default") & works]
    yield "The failing form needs no workaround there any more.\n"
    for case in sorted(ever_failed & set(now["case"])):
        yield f"- `{case}`: {titles.get(case, '')}"
    yield ""


def _odd(found: Mapping[str, Sequence[Source]], titles: dict[str, str]) -> Iterator[str]:
    """Threads whose state upstream is at odds with what was measured."""
    every = [(case, source) for case, sources in found.items() for source in sources]
    states = {source.source: source.state for _, source in every}
    known = Counter(state for state in states.values() if state)
    told = ", ".join(f"{number} {state}" for state, number in sorted(known.items()))
    of_github = sum("#" in name for name in states)
    yield "## What became of the sources\n"
    yield f"The state of {known.total()} of {of_github} threads is known ({told or 'none'}): `cases/upstream.csv`.\n"
    for word, title, lead in (
        (CLOSED_FAILING, "Closed, and still failing", "At the default opset of the newest release measured."),
        (
            OPEN_PASSING,
            "Open, and passing",
            "At the opsets that the thread's claims name, or else at the default opset.",
        ),
    ):
        odd = [(case, source) for case, source in every if source.word == word]
        yield f"### {title}\n\n{len({source.source for _, source in odd})} threads. {lead}\n"
        yield "| source | state | case | measured |\n| --- | --- | --- | --- |"
        for case, source in sorted(odd, key=lambda pair: (pair[1].source, pair[0])):
            yield f"| {source.source} | {source.state} | `{case}`: {titles.get(case, '')} | {source.but} |"
        yield ""


def _contradicted(claims: pd.DataFrame) -> Iterator[str]:
    yield "## Said, and not so\n"
    yield "Claims of the sources that the measured versions do not show.\n"
    for row in claims[claims["outcome"] == NOT_REPRODUCED].itertuples():
        yield f"- `{row.claim}` ({row.source}): “{row.says}” — {row.reason}"
    yield "\n## Said, and so in part\n"
    yield "Claims that hold on some of the cells they speak of.\n"
    for row in claims[claims["outcome"] == PARTLY].itertuples():
        yield f"- `{row.claim}` ({row.source}): “{row.says}” — {row.reason}"


def _not_measured(claims: pd.DataFrame) -> Iterator[str]:
    """By reason: what stands between a claim and its measurement."""
    rows = claims[claims["outcome"] == NOT_MEASURED]
    if rows.empty:
        return
    yield "\n## Said, and cannot be measured here\n"
    yield "| reason | claims |\n| --- | --- |"
    for reason, group in rows.groupby("reason"):
        yield f"| {reason} | {', '.join(f'`{claim}`' for claim in group['claim'])} |"


def main() -> int:
    """Write the page, or with ``--check`` compare it."""
    page = text(Dataset.open(ROOT / "results", None))
    if "--check" in sys.argv[1:]:
        return 0 if TARGET.read_text(encoding="utf-8") == page else 1
    TARGET.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
