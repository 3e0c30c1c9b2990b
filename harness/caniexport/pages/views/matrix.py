"""The table: themes, cases or operators against torch releases, opsets, exporters or runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from caniexport.answers.answer import Answer, Share, Table
from caniexport.answers.filters import Filters
from caniexport.answers.point import Points
from caniexport.answers.search import FullText, find_cases
from caniexport.answers.signs import CALLS, status_word
from caniexport.answers.table import By, TableLines, answer_table, works
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages import looks
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.charts import Series, draw_line_chart
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.sheet import File
from caniexport.pages.unfound import render_unknown

TITLE = "Show me the table: what passes where"
_LEAD = "Each cell is measured: a small model exported by that torch release, run by {}, compared with eager."
_BY = {
    By.TORCH.value: "torch release",
    By.OPSET.value: "opset",
    By.EXPORTER.value: "exporter",
    By.RUNTIME.value: "runtime",
    By.TOOL.value: "tool",
    By.PLUGIN.value: "plugin",
    By.FILE.value: "file",
}
#: cases from which on a table that names none has a line for each theme
_MANY = 100


def page(form: Form, kept: Kept) -> Page:
    """The table that is asked for."""
    known = kept.inventory
    narrowed = form.text("theme") or form.text("q")
    many = len({case for case, _ in known.catalogue}) >= _MANY
    query = form.words("q", "Search", "pooling, grid_sample, any words", width=420)
    lines = TableLines(
        form.tabs("rows", "Rows", list(TableLines), TableLines.THEMES if many and not narrowed else TableLines.CASES)
    )
    by = By(form.tabs("by", "Columns", list(_BY), By.TORCH.value, _BY))
    themes = dict.fromkeys(entry.theme for entry in known.documented if entry.theme)
    theme = form.select("theme", "Theme", list(themes), text="all themes")
    provider = form.one_of("provider", known.providers)
    if len(known.providers) > 1:
        provider = form.select("provider", "Provider", known.providers, text="all providers", shown=looks.PROVIDER)
    statuses = {status.value: status_word(status) for status in Status}
    status = form.select("status", "Status", list(statuses), text="any status", shown=statuses)
    fixes = form.switch("fixes", "Show the workarounds")
    form.choose_setting(known)
    cases = find_cases(kept, kept.answer(FullText), query) if query else ()
    files: tuple[File, ...] = ()
    if query and not cases:
        body = render_unknown(form, kept, "matrix", "case", query)
    else:
        asked = replace(
            form.mine.filters(),
            cases=cases,
            variants=("*",) if fixes else (PLAIN,),
            themes=tuple(filter(None, (theme,))),
            providers=tuple(filter(None, (provider,))),
            statuses=tuple(filter(None, (status,))),
        )
        found = kept.answer(ask, asked, by, lines, form.mine.one("runtime"))
        what = f"the cases of {theme}" if theme else "these cases" if query else "all cases"
        call = CALLS[form.mine.one("exporter") or Exporter.DEFAULT.value]
        has_chart = by is By.TORCH and lines in (TableLines.CASES, TableLines.THEMES) and found.tables
        body = render_answer(found) + (_chart(found.tables[0], what, call) if has_chart else Markup())
        files = make_files("table", found)
    runtime = form.mine.one("runtime").replace("==", " ") or "the installed onnxruntime"
    about = (theme, query)
    return form.page(TITLE, _LEAD.format(runtime), body, about=about, folds=True, searches=True, files=files)


def ask(kept: Kept, asked: Filters, by: By, lines: TableLines, runtime: str) -> Answer:
    """The table on the runtime named, else on the one installed with each release."""
    on = Points(kept).find({"runtime": runtime})[0].on if runtime else None
    return answer_table(kept, asked, by, lines, on)


def _chart(found: Table, what: str, alone: str) -> Markup:
    """The share of the cases that work along the releases, a line for each call, or the one ``alone``."""
    releases = found.columns[found.heads :][::-1]
    at = found.columns.index("call") if "call" in found.columns[: found.heads] else None
    counts: dict[str, list[list[Share]]] = {}
    for row in found.rows:
        call = str(row[at]) if at is not None else alone
        shares = [
            cell if isinstance(cell, Share) else Share(works(cell) is True, works(cell) is not None)
            for cell in row[found.heads :][::-1]
        ]
        counts.setdefault(call, []).append(shares)
    series = [Series(call, tuple(map(_per_cent, zip(*lines, strict=True)))) for call, lines in counts.items()]
    return draw_line_chart(releases, series, f"Share of {what} that work at some opset, in per cent, by torch release")


def _per_cent(shares: Sequence[Share]) -> float | None:
    measured = sum(share.measured for share in shares)
    return round(100 * sum(share.works for share in shares) / measured, 1) if measured else None
