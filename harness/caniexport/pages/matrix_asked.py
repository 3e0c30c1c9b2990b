"""What a matrix is asked by an address, and the answer as HTML: for the app and for the first reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from caniexport.answers.filters import Filters
from caniexport.answers.gathered import by_operator, by_theme
from caniexport.answers.matrix import By, Table, table
from caniexport.answers.select import DEFAULT_OPSET, CatalogueEntry, Rows
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages import links, matrix_html
from caniexport.pages.kept import Kept
from caniexport.pages.markup import plural, status_legend

EXPORTERS = tuple(member.value for member in Exporter)
#: the exporters of a matrix that names none
DEFAULT = (Exporter.TRACE.value, Exporter.DYNAMO.value)
SHOWN_BY = (By.TORCH, By.OPSET, By.EXPORTER, By.RUNTIME)
BY_NAME = {
    By.TORCH.value: "torch release",
    By.OPSET.value: "opset",
    By.EXPORTER.value: "exporter",
    By.RUNTIME.value: "runtime",
}
TITLE = "Which documented failures pass where"
_LEAD = (
    "Each cell is a measurement: a small model exported by that torch release, run by the onnxruntime installed "
    "beside it, and compared with eager. "
)
_LEADS = {
    "themes": "3/5: of five measured cases of the theme three work at some opset. Click for the cases.",
    "cases": "Numbers are the opsets that pass. Click a cell for its evidence.",
    "operators": "3/5: of five measured cases that use the operator three work at some opset. Click for the cases.",
}
ROWS = tuple(_LEADS)
#: cases from which on a matrix that names neither rows nor a theme has one row for each theme
MANY = 100
#: filters that a link to a cell takes along: parameter, field
_CARRIED = (("opset", "opset"), ("provider", "provider"))


def lead(rows: str) -> str:
    """The sentences under the page's title, by what the rows are."""
    return _LEAD + _LEADS[rows]


def rows_of(given: Mapping[str, str], rows: Rows) -> str:
    """What the rows are where the address does not say: the cases, themes where there are too many of them."""
    narrowed = given.get("theme") or given.get("q")
    cases = len({case for case, _ in rows.catalogue})
    return "themes" if cases >= MANY and not narrowed else "cases"


@dataclass(frozen=True)
class MatrixParameters:
    """The parameters of a matrix; empty ones take everything, ``torch`` the newest release."""

    rows: str
    by: By = By.TORCH
    query: str = ""
    torch: str = ""
    theme: str = ""
    opset: str = ""
    provider: str = ""
    status: str = ""
    exporters: tuple[str, ...] = DEFAULT
    fixes: bool = False

    def filters(self, cases: tuple[str, ...]) -> Filters:
        """The same as a question to the dataset, of these ``cases`` (empty: all)."""
        return Filters(
            cases=cases,
            variants=("*",) if self.fixes else (PLAIN,),
            torch=_one(self.torch),
            themes=_one(self.theme),
            opsets=_one(self.opset),
            providers=_one(self.provider),
            statuses=_one(self.status),
            exporters=() if self.exporters == DEFAULT else self.exporters,
        )

    def of_theme(self, theme: str) -> str:
        """The address of the same matrix with a theme's cases as its rows; a case without a theme has no such part."""
        named = {
            "by": "" if self.by is By.TORCH else self.by.value,
            "q": self.query,
            "torch": self.torch,
            "theme": theme,
            "opset": self.opset,
            "provider": self.provider,
            "status": self.status,
            "exporter": "" if self.exporters == DEFAULT else self.exporters,
            "fixes": "1" if self.fixes else "",
            "rows": "" if theme else "cases",
        }
        return links.page("matrix", **named)


@dataclass(frozen=True)
class Told:
    """What a matrix answers: HTML ``above`` and of the ``grid`` itself, the ``table`` it was made of.

    ``nothing`` says why there is no table.
    """

    above: str = ""
    grid: str = ""
    nothing: str = ""
    table: Table | None = None


def themes(rows: Rows) -> list[str]:
    """The themes of the cases, in reading order."""
    entries = rows.catalogue.values()
    return list(dict.fromkeys(entry.theme for entry in entries if entry.theme and entry.corpus != CANARY))


def opsets(rows: Rows) -> list[str]:
    """The opsets that can be asked for."""
    return [*map(str, rows.opsets), DEFAULT_OPSET]


def of_address(given: Mapping[str, str], rows: Rows) -> MatrixParameters | None:
    """The question of an address; ``None`` where it has a value that is not known as it stands there."""
    known: dict[str, Sequence[str]] = {
        "rows": ROWS,
        "by": [item.value for item in SHOWN_BY],
        "torch": rows.torch,
        "theme": themes(rows),
        "opset": opsets(rows),
        "provider": rows.providers,
        "status": [status.value for status in Status],
        "fixes": ("1",),
    }
    named = tuple(filter(None, given.get("exporter", "").split(",")))
    if any(given.get(name) and given[name] not in values for name, values in known.items()):
        return None
    if any(name not in EXPORTERS for name in named):
        return None
    by = By(given.get("by") or By.TORCH.value)
    return MatrixParameters(
        given.get("rows") or rows_of(given, rows),
        by,
        given.get("q", ""),
        "" if by is By.TORCH else given.get("torch", ""),
        given.get("theme", ""),
        given.get("opset", ""),
        given.get("provider", ""),
        given.get("status", ""),
        DEFAULT if by is By.EXPORTER or not named else tuple(name for name in EXPORTERS if name in named),
        given.get("fixes") == "1",
    )


def tell(kept: Kept, asked: MatrixParameters) -> Told:
    """The answer; those without a filter are the largest, and what most people see first: they are kept."""
    return kept.answer(_tell, asked) if asked == MatrixParameters(asked.rows) else _tell(kept, asked)


def _tell(kept: Kept, asked: MatrixParameters) -> Told:
    rows = kept.rows()
    matched = matching(rows.catalogue.values(), asked.query) if asked.query else ()
    if asked.query and not matched:
        return Told(nothing=f"No case has all of these words: {asked.query}")
    shown = kept.answer(table, asked.filters(matched), asked.by)
    grid = _grid(shown, asked, rows) if shown.lines else ""
    nothing = "" if grid or shown.environments else "No measured cell passes these filters."
    return Told(_summary(shown, asked.by, _release(rows, asked)), grid, nothing, shown)


def beginning(kept: Kept, asked: MatrixParameters, shown: Table) -> str:
    """The first rows of a large matrix as HTML: more than a screen of them, so few that a browser has them at once."""
    rows = max(1, matrix_html.LIGHT // max(1, len(shown.columns)))
    grid = _grid(shown, asked, kept.rows(), rows)
    return f'{grid}<p class="hint">The first {plural(rows, "row")}; the others follow.</p>'


def _release(rows: Rows, asked: MatrixParameters) -> str:
    """The one release that a matrix is about; none where it is along releases."""
    return "" if asked.by is By.TORCH else asked.torch or "".join(rows.torch[-1:])


def _grid(shown: Table, asked: MatrixParameters, rows: Rows, most: int | None = None) -> str:
    """The table; ``most``: of how many rows."""
    if asked.rows == "operators":
        found = by_operator(shown.lines, shown.columns, rows.catalogue)[:most]
        return matrix_html.gathered(found, shown.columns, "operator", lambda op: links.page("op", op=op), light=True)
    if asked.rows == "themes":
        found = by_theme(shown.lines, shown.columns)[:most]
        return matrix_html.gathered(found, shown.columns, "theme", asked.of_theme, light=True)
    carried = {name: getattr(asked, item) for name, item in _CARRIED}
    if release := _release(rows, asked):
        carried["torch"] = release
    label = f"Matrix of cases by {BY_NAME[asked.by.value]}"
    return matrix_html.table(shown.lines[:most], shown.columns, carried, asked.by, label, light=True)


def matching(entries: Iterable[CatalogueEntry], query: str) -> tuple[str, ...]:
    """Cases of which every word of ``query`` is found in the words, ops or sources of one of its variants."""
    parts = query.casefold().split()
    found = dict.fromkeys(entry.case for entry in entries if entry.corpus != CANARY and _has(entry, parts))
    return tuple(found)


def _has(entry: CatalogueEntry, parts: list[str]) -> bool:
    said = (entry.case, entry.variant, entry.title, entry.theme, entry.note, entry.kind, *entry.ops, *entry.sources)
    text = "\n".join(said).casefold()
    return all(part in text for part in parts)


def _summary(shown: Table, by: By, torch: str) -> str:
    seen: Counter[Status] = Counter()
    for line in shown.lines:
        for place in line.places.values():
            if not place.at:
                seen[Status.NOT_RUN] += 1
            for status, where in place.at.items():
                seen[Status(status)] += len(where)
    cases = plural(len({line.case for line in shown.lines}), "case")
    at = f"at torch {torch}" if torch else f"on {plural(len(shown.columns), 'torch release')}"
    by_what = f" by {BY_NAME[by.value]}" if torch else ""
    missing = len({name.partition("/")[0] for name in shown.unmeasured} - {line.case for line in shown.lines})
    more = (
        f"; {plural(missing, 'more case')} not measured within these filters, named below the table" if missing else ""
    )
    about = f"{cases} {at}{by_what}{more}. Cells by outcome:"
    return f'<p class="hint">{about}</p>{status_legend(seen)}'


def _one(value: str) -> tuple[str, ...]:
    return (value,) if value else ()
