"""The matrix: cases, themes or operators against torch releases, opsets, exporters or runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from caniexport.answers.filters import Filters
from caniexport.answers.frames import matrix_frame
from caniexport.answers.gathered import by_exporter, by_operator, by_theme
from caniexport.answers.matrix import By, CaseTable, table
from caniexport.answers.search import FullText, find_cases
from caniexport.answers.select import Rows
from caniexport.answers.signs import word
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS, Exporter, Status
from caniexport.names import plural
from caniexport.pages import grid, links, looks
from caniexport.pages.charts import share_chart
from caniexport.pages.form import Form, Page
from caniexport.pages.grid import Cells, GridTable, choose_cells
from caniexport.pages.kept import Kept
from caniexport.pages.overview import careful_fixes
from caniexport.pages.render import render
from caniexport.pages.setting import Setting
from caniexport.pages.sheet import File
from caniexport.pages.unfound import unfound

if TYPE_CHECKING:
    import pandas as pd

#: the exporters of a matrix that names none
_DEFAULT = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_BY = {
    By.TORCH.value: "torch release",
    By.OPSET.value: "opset",
    By.EXPORTER.value: "exporter",
    By.RUNTIME.value: "runtime",
}
TITLE = "Show me the table: which documented failures pass where"
_LEAD = "Each cell is measured: a small model exported by that torch release, run by {}, compared with eager. "
_LEADS = {
    "themes": "3/5: of five measured cases of the theme three work at some opset. Click for the cases.",
    "cases": "A row is the failing form of a case, the model as its sources show it; numbers are the opsets that pass.",
    "operators": "3/5: of five measured cases that use the operator three work at some opset. Click for the cases.",
}
#: how a place with numbers is read
_LINE = ("a line below a place", "the worst of what else happens there")
_NUMBERS = (
    ("18-26", "works at these opsets, fails at the others that were tried, with the signs behind them"),
    ("all", "works at every opset that the release takes"),
    ("two signs", "both happen there, at different opsets: the text of a place says at which"),
    _LINE,
)
_SHARES = (("3/5", "of five cases three work"), _LINE)
#: cases from which on a matrix that names neither rows nor a theme has one row for each theme
_MANY = 100


@dataclass(frozen=True)
class MatrixParameters:
    """What is asked for; empty parameters take everything, no release of ``mine`` the newest where one is meant."""

    rows: str
    by: By = By.TORCH
    query: str = ""
    theme: str = ""
    provider: str = ""
    status: str = ""
    fixes: bool = False
    mine: Setting = field(default_factory=Setting)

    def filters(self, cases: tuple[str, ...]) -> Filters:
        """The same as a question to the dataset, of these ``cases`` (empty: all)."""
        return replace(
            self.mine.filters(exporters=_DEFAULT if cases and self.by is not By.EXPORTER else ()),
            cases=cases,
            variants=("*",) if self.fixes else (PLAIN,),
            themes=_one(self.theme),
            providers=_one(self.provider),
            statuses=_one(self.status),
        )

    @property
    def address(self) -> dict[str, str]:
        """The same as the parameters of an address."""
        return {
            "rows": self.rows,
            "by": "" if self.by is By.TORCH else self.by.value,
            "q": self.query,
            "theme": self.theme,
            "provider": self.provider,
            "status": self.status,
            "fixes": "1" if self.fixes else "",
            **self.mine.address,
        }

    def of_theme(self, theme: str, **place: str) -> str:
        """The address of the same matrix with a theme's cases as its rows; a case without a theme has no such part.
        ``place`` is what a cell adds.
        """
        return links.page("matrix", **{**self.address, "theme": theme, "rows": "" if theme else "cases", **place})

    def release(self, rows: Rows) -> str:
        """The one release that a matrix is about; none where it is along releases, or about several."""
        several = self.by is By.TORCH or len(self.mine.of("torch")) > 1
        return "" if several else self.mine.one("torch") or "".join(rows.torch[-1:])


def page(form: Form, kept: Kept) -> Page:
    """The matrix that is asked for."""
    rows = kept.rows()
    asked = _asked(form, rows)
    matched = matching(kept, asked.query) if asked.query else ()
    if asked.query and not matched:
        body = unfound(form, kept, "matrix", "case", asked.query)
    else:
        body = _body(form, kept, asked, kept.answer(table, asked.filters(matched), asked.by))
    runtime = "the runtime chosen" if asked.mine.of("runtime") else "the onnxruntime beside it"
    lead = _LEAD.format(runtime) + _LEADS[asked.rows]
    about = asked.theme, asked.query
    files = _files(kept, asked, matched)
    return form.page(TITLE, lead, body, about=about, folds=True, searches=True, files=files)


def _files(kept: Kept, asked: MatrixParameters, matched: tuple[str, ...]) -> tuple[File, ...]:
    """The cells of the lines that a matrix shows."""

    def cells() -> pd.DataFrame:
        frame = matrix_frame(kept, asked.filters(matched), asked.by)
        return frame if matched or not asked.query else frame[:0]

    return (
        File("cells.csv", lambda: cells().to_csv(index=False)),
        File("cells.parquet", lambda: cells().to_parquet(index=False)),
    )


def _body(form: Form, kept: Kept, asked: MatrixParameters, shown: CaseTable) -> Markup:
    """Those without a filter are the largest, and what most people see first: they are kept (0.15 of 0.2 s)."""
    if asked == MatrixParameters(asked.rows):
        return kept.answer(_unfiltered, asked, form.whole)
    return _told(kept, asked, shown, form.whole)


def _unfiltered(kept: Kept, asked: MatrixParameters, whole: bool) -> Markup:
    return _told(kept, asked, kept.answer(table, asked.filters(()), asked.by), whole)


def matching(kept: Kept, query: str) -> tuple[str, ...]:
    """The cases that a name or words mean, best first."""
    return find_cases(kept, kept.answer(FullText), query)


def _asked(form: Form, rows: Rows) -> MatrixParameters:
    narrowed = form.text("theme") or form.text("q")
    many = len({case for case, _ in rows.catalogue}) >= _MANY
    query = form.words("q", "Search", "pooling, grid_sample, any words", width=420)
    down = form.tabs("rows", "Rows", list(_LEADS), "themes" if many and not narrowed else "cases")
    by = By(form.tabs("by", "Columns", list(_BY), By.TORCH.value, _BY))
    entries = rows.catalogue.values()
    themes = list(dict.fromkeys(entry.theme for entry in entries if entry.theme and entry.corpus != CANARY))
    statuses = {status.value: word(status) for status in Status}
    theme = form.select("theme", "Theme", themes, text="all themes")
    provider = form.one_of("provider", rows.providers)
    if len(rows.providers) > 1:
        provider = form.select("provider", "Provider", rows.providers, text="all providers", shown=looks.PROVIDER)
    status = form.select("status", "Status", list(statuses), text="any status", shown=statuses)
    fixes = form.switch("fixes", "Show the fixes")
    form.choose_setting(rows, exporters=() if by is By.EXPORTER else _DEFAULT)
    return MatrixParameters(down, by, query, theme, provider, status, fixes, form.mine)


def _told(kept: Kept, asked: MatrixParameters, shown: CaseTable, whole: bool) -> Markup:
    """The legend with its numbers, the table, and what nothing was measured of."""
    seen = count_statuses(shown)
    return render(
        "matrix.html",
        summary=_summary(shown, asked, asked.release(kept.rows())),
        seen=seen,
        numbers=_NUMBERS if asked.rows == "cases" else _SHARES,
        ops=() if whole else _operators(kept, asked),
        trouble=asked.rows == "cases",
        chart=_chart(asked, shown),
        looked=_looked(seen, asked),
        grid=_grid(kept, asked, shown, whole) if shown.lines else None,
        asked=asked.address,
        whole=whole,
        environments=shown.environments,
        unmeasured=shown.unmeasured,
        # the other notes are about options of the command line
        notes=[item for item in shown.notes if "--" not in item],
    )


def _operators(kept: Kept, asked: MatrixParameters) -> tuple[str, ...]:
    """The operators of torch that the cases of a theme use, where the rows are the cases of one."""
    theme = asked.theme or asked.query
    entries = (entry for entry in kept.rows().catalogue.values() if theme and entry.theme == theme)
    found = dict.fromkeys(op for entry in entries for op in entry.ops if "::" in op)
    return tuple(found) if asked.rows == "cases" else ()


def count_statuses(shown: CaseTable) -> Counter[Status]:
    """How many cells of a table ended how. A place where nothing was measured counts once; along releases each release
    that was not measured there counts.
    """
    seen: Counter[Status] = Counter()
    for line in shown.lines:
        for place in line.places.values():
            seen.update({Status(status): len(where) for status, where in place.at.items()})
            if missing := len(place.missing) or not place.at:
                seen[Status.NOT_RUN] += missing
    return seen


def _chart(asked: MatrixParameters, shown: CaseTable) -> Markup:
    """The share of the cases that work along torch, where the matrix is along torch and shows no fixes."""
    if asked.by is not By.TORCH or asked.fixes or asked.status:
        return Markup()
    what = f"the cases of {asked.theme}" if asked.theme else "these cases" if asked.query else "all cases"
    return share_chart(by_exporter(shown.lines, shown.columns), shown.columns, what)


def _looked(seen: Mapping[Status, int], asked: MatrixParameters) -> dict[Status | None, looks.Look]:
    """The looks of the signs that are on the page."""
    found = looks.statuses(status for status, count in seen.items() if count)
    return {**found, None: looks.MIXED} if asked.rows != "cases" else found


def _grid(kept: Kept, asked: MatrixParameters, shown: CaseTable, whole: bool) -> GridTable:
    rows, choose = kept.rows(), partial(choose_cells, columns=shown.columns)
    if asked.rows == "operators":
        found = by_operator(shown.lines, shown.columns, rows.catalogue)
        drawn = Cells.LINKED if whole else choose(found)
        address = partial(_of_operator, asked)
        return grid.of_gathered(found, shown.columns, "operator", address, asked.by, part=_whose, drawn=drawn)
    if asked.rows == "themes":
        found = by_theme(shown.lines, shown.columns)
        drawn = Cells.LINKED if whole else choose(found)
        return grid.of_gathered(found, shown.columns, "theme", asked.of_theme, asked.by, drawn=drawn)
    opsets = asked.mine.of("opset")
    carried = {"opset": opsets[0] if len(opsets) == 1 else "", "provider": asked.provider}
    if release := asked.release(rows):
        carried["torch"] = release
    label = f"Matrix of cases by {_BY[asked.by.value]}"
    careful = {} if asked.fixes else careful_fixes(kept)
    lines, drawn = shown.lines, Cells.BARE if whole else choose(shown.lines)
    exporters: tuple[str, ...] = ()
    if whole and asked.by is By.TORCH:
        # a file has the rows that its reader may ask for, hidden until then
        filters = replace(asked.filters(()), exporters=EXPORTERS)
        lines, exporters = kept.answer(table, filters, asked.by).lines, _DEFAULT
    return grid.of_lines(lines, shown.columns, carried, asked.by, label, drawn=drawn, careful=careful, shown=exporters)


def _of_operator(asked: MatrixParameters, op: str, **place: str) -> str:
    """The page of an operator, at what a cell adds."""
    return links.page("op", **{**asked.mine.address, "op": op, **place})


def _whose(op: str) -> str:
    """Under which head an operator stands."""
    return "operators of torch" if "::" in op else "operators of ONNX"


def _summary(shown: CaseTable, asked: MatrixParameters, torch: str) -> str:
    cases = {line.case for line in shown.lines}
    at = f"at torch {torch}" if torch else f"on {plural(len(shown.columns), 'torch release')}"
    if asked.by is not By.TORCH and not torch:
        at = f"on {plural(len(asked.mine.of('torch')), 'torch release')}"
    if asked.mine.of("runtime"):
        at += f", by how their files end on {asked.mine.one('runtime').replace('==', ' ')}, where they were run on it"
    by = "" if asked.by is By.TORCH else f" by {_BY[asked.by.value]}"
    beside = {line.case for line in shown.environments}
    missing = len({name.partition("/")[0] for name in shown.unmeasured} - cases - beside)
    # both are named below the table
    of = f"{len(cases)} of " if missing else ""
    installing = f" (+ {len(beside)} about installing)" if beside else ""
    counted = f"{of}{plural(len(cases) + missing, 'case')} {at}{by}{installing}"
    each = "release" if asked.by is By.OPSET else "opset"
    return f"{counted}. A place has one cell for each {each}; they ended:"


def _one(value: str) -> tuple[str, ...]:
    return (value,) if value else ()
