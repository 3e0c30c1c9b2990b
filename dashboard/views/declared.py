"""Torch's own operator tables beside what was measured, differences first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import streamlit as st

from caniexport.answers.declared import Agreement, Declared, declared
from caniexport.answers.filters import Filters
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.status import Exporter
from caniexport.pages import links
from caniexport.pages.markup import columns, escape, legend, link, links_to_cases
from caniexport.pages.markup import table as boxed
from dashboard import frame, params
from dashboard.reading import Kept

_EXPORTERS = [Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value]
#: agreement -> (sign and word, class of its colour, what it means)
_LOOKS: dict[Agreement, tuple[str, str, str]] = {
    Agreement.NEVER_PASSES: ("✗ never passes", "s-fail", "torch has a rule; no measured case with it passes"),
    Agreement.LATER: ("~ fewer opsets", "s-degraded", "passes at fewer opsets than torch has a rule for"),
    Agreement.UNDECLARED: ("+ undeclared", "s-timeout", "passes without a rule of its own: torch decomposes it"),
    Agreement.AGREES: ("✓ agrees", "s-pass", "passes wherever torch has a rule"),
    Agreement.NEITHER: ("· neither", "s-unsupported", "no rule, and no case passes"),
    Agreement.UNTRIED: ("· not tried", "s-not-run", "torch itself refuses the cases: no exporter was asked"),
}
_COLUMNS = ("operator", "exporter", "torch declares opsets", "cases pass at opsets", "so", "cases")


def page(kept: Kept) -> None:
    """Draw it."""
    frame.heading(
        "Declared against measured",
        "The tables of operators that torch carries itself, read in each environment, beside the cells. "
        "A registered rule is not yet a passing export.",
    )
    releases = list(reversed(kept.rows().torch))
    if not releases:
        st.info("No torch release has been measured yet.")
        return
    names = {agreement.name.lower().replace("_", "-"): agreement for agreement in Agreement}
    with st.container(key="filters", horizontal=True, vertical_alignment="bottom"):
        query = params.words("q", "Search", "operator or case")
        torch = params.select("torch", "torch", releases, default=f"newest ({releases[0]})") or releases[0]
        exporters = params.pills(
            "exporter", "Exporter", _EXPORTERS, default=_EXPORTERS, shown=lambda name: EXPORTER_SHORT[name]
        )
        wanted = params.pills("is", "Show", list(names), shown=lambda name: _LOOKS[names[name]][0])
    found = kept.answer(declared, Filters(torch=(torch,), exporters=exporters))
    if not found:
        st.info("The dataset holds no operator tables of this release.")
        return
    shown = [item for item in found if _has(item, query) and (not wanted or _short(item.agreement) in wanted)]
    seen = Counter(item.agreement for item in found)
    st.html(legend((_badge(agreement), look[2], seen[agreement]) for agreement, look in _LOOKS.items()))
    if shown:
        st.html(boxed(f"Operators of torch {torch}", "plain", columns(_COLUMNS), "".join(map(_row, shown))))
    else:
        st.info("No operator passes these filters.", icon=":material/filter_alt_off:")


def _short(agreement: Agreement) -> str:
    return agreement.name.lower().replace("_", "-")


def _has(item: Declared, query: str) -> bool:
    text = " ".join((item.op, *item.cases)).casefold()
    return all(part in text for part in query.casefold().split())


def _badge(agreement: Agreement) -> str:
    sign, kind, _ = _LOOKS[agreement]
    return f'<span class="badge {kind}">{escape(sign)}</span>'


def _row(item: Declared) -> str:
    op = link(links.page("op", op=item.op), escape(item.op))
    values: Iterable[str] = (EXPORTER_SHORT.get(item.exporter, item.exporter), item.declared, item.passing)
    cells = "".join(f'<td class="tight">{escape(value or "none")}</td>' for value in values)
    return (
        f'<tr><th scope="row">{op}</th>{cells}<td class="tight">{_badge(item.agreement)}</td>'
        f"<td>{links_to_cases(item.cases)}</td></tr>"
    )
