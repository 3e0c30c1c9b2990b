"""Writes docs/findings.md from the published dataset: every number and line in it is a query.

``python docs/make_findings.py`` (``--check`` only says whether the file is up to date).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from failing_forms import FailingForm, failing_forms

from caniexport import home as homes
from caniexport.answers.filters import Filters
from caniexport.answers.operator_findings import OperatorFinding, read_findings
from caniexport.answers.profile_differences import differences_beside_torch
from caniexport.answers.reading import load
from caniexport.answers.signs import EXPORTER_SHORT, WHY_NOT
from caniexport.answers.standings import workarounds
from caniexport.answers.torch_operators import OperatorRow, OperatorsSummary, summary_path
from caniexport.answers.upstream import CLOSED_FAILING, OPEN_PASSING, upstream
from caniexport.corpus.claims import (
    NOT_MEASURED,
    NOT_REPRODUCED,
    PARTLY,
    PENDING,
    REPRODUCED,
    release_runs,
)
from caniexport.corpus.operator_table import table_path
from caniexport.corpus.verdicts import Workaround
from caniexport.home import NEWEST
from caniexport.model.case import PLAIN
from caniexport.model.made_cases import OPERATORS, read_entries
from caniexport.model.status import Checker, Exporter, Stage, Status, WhyNot
from caniexport.profiles import PERIOD
from caniexport.store import Dataset
from caniexport.versions import opset_text, ordered, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from caniexport.answers.standings import Standing
    from caniexport.answers.upstream import SourceState
    from caniexport.model.made_cases import DatabaseEntry

ROOT = Path(__file__).resolve().parent.parent

TARGET = ROOT / "docs" / "findings.md"
#: ends of operators that somebody has to have looked at
_LOOKED_AT = frozenset(status.value for status in (Status.MISMATCH, Status.CRASH, Status.TIMEOUT, Status.OOM))
_MEASURABLE = ("torchscript-trace", "torchscript-script", "dynamo", "default")


def text(dataset: Dataset) -> str:
    """The page, from the published rows alone."""
    cells = dataset.cells(corpus="documented")
    cells = cells[cells["exporter"].isin(_MEASURABLE)]
    claims = dataset.claims()
    titles = dict(dataset.cases().drop_duplicates("case")[["case", "title"]].itertuples(index=False))
    newest, forms = ordered(cells["torch"].unique())[-1], failing_forms(dataset)
    parts = [_head(cells, claims), *_by_exporter(forms, newest), *_came_with_dynamo(forms, newest)]
    parts += [*_silent(cells, titles), *_refused_by_the_checker(cells, titles), *_not_the_same_every_time(cells)]
    parts += [*_gone(forms, newest), *_fixes(dataset, newest)]
    parts += [*_beside_torch(dataset), *_of_their_time(dataset, claims)]
    parts += [*_operators(), *_odd(upstream(dataset), titles)]
    parts += [*_contradicted(claims), *_not_measured(claims)]
    return "\n".join(parts) + "\n"


def _head(cells: pd.DataFrame, claims: pd.DataFrame) -> str:
    releases = ordered(cells["torch"].unique())
    counts = claims["outcome"].value_counts()
    named = _naming_an_installable_version(claims, releases)
    judged = int(named["outcome"].isin((REPRODUCED, PARTLY, NOT_REPRODUCED)).sum())
    share = f" ({judged / len(named):.1%})" if len(named) else ""
    return (
        "# What measuring found\n\n"
        "Written by `python docs/make_findings.py` from `results/`; as installed together, each release on its own\n"
        "onnxruntime. The words are in the [glossary](glossary.md).\n\n"
        f"{len(cells)} cells of {cells['case'].nunique()} cases on torch {release_runs(releases)}. Of "
        f"{len(claims)} claims in the sources, {counts.get(REPRODUCED, 0)} are reproduced, "
        f"{counts.get(PARTLY, 0)} on some of the cells they are about, {counts.get(NOT_REPRODUCED, 0)} are not; "
        f"{counts.get(PENDING, 0)} are not measured yet, {counts.get(NOT_MEASURED, 0)} cannot be measured here.\n"
        f"{_why_not(claims)}"
        f"Of the {len(named)} claims that name a torch version which these releases have, {judged} are "
        f"adjudicated{share}.\n"
    )


def _why_not(claims: pd.DataFrame) -> str:
    """How many of those not reproduced have which reason."""
    counts = claims["why_not"].value_counts()
    told = [f"{counts[word]} {word}" for word in WHY_NOT if word in counts]
    return f"Of those not reproduced: {', '.join(told)}.\n" if told else ""


def _naming_an_installable_version(claims: pd.DataFrame, releases: Sequence[str]) -> pd.DataFrame:
    """Claims about particular versions of torch, at least one of them among the releases that were entered."""
    installable = [
        bool(specifier) and any(within(release, specifier) for release in releases)
        for specifier in claims["torch"].fillna("")
    ]
    return claims[installable]


def _by_exporter(forms: Sequence[FailingForm], newest: str) -> Iterator[str]:
    yield f"## What became of the failing forms by torch {newest}\n"
    yield "Each release at its own default opset, on cpu. «Failed once»: in some release measured; «gone»: works now.\n"
    yield "| exporter | failed once | gone | still an error | wrong values | refused, not measured |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for exporter in (member.value for member in Exporter):
        failed = [form for form in forms if exporter in form.failed]
        gone = sum(form.works(exporter) is True for form in failed)
        wrong = sum(form.now.get(exporter) is Status.MISMATCH for form in failed)
        unknown = sum(form.works(exporter) is None for form in failed)
        error = len(failed) - gone - wrong - unknown
        share = f" ({gone / len(failed):.0%})" if failed else ""
        yield f"| {EXPORTER_SHORT[exporter]} | {len(failed)} | {gone}{share} | {error} | {wrong} | {unknown} |"
    yield ""


def to_look_at(summary: OperatorsSummary, entries: Sequence[DatabaseEntry]) -> list[OperatorRow]:
    """The rows of the newest release with wrong values, a crash or late; not those of random operators."""
    torch = summary.releases[-1]
    random = {entry.name for entry in entries if entry.random and entry.holds(torch)}
    rows = summary.rows("torch = ? AND exporter IS NOT NULL", [torch])
    return [row for row in rows if row.status in _LOOKED_AT and row.op not in random]


def _operators() -> Iterator[str]:
    """What is wrong with torch's operators in their newest release, each looked at by hand."""
    home = homes.find(ROOT).of_corpus(OPERATORS)
    if not summary_path(home.published).is_file():
        return
    summary = OperatorsSummary(home.published)
    rows = to_look_at(summary, read_entries(table_path(home)))
    asked = summary.rows("torch = ? AND exporter IS NOT NULL AND calls > 0", summary.releases[-1:])
    failing = [row for row in asked if not row.works]
    yield f"## Operators that export and are wrong in torch {summary.releases[-1]}\n"
    yield f"Calls of torch's own database and of type promotion: {len(rows)} places (operator, dtype, form, exporter,"
    yield "opset) end with wrong values, a crash or late, those of random operators not counted. Each was looked at by"
    yield "hand, with the call below it, which is given to:\n"
    differs, findings = read_findings(home.cases)
    yield f"```python\n{differs}```\n"
    for exporter in EXPORTER_SHORT:
        found = [item for item in findings if item.exporter == exporter]
        if found:
            yield f"### By {EXPORTER_SHORT[exporter]}\n"
            yield from (_operator_finding(item, rows, failing) for item in found)
            yield ""


def _operator_finding(finding: OperatorFinding, rows: Sequence[OperatorRow], failing: Sequence[OperatorRow]) -> str:
    mine = [row for row in rows if finding.is_about(row)] or [row for row in failing if finding.is_about(row)]
    dtypes = ", ".join(dict.fromkeys(row.dtype or "" for row in mine))
    opsets = opset_text(sorted({row.opset for row in mine if row.opset is not None}))
    names = ", ".join(f"`{name}`" for name in finding.operators)
    return f"- {names} ({dtypes}; opset {opsets}): {finding.what}\n  `{finding.shown}`"


def _beside_torch(dataset: Dataset) -> Iterator[str]:
    """What the packages beside torch change by themselves, at the opset of each release's own dynamo call."""
    rows = load(dataset)
    found = [
        item
        for item in differences_beside_torch(rows, where={"variant": (PLAIN,), "exporter": (Exporter.DYNAMO.value,)})
        if rows.choice(item.torch, item.exporter).opset in item.opsets
    ]
    installed = {item.torch: item for item in rows.installed if item.profile == PERIOD}
    if not installed:
        return
    newest = {item.torch: item for item in rows.installed if item.profile == NEWEST}
    yield "## What the packages beside torch change by themselves\n"
    yield "The same torch, dynamo at the opset that it writes when none is asked for: as installed two weeks after the"
    yield "release (`--profile period`), and with the newest packages that install. Failing forms of cases.\n"
    yield "| torch | packages of its time | newest | measured with both | mended by newer packages | broken by them |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    for torch in ordered(installed):
        mine = [item for item in found if item.torch == torch]
        mended, broken = (sum(getattr(item, word) for item in mine) for word in ("mended", "broken"))
        opset = rows.choice(torch, Exporter.DYNAMO.value).opset
        if opset is not None:
            at = {"torch": (torch,), "variant": (PLAIN,), "exporter": (Exporter.DYNAMO.value,), "opset": (opset,)}
            both = {cell.case for cell in rows.under(PERIOD).cells(**at)} & {cell.case for cell in rows.cells(**at)}
            beside = newest[torch].text if torch in newest else ""
            yield f"| {torch} | {installed[torch].text} | {beside} | {len(both)} | {mended} | {broken} |"
    yield ""
    for word, title in (("broken", "Broken by newer packages"), ("mended", "Mended by newer packages")):
        names = {
            item.case: [one.torch for one in found if one.case == item.case and getattr(one, word)] for item in found
        }
        names = {case: torch for case, torch in names.items() if torch}
        yield f"{title}: {len(names)}\n"
        yield from (f"- {case} ({', '.join(ordered(torch))})" for case, torch in sorted(names.items()))
        yield ""


def _of_their_time(dataset: Dataset, claims: pd.DataFrame) -> Iterator[str]:
    """Claims that newer packages hide, judged with the packages of their time."""
    hidden = claims[claims["why_not"] == WhyNot.NEWER.value]
    if PERIOD not in dataset.profiles() or hidden.empty:
        return
    judged = dataset.of(PERIOD).claims().set_index("claim")
    words = {claim: judged["outcome"].get(claim, PENDING) for claim in hidden["claim"]}
    reproduced = sum(word in (REPRODUCED, PARTLY) for word in words.values())
    yield "## Claims that newer packages hide\n"
    yield f"{len(words)}; {reproduced} of them hold with the packages of their time.\n"
    for claim, torch, says in hidden[["claim", "torch", "says"]].itertuples(index=False):
        word = {PENDING: "the releases it names were not measured so"}.get(words[claim], words[claim])
        yield f"- {claim} (torch {torch}): {word}: {says}"
    yield ""


def _came_with_dynamo(forms: Sequence[FailingForm], newest: str) -> Iterator[str]:
    """What the two exporters of the newest release do not have in common."""
    trace, dynamo = Exporter.TRACE.value, Exporter.DYNAMO.value
    for good, bad, title in (
        (trace, dynamo, "Came with the dynamo exporter"),
        (dynamo, trace, "Went with the dynamo exporter"),
    ):
        found = [form for form in forms if form.works(good) is True and form.works(bad) is False]
        names = EXPORTER_SHORT[good], EXPORTER_SHORT[bad]
        yield f"## {title}\n"
        yield f"{len(found)} failing forms work with {names[0]} in torch {newest}, and not with {names[1]}.\n"
        yield f"| case | with {names[1]} | what |\n| --- | --- | --- |"
        for form in found:
            yield f"| `{form.case}` | {form.now[bad].value} | {form.title} |"
        yield ""


def _fixes(dataset: Dataset, newest: str) -> Iterator[str]:
    """What every fix is at the newest release, those that are not to be used any more by name."""
    told = workarounds(dataset, Filters(exporters=(Exporter.TRACE.value, Exporter.DYNAMO.value), providers=("cpu",)))
    found = [item for item in (*told.standings, *told.cautions) if item.torch]
    yield f"## The fixes at torch {newest}\n"
    yield "At its default opset, on cpu; a fix counts once with each exporter.\n"
    exporters = sorted({item.exporter for item in found}, key=list(EXPORTER_SHORT).index)
    yield f"| fix is | {' | '.join(EXPORTER_SHORT[name] for name in exporters)} |"
    yield f"| --- |{' ---: |' * len(exporters)}"
    for word in Workaround:
        counts = [sum(item.word is word and item.exporter == name for item in found) for name in exporters]
        yield f"| {word.value} | {' | '.join(map(str, counts))} |"
    yield ""
    for word, lead in (
        (Workaround.HARMFUL, "The failing form works, and the fix does not."),
        (Workaround.BROKEN, "Neither works."),
        (Workaround.OBSOLETE, "Both work: the fix may go. By the release from which on that is so."),
    ):
        yield from _of_word([item for item in found if item.word is word], word, lead)


def _of_word(found: Sequence[Standing], word: Workaround, lead: str) -> Iterator[str]:
    """Each fix with what it does; of the many that may go only the names, by release."""
    yield f"### {word.value.capitalize()}\n\n{lead}\n"
    named: dict[tuple[str, str], list[Standing]] = {}
    for item in found:
        since = item.obsolete_since or "" if word is Workaround.OBSOLETE else ""
        named.setdefault((since, f"`{item.case}/{item.variant}`"), []).append(item)
    told = {key: ", ".join(EXPORTER_SHORT[item.exporter] for item in items) for key, items in named.items()}
    if word is Workaround.OBSOLETE:
        for since in ordered({since for since, _ in told}):
            fixes = [f"{fix} ({where})" for (at, fix), where in sorted(told.items()) if at == since]
            yield f"- since {since}, {len(fixes)}: {'; '.join(fixes)}"
    else:
        yield from (f"- {key[1]} ({where}): {named[key][0].note}" for key, where in sorted(told.items()))
    yield ""


def _silent(cells: pd.DataFrame, titles: dict[str, str]) -> Iterator[str]:
    newest = ordered(cells["torch"].unique())[-1]
    rows = cells[(cells["torch"] == newest) & (cells["variant"] == "plain") & (cells["status"] == "mismatch")]
    rows = rows[(rows["stage"] == "compare") & rows["unstable"].isna()]
    yield f"## Exports and runs in torch {newest}, and is wrong\n"
    yield "Failing forms whose exported file gives other values than eager on at least one input, without any error.\n"
    yield "| case | exporters | what |\n| --- | --- | --- |"
    for case, group in rows.groupby("case"):
        exporters = ", ".join(sorted(group["exporter"].unique()))
        yield f"| `{case}` | {exporters} | {titles.get(str(case), '')} |"
    yield ""


def _refused_by_the_checker(cells: pd.DataFrame, titles: dict[str, str]) -> Iterator[str]:
    """Forms and fixes whose file runs in the newest release while onnx's checker refuses it."""
    newest = ordered(cells["torch"].unique())[-1]
    rows = cells[(cells["torch"] == newest) & cells["checker"].isin((Checker.STRICT.value, Checker.PLAIN.value))]
    rows = rows[rows["stage"].isin((Stage.DONE.value, Stage.COMPARE.value)) & rows["unstable"].isna()]
    if rows.empty:
        return
    yield f"## Runs in torch {newest}, and onnx's checker refuses the file\n"
    yield "The runtime runs the file; other consumers, which check it, may mind. By what the runtime's outputs are.\n"
    yield "| case | form | exporters | checks that refuse | outputs | what |\n| --- | --- | --- | --- | --- | --- |"
    for (case, variant), group in rows.groupby(["case", "variant"]):
        told = [", ".join(sorted(group[name].unique())) for name in ("exporter", "checker", "status")]
        yield f"| `{case}` | {variant} | {' | '.join(told)} | {titles.get(str(case), '')} |"
    yield ""


def _not_the_same_every_time(cells: pd.DataFrame) -> Iterator[str]:
    """Forms and fixes whose repetitions differ."""
    rows = cells[cells["unstable"].notna()]
    if rows.empty:
        return
    yield "## Not the same every time\n"
    yield "Cells whose repetitions differ: they count as neither a pass nor a failure.\n"
    yield "| case | form | torch | cells | seen |\n| --- | --- | --- | ---: | --- |"
    for (case, variant), group in rows.groupby(["case", "variant"]):
        seen = sorted({word for words in group["unstable"] for word in words})
        yield f"| `{case}` | {variant} | {release_runs(group['torch'])} | {len(group)} | {', '.join(seen)} |"
    yield ""


def _gone(forms: Sequence[FailingForm], newest: str) -> Iterator[str]:
    yield f"## A bare torch.onnx.export failed once, and passes in torch {newest}\n"
    yield "The failing form needs no workaround there any more.\n"
    bare = Exporter.DEFAULT.value
    gone = [form for form in forms if bare in form.failed and form.works(bare) is True]
    yield from (f"- `{form.case}`: {form.title}" for form in sorted(gone, key=lambda form: form.case))
    yield ""


def _odd(found: Mapping[str, Sequence[SourceState]], titles: dict[str, str]) -> Iterator[str]:
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
    rows = claims[claims["outcome"] == NOT_REPRODUCED]
    words = rows["why_not"].fillna("")
    yield "## Said, and not so\n"
    yield "Claims of the sources that the measured versions do not show, by the reviewed reason.\n"
    for word, title in {**WHY_NOT, "": "not reviewed yet"}.items():
        found = rows[words == word]
        if len(found):
            yield f"### {word or 'Not reviewed'}: {len(found)}\n\n{title.capitalize()}.\n"
            yield from (f"- `{row.claim}` ({row.source}): “{row.says}” — {row.reason}" for row in found.itertuples())
            yield ""
    yield "## Said, and so in part\n"
    yield "Claims that hold on some of the cells they are about.\n"
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
