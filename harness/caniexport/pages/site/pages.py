"""The pages of the static copy but those of a case: front page, matrix, operators, fixes, claims."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from caniexport.alerts.releases import ReleaseAlerts
from caniexport.answers.documents import JudgedClaim
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import table
from caniexport.answers.search import Hit, Index
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import STATUS, word
from caniexport.answers.standings import workarounds
from caniexport.answers.support import Support
from caniexport.audit.saved import LastAudit
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages import (
    alerts_html,
    audit_html,
    claims_html,
    fixes_html,
    matrix_html,
    runs_html,
    search_html,
    verdicts_html,
)
from caniexport.pages.kept import Kept
from caniexport.pages.markup import claim_legend, escape, plural, status_class, status_legend, word_legend
from caniexport.pages.overview import EXPORTERS, cases, overview
from caniexport.pages.site.paths import FEED, case_file

#: files that a reader may take, with what each is
DOWNLOADS = {
    "data/cells.parquet": "every measured cell",
    "data/matrix.csv": "the matrix: one row for each case, form, exporter and release",
    "data/matrix.json": "the same as JSON",
    "data/workarounds.csv": "every fix with its word at the newest release",
    "data/workarounds.json": "the same as JSON",
    "data/environments.parquet": "every environment with all of its versions",
    "data/messages.parquet": "the error texts",
    "data/cases.parquet": "the cases with their sources and code",
    "data/claims.parquet": "what sources say, and what was measured of it",
}


def front(kept: Kept, files: Sequence[str]) -> str:
    """The search, and what stands there before one."""
    found = kept.answer(overview)
    taken = "".join(
        f'<li><a href="{escape(name)}">{escape(name.removeprefix("data/"))}</a> {escape(DOWNLOADS[name])}</li>'
        for name in files
        if name in DOWNLOADS
    )
    return (
        '<search><label for="q">Search cases, operators, sources, or paste your error</label>'
        '<input id="q" type="search" autocomplete="off" placeholder="torch.cross, GridSample, or the error itself">'
        '<noscript><p class="hint">The search needs JavaScript; every page is linked below.</p></noscript></search>'
        '<div id="found" aria-live="polite"></div>'
        f'<div id="start"><h2 class="sub">What works today, by theme</h2>'
        f'<p class="hint">{search_html.measured(found)} Each case as it ends on the newest release that it was '
        f"measured on, at the best opset.</p>{status_legend(only=found.seen)}{search_html.themes(found, EXPORTERS)}"
        f'<h2 class="sub">Cases</h2>{search_html.listing(cases(kept), found)}'
        f'<h2 class="sub">Files to take</h2><ul class="files">{taken}</ul></div>'
    )


def matrix(kept: Kept) -> str:
    """Every case by every release."""
    shown = kept.answer(table, Filters())
    seen: Counter[Status] = Counter()
    for line in shown.lines:
        for place in line.places.values():
            seen[place.status] += 1
    parts = [status_legend(seen), matrix_html.table(shown.lines, shown.columns, {})]
    if shown.environments:
        parts += ['<h2 class="sub">Installing and importing</h2>', matrix_html.environments(shown.environments)]
    return "".join(parts)


def operator(kept: Kept, op: str) -> str:
    """One operator: its cases and their matrix."""
    mine = [entry for entry in cases(kept) if op in entry.ops]
    hits = [Hit(entry, f"operator {op}", 1.0) for entry in mine]
    shown = kept.answer(table, Filters(ops=(op,)))
    return (
        f'<p class="hint">{plural(len(mine), "case")}; the failing form of each:</p>'
        + search_html.hits(hits, {entry.case: kept.supports(entry.case, PLAIN) for entry in mine}, {})
        + status_legend()
        + matrix_html.table(shown.lines, shown.columns, {})
    )


def fixes(kept: Kept) -> str:
    """Every fix with its word at the newest release."""
    answer = kept.answer(workarounds, Filters(exporters=(Exporter.TRACE.value, Exporter.DYNAMO.value)))
    titles = {entry.case: entry.title for entry in cases(kept)}
    found = (*answer.standings, *answer.cautions)
    return word_legend(Counter(item.word for item in found)) + fixes_html.table(found, "", {}, titles)


def claims(found: Sequence[JudgedClaim]) -> str:
    """Every claim with its outcome."""
    return claim_legend(claims_html.words(found)) + claims_html.table(found, with_case=True)


def alerts(found: ReleaseAlerts, environments: Sequence[Mapping[str, Any]]) -> str:
    """What every release made worse than the one before, and what became of it."""
    if found.alerts:
        body = alerts_html.states(found.alerts) + alerts_html.alerts(found.alerts)
    else:
        body = '<p class="hint">Nothing got worse between two releases; every class is counted below.</p>'
    return (
        f'<p class="hint">The same as a feed: <a href="{FEED}">{FEED}</a></p>{body}'
        f'<h2 class="sub">How often we cry wolf</h2>{runs_html.rate(environments)}'
        f'<h2 class="sub">Every class, and every pair of releases</h2>'
        f'<div class="two">{alerts_html.steps(found.steps, linked=False)}{verdicts_html.counts(found.counts)}</div>'
    )


def runs(environments: Sequence[Mapping[str, Any]], audited: LastAudit | None) -> str:
    """What was measured when and with what, what of it was measured again, and what does not speak."""
    return (
        f'<h2 class="sub">Audit</h2>{audit_html.told(audited)}'
        f'<h2 class="sub">Left out</h2>{runs_html.quarantined([row for row in environments if row["quarantined"]])}'
        f'<h2 class="sub">How often we cry wolf</h2>{runs_html.repeats(environments)}'
        '<h2 class="sub">Environments that export</h2>'
        '<p class="hint">Open a release for every package that was installed.</p>'
        f"{runs_html.environments(environments)}"
        f'<h2 class="sub">Runtimes that run the same files</h2>{runs_html.runtimes(environments)}'
    )


def search_index(kept: Kept, where: Index) -> str:
    """What the search of the copy reads, as a script: a page opened from a disk may load no other file."""
    entries = cases(kept)
    number = {entry.case: index for index, entry in enumerate(entries)}
    listed = [
        {
            "name": entry.case,
            "title": entry.title or entry.case,
            "file": case_file(entry.case),
            "words": _words(entry.case, kept.rows().catalogue),
            "answers": [_answer(item) for item in kept.supports(entry.case, PLAIN) if item.exporter in EXPORTERS],
        }
        for entry in entries
    ]
    errors: dict[str, set[int]] = {}
    for message_id, seen in where.seen.items():
        lines = [line for line in where.texts.get(message_id, "").splitlines() if line.strip()][:1]
        for item in seen:
            if lines and item.case in number:
                errors.setdefault(lines[0][:400], set()).add(number[item.case])
    told = [{"text": text, "cases": sorted(found)} for text, found in sorted(errors.items())]
    data = json.dumps({"cases": listed, "errors": told}, ensure_ascii=False, separators=(",", ":"))
    return f"window.CANIEXPORT = {data}\n"


def _words(case: str, catalogue: Mapping[tuple[str, str], CatalogueEntry]) -> str:
    """Everything that a word may be found in, in lower case."""
    mine = [entry for (name, _), entry in catalogue.items() if name == case]
    said = []
    for entry in mine:
        said += [
            entry.case,
            entry.title,
            entry.theme,
            entry.variant,
            entry.note,
            entry.kind,
            *entry.ops,
            *entry.sources,
        ]
        said += [f"torch.{op.split('::')[-1]}" for op in entry.ops if op.startswith("aten::")]
    return "\n".join(dict.fromkeys(filter(None, said))).casefold()


def _answer(item: Support) -> tuple[str, str, str, str]:
    """Class, sign and word, exporter, sentence."""
    elsewhere = f" ({item.otherwise_text})" if item.otherwise_text else ""
    name = search_html.EXPORTER_NAME[item.exporter]
    return status_class(item.status), f"{STATUS[item.status].sign} {word(item.status)}", name, item.text + elsewhere
