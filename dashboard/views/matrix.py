"""The matrix: cases or operators against torch releases, opsets, exporters or runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import streamlit as st

from dashboard import frame, matrix_html, params
from dashboard.markup import PROVIDER_NAME, links_to_cases, plural, status_legend
from dashboard.reading import Kept
from harness.answers import By, Filters, Table, table
from harness.answers.operators import by_operator
from harness.answers.select import CANARY, DEFAULT_OPSET, Entry, Rows
from harness.answers.signs import EXPORTER_SHORT, word
from harness.worker.case import PLAIN
from harness.worker.status import Exporter, Status

_EXPORTERS = [member.value for member in Exporter]
_DEFAULT = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_SHOWN_BY = (By.TORCH, By.OPSET, By.EXPORTER, By.RUNTIME)
_BY_NAME = {
    By.TORCH.value: "torch release",
    By.OPSET.value: "opset",
    By.EXPORTER.value: "exporter",
    By.RUNTIME.value: "runtime",
}
_LABEL = {by: f"Matrix of cases by {_BY_NAME[by.value]}" for by in _SHOWN_BY}
#: filters that a link to a cell takes along: parameter, name of the filter
_CARRIED = (("opset", "opsets"), ("provider", "providers"))

_CASES = "Numbers are the opsets that pass. Click a cell for its evidence."
_OPERATORS = "3/5: of five measured cases that use the operator three work at some opset. Click for the cases."


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Which documented failures pass where",
        "Each cell is a measurement: a small model exported by that torch release, run by the onnxruntime installed "
        "beside it, and compared with eager. " + (_OPERATORS if params.text("rows") == "operators" else _CASES),
    )
    rows = kept.rows()
    by, operators = _axes()
    asked, query = _filters(rows, by)
    matched = matching(rows.catalogue.values(), query)
    if query and not matched:
        st.info(f"No case has all of these words: {params.plain(query)}", icon=":material/search_off:")
        return
    filters = Filters(
        **asked, cases=matched if query else (), variants=("*",) if params.text("fixes") == "1" else (PLAIN,)
    )
    shown = kept.answer(table, filters, by)
    release = (asked["torch"] or rows.torch[-1:]) if by is not By.TORCH else ()
    _summary(shown, by, "".join(release))
    if shown.lines and operators:
        st.html(matrix_html.operators(by_operator(shown.lines, shown.columns, rows.catalogue), shown.columns))
    elif shown.lines:
        carried = {name: ",".join(asked[item]) for name, item in _CARRIED}
        if release:
            carried["torch"] = release[0]
        st.html(matrix_html.table(shown.lines, shown.columns, carried, by, _LABEL[by]))
    elif not shown.environments:
        st.info("No measured cell passes these filters.", icon=":material/filter_alt_off:")
    if shown.environments:
        st.html('<h2 class="sub">Installing and importing</h2>' + matrix_html.environments(shown.environments))
    # the other notes speak of options of the command line
    frame.notes(item for item in shown.notes if "--" not in item)
    _unmeasured(shown)


def _axes() -> tuple[By, bool]:
    """What the columns are, and whether the rows are operators."""
    with st.container(key="axes", horizontal=True, vertical_alignment="bottom"):
        rows = params.tabs("rows", "Rows", ["cases", "operators"], "cases")
        by = params.tabs("by", "Columns", [item.value for item in _SHOWN_BY], By.TORCH.value, _BY_NAME.__getitem__)
    return By(by), rows == "operators"


def _filters(rows: Rows, by: By) -> tuple[dict[str, tuple[str, ...]], str]:
    """The widgets in one bar; the filters that they stand for, and the words searched for."""
    themes = list(
        dict.fromkeys(entry.theme for entry in rows.catalogue.values() if entry.theme and entry.corpus != CANARY)
    )
    opsets = rows.opsets
    providers = rows.providers
    statuses = [status.value for status in Status]
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "case, op, source, fix")
        torch = ""
        if by is not By.TORCH and rows.torch:
            torch = params.select("torch", "torch", rows.torch[::-1], default=f"newest ({rows.torch[-1]})")
        theme = params.select("theme", "Theme", themes, default="all themes")
        opset = params.select("opset", "Opset", [*map(str, opsets), DEFAULT_OPSET], default="all opsets")
        provider = params.select("provider", "Provider", providers, default="all providers", shown=PROVIDER_NAME)
        status = params.select(
            "status", "Status", statuses, default="any status", shown={item.value: word(item) for item in Status}
        )
        exporters: tuple[str, ...] = _DEFAULT
        if by is not By.EXPORTER:
            exporters = params.pills(
                "exporter", "Exporter", _EXPORTERS, default=_DEFAULT, shown=lambda name: EXPORTER_SHORT[name]
            )
        params.switch("fixes", "Show the fixes")
    asked = {
        "themes": theme,
        "opsets": opset,
        "providers": provider,
        "statuses": status,
        "torch": torch,
    }
    return {
        **{name: (value,) if value else () for name, value in asked.items()},
        "exporters": () if exporters == _DEFAULT else exporters,
    }, query


def matching(entries: Iterable[Entry], query: str) -> tuple[str, ...]:
    """Cases of which every word of ``query`` is found in the words, ops or sources of one of its variants."""
    parts = query.casefold().split()
    found = dict.fromkeys(entry.case for entry in entries if entry.corpus != CANARY and _has(entry, parts))
    return tuple(found)


def _has(entry: Entry, parts: list[str]) -> bool:
    said = (entry.case, entry.variant, entry.title, entry.theme, entry.note, entry.kind, *entry.ops, *entry.sources)
    text = "\n".join(said).casefold()
    return all(part in text for part in parts)


def _summary(shown: Table, by: By, torch: str) -> None:
    seen: Counter[Status] = Counter()
    for line in shown.lines:
        for place in line.places.values():
            if not place.at:
                seen[Status.NOT_RUN] += 1
            for status, where in place.at.items():
                seen[Status(status)] += len(where)
    cases = plural(len({line.case for line in shown.lines}), "case")
    at = f"at torch {torch}" if torch else f"on {plural(len(shown.columns), 'torch release')}"
    by_what = f" by {_BY_NAME[by.value]}" if torch else ""
    missing = len({name.partition("/")[0] for name in shown.unmeasured} - {line.case for line in shown.lines})
    more = (
        f"; {plural(missing, 'more case')} not measured within these filters, named below the table" if missing else ""
    )
    about = f"{cases} {at}{by_what}{more}. Cells by outcome:"
    st.html(f'<p class="hint">{about}</p>{status_legend(seen)}')


def _unmeasured(shown: Table) -> None:
    """What these filters take and nothing was measured of: named, for the table cannot show it."""
    if not shown.unmeasured:
        return
    with st.expander(f"{plural(len(shown.unmeasured), 'form')} not measured within these filters"):
        st.html(links_to_cases(shown.unmeasured))
