"""The matrix: cases or operators against torch releases, opsets, exporters or runtimes."""

from __future__ import annotations

import streamlit as st

from caniexport.answers.matrix import By, Table
from caniexport.answers.select import Rows
from caniexport.answers.signs import EXPORTER_SHORT, word
from caniexport.model.status import Status
from caniexport.pages import matrix_asked, matrix_html
from caniexport.pages.markup import PROVIDER_NAME, links_to_cases, plural
from caniexport.pages.matrix_asked import BY_NAME, DEFAULT, EXPORTERS, ROWS, SHOWN_BY, MatrixParameters
from dashboard import frame, params
from dashboard.reading import Kept


def page(kept: Kept) -> None:
    """Draw it."""
    rows = kept.rows()
    default = matrix_asked.rows_of({name: params.text(name) for name in ("theme", "q")}, rows)
    asked_rows = params.text("rows")
    frame.heading(matrix_asked.TITLE, matrix_asked.lead(asked_rows if asked_rows in ROWS else default))
    told = matrix_asked.tell(kept, _asked(rows, default))
    if told.table is None:
        st.info(params.plain(told.nothing), icon=":material/search_off:")
        return
    st.html(told.above)
    if told.grid:
        frame.own(told.grid)
    elif told.nothing:
        st.info(told.nothing, icon=":material/filter_alt_off:")
    if told.table.environments:
        st.html('<h2 class="sub">Installing and importing</h2>' + matrix_html.environments(told.table.environments))
    # the other notes speak of options of the command line
    frame.notes(item for item in told.table.notes if "--" not in item)
    _unmeasured(told.table)


def _asked(rows: Rows, default: str) -> MatrixParameters:
    """The widgets in two bars, and the question that they stand for."""
    down, by = _axes(default)
    statuses = [status.value for status in Status]
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "case, op, source, fix")
        torch = ""
        if by is not By.TORCH and rows.torch:
            torch = params.select("torch", "torch", rows.torch[::-1], default=f"newest ({rows.torch[-1]})")
        theme = params.select("theme", "Theme", matrix_asked.themes(rows), default="all themes")
        opset = params.select("opset", "Opset", matrix_asked.opsets(rows), default="all opsets")
        provider = params.select("provider", "Provider", rows.providers, default="all providers", shown=PROVIDER_NAME)
        status = params.select(
            "status", "Status", statuses, default="any status", shown={item.value: word(item) for item in Status}
        )
        exporters: tuple[str, ...] = DEFAULT
        if by is not By.EXPORTER:
            exporters = params.pills(
                "exporter", "Exporter", EXPORTERS, default=DEFAULT, shown=lambda name: EXPORTER_SHORT[name]
            )
        fixes = params.switch("fixes", "Show the fixes")
    return MatrixParameters(down, by, query, torch, theme, opset, provider, status, exporters, fixes)


def _axes(default: str) -> tuple[str, By]:
    """What the rows are, and the columns."""
    with st.container(key="axes", horizontal=True, vertical_alignment="bottom"):
        rows = params.tabs("rows", "Rows", ROWS, default)
        by = params.tabs("by", "Columns", [item.value for item in SHOWN_BY], By.TORCH.value, BY_NAME.__getitem__)
    return rows, By(by)


def _unmeasured(shown: Table) -> None:
    """What these filters take and nothing was measured of: named, for the table cannot show it."""
    if not shown.unmeasured:
        return
    with st.expander(f"{plural(len(shown.unmeasured), 'form')} not measured within these filters"):
        st.html(links_to_cases(shown.unmeasured))
