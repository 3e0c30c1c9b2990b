"""One case: what fails, where, with which words, and which of its fixes is needed where."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.answers.reasons import Why, why
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import DEFAULT_OPSET, CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.pages import code_html, search_html
from caniexport.pages.markup import escape, status_legend
from caniexport.pages.overview import cases, overview
from dashboard import case_parts, frame, params
from dashboard.reading import Kept

_EXPORTERS = [member.value for member in Exporter]


@dataclass(frozen=True)
class Subject:
    """The case of the page: its variants in reading order and all of its cells."""

    case: str
    entries: dict[str, CatalogueEntry]
    cells: tuple[MeasuredCell, ...]
    beside: bool

    @property
    def plain(self) -> CatalogueEntry:
        """The failing form."""
        return self.entries.get(PLAIN) or next(iter(self.entries.values()))


def page(kept: Kept) -> None:
    """Draw it."""
    subject = _subject(kept)
    if subject is None:
        _pick(kept)
        return
    frame.back()
    case_parts.words(kept, subject.plain)
    if not subject.beside:
        case_parts.answers(kept, subject.case, PLAIN)
    if subject.beside:
        _beside(kept, subject)
    else:
        _measured(kept, subject)
    case_parts.claims(kept, subject.case)


def _subject(kept: Kept) -> Subject | None:
    rows = kept.rows()
    asked = params.text("case").partition("/")[0]
    known = list(dict.fromkeys(case for case, _ in rows.catalogue))
    if not asked:
        return None
    try:
        case = names.require("case", asked, known)
    except UnknownName:
        return None  # the picker says which names are near
    entries = {variant: entry for (name, variant), entry in rows.catalogue.items() if name == case}
    beside = tuple(cell for cell in rows.environment if cell.case == case)
    cells = beside or tuple(kept.cells_of(case))
    return Subject(case, entries, cells, bool(beside))


def _pick(kept: Kept) -> None:
    found = kept.answer(overview)
    frame.heading("Cases", f"Each is one documented failure with its fixes. {search_html.measured(found)}")
    entries = cases(kept)
    params.select("case", "Case", [entry.case for entry in entries], default="choose one", width=420)
    if found.unmeasured:
        st.html(status_legend(only=[Status.NOT_RUN]))
    st.html(search_html.listing(entries, found))


def _measured(kept: Kept, subject: Subject) -> None:
    variant, exporter, provider = _choose(subject)
    kept_params = {"case": subject.case, "variant": "" if variant == PLAIN else variant, "exporter": exporter}
    if provider != "cpu":
        kept_params["provider"] = provider
    torch = params.one_of("torch", kept.rows().torch, "torch release")
    opset = _opset(subject)
    shown = kept.answer(_explain, subject.case, variant, exporter, provider, torch, opset)
    case_parts.legend(subject.cells, kept_params)
    # side by side where there is room: a click on the left changes what stands on the right
    with st.container(key="stand"):
        with st.container(key="strip"):
            case_parts.strip(subject.cells, kept.rows().torch, shown, kept_params)
        with st.container(key="cell"):
            case_parts.evidence(kept, shown, (torch, exporter, opset))
    case_parts.fixes(kept, subject.entries, exporter, provider, opset if torch == "" else "", kept_params)


def _choose(subject: Subject) -> tuple[str, str, str]:
    """The variant, exporter and provider of the strip."""
    exporters = [name for name in _EXPORTERS if any(cell.exporter == name for cell in subject.cells)] or _EXPORTERS
    variants = [name for name, entry in subject.entries.items() if entry.kind != FixKind.VERSION_UPGRADE.value]
    providers = sorted({cell.provider for cell in subject.cells if cell.provider}) or ["cpu"]
    st.html('<h2 class="sub">Where it stands</h2>')
    with st.container(key="tabs", horizontal=True):
        exporter = params.tabs("exporter", "Exporter", exporters, exporters[0], lambda name: EXPORTER_SHORT[name])
        variant = params.tabs(
            "variant", "Form", variants, PLAIN, lambda name: "failing form" if name == PLAIN else name
        )
        first = "cpu" if "cpu" in providers else providers[0]
        if len(providers) > 1:
            return variant, exporter, params.tabs("provider", "Provider", providers, first)
    provider = params.one_of("provider", providers) or first
    return variant, exporter, provider


def _opset(subject: Subject) -> str:
    """The opset of the URL; a number that this case was not measured at is said so where the cell would be shown."""
    known = sorted({cell.opset for cell in subject.cells if cell.opset is not None})
    return params.one_of("opset", [*map(str, known), DEFAULT_OPSET], "opset")


def _explain(kept: Kept, case: str, variant: str, exporter: str, provider: str, torch: str, opset: str) -> Why:
    providers = (provider,) if provider in kept.rows().providers else ()
    filters = Filters(
        cases=(f"{case}/{variant}",),
        exporters=(exporter,),
        providers=providers,
        torch=(torch,) if torch else (),
        opsets=(opset,) if opset and exporter != Exporter.DEFAULT.value else (),
    )
    return why(kept, filters)[0]


def _beside(kept: Kept, subject: Subject) -> None:
    """An environment case: each of its environments, how far it came, and its own text."""
    st.html('<h2 class="sub">What was installed and tried</h2>')
    for variant, entry in subject.entries.items():
        shown = kept.answer(_environment, subject.case, variant)
        st.html(f"<h3 class='sub'>{escape(variant)}</h3><p class='hint'>{escape(entry.note)}</p>")
        if entry.code:
            st.html(code_html.block(entry.code, python=True))
        case_parts.evidence(kept, shown, ("", "", ""))


def _environment(kept: Kept, case: str, variant: str) -> Why:
    return why(kept, Filters(cases=(f"{case}/{variant}",)))[0]
