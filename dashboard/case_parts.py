"""The parts of the case page, each drawn from one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from caniexport import versions
from caniexport.answers.documents import all_claims
from caniexport.answers.reasons import Why
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.errors import CaniexportError
from caniexport.model.status import FixKind, Status
from caniexport.pages import claims_html, code_html, evidence_html, graph_html, links, search_html, strip_html
from caniexport.pages.markup import chips, escape, facts, link, sources, status_badge, status_legend, word_legend
from caniexport.store import graphs
from dashboard import params, scripts
from dashboard.frame import heading
from dashboard.reading import Kept


def words(kept: Kept, entry: CatalogueEntry) -> None:
    """What the case is about and where it is documented."""
    heading(entry.title or entry.case, f"{entry.case} · {entry.theme or 'no theme'}")
    row = _catalogue_row(kept, entry)
    description = row.get("description") or ""
    if description:
        st.html(f'<p class="hint">{escape(description)}</p>')
    about = (
        ("sources", sources(kept.sources(entry.case))),
        ("torch operators", chips(row.get("aten_ops") or ())),
        ("ONNX operators", chips(row.get("onnx_ops") or ())),
        ("records", chips(row.get("records") or ())),
        ("needs torch", escape(entry.needs_torch)),
    )
    st.html(facts(about))


def answers(kept: Kept, case: str, variant: str) -> None:
    """One line for each exporter: where it works."""
    found = kept.supports(case, variant)
    if found:
        st.html(search_html.answers(found, {"case": case, "variant": "" if variant == PLAIN else variant}))


def _catalogue_row(kept: Kept, entry: CatalogueEntry) -> dict[str, Any]:
    found = kept.records("cases", {"case": (entry.case,), "variant": (entry.variant,)})
    return found[0] if found else {}


def strip(cells: Iterable[MeasuredCell], releases: Sequence[str], shown: Why, kept_params: Mapping[str, str]) -> None:
    """Torch releases by opsets for the variant and exporter chosen."""
    mine = _chosen(cells, kept_params)
    row = shown.detail.row if shown.detail else None
    chosen = (row["torch"], _opset_name(row)) if row else None
    if mine:
        st.html(strip_html.strip(mine, releases, chosen, kept_params))


def legend(cells: Iterable[MeasuredCell], kept_params: Mapping[str, str]) -> None:
    """The signs of the strip explained."""
    st.html(status_legend(only={cell.status for cell in _chosen(cells, kept_params)} | {Status.NOT_RUN}))


def _chosen(cells: Iterable[MeasuredCell], kept_params: Mapping[str, str]) -> list[MeasuredCell]:
    """The cells of the variant, exporter and provider of the page."""
    variant = kept_params["variant"] or PLAIN
    provider = kept_params.get("provider", "cpu")
    return [
        cell
        for cell in cells
        if (cell.variant, cell.exporter) == (variant, kept_params["exporter"])
        and cell.provider in (provider, None, "none")
    ]


def _opset_name(row: Mapping[str, Any]) -> str:
    return strip_html.opset_name(None if row["opset"] is None else int(row["opset"]))


def evidence(kept: Kept, shown: Why, asked: tuple[str, str, str]) -> None:
    """The cell chosen: how it ended, the real text, what was installed, how to repeat it."""
    if shown.detail is None:
        torch, exporter, opset = asked
        said = [f"torch {torch}"] * bool(torch) + [exporter] * bool(exporter) + [f"opset {opset}"] * bool(opset)
        where = ", ".join(said) or "any release"
        nothing = escape(f"Nothing was measured for {where}.")
        st.html(f'<p class="counts">{status_badge(Status.NOT_RUN)} <span>{nothing}</span></p>')
        return
    row = shown.detail.row
    with st.container(key=f"evidence-{shown.entry.variant}", border=True):
        st.html(f'<h3 class="sub">{evidence_html.place(row)} &nbsp;{status_badge(Status(row["status"]))}</h3>')
        if row["message_id"]:
            st.html('<p class="hint">The text of the error, as it was raised</p>')
            missing = f"(the text {row['message_id']} is missing in the dataset)"
            st.html(code_html.block(kept.message(row["message_id"]) or missing, wrap=True))
        st.html(facts(evidence_html.facts_of(row, shown.detail)))
        drawn = _graph(kept, row) if row["bundle"] else ""
        if drawn:
            st.html(drawn)
        if shown.runtimes:
            st.html('<p class="hint">The same files on every runtime that has run them</p>')
            st.html(evidence_html.runtimes(shown.runtimes))
        if shown.detail.warnings:
            with st.expander("Warnings during the export"):
                st.html(code_html.block(shown.detail.warnings, wrap=True))
        with st.expander("Installed versions"):
            st.html(facts(evidence_html.packages(shown.detail)))
        st.html('<p class="hint">Measure this cell again</p>')
        st.html(code_html.block(shown.detail.repeat, wrap=True))
        _script(kept, shown)


def _graph(kept: Kept, row: Mapping[str, Any]) -> str:
    """The file's graph as a picture; where it is not kept, where the nearest file's is."""
    graph = kept.graph(row["bundle"])
    if graph is not None:
        return f'<p class="hint">The exported graph</p>{graph_html.picture(graph)}'
    place = (row["case"], row["variant"], row["exporter"])
    found = nearest(row, kept.answer(graphs.elsewhere, *place))
    if found is None:
        return ""
    torch, opset = found
    variant = "" if row["variant"] == PLAIN else row["variant"]
    name = _opset_name({"opset": opset})
    address = links.page("case", case=row["case"], variant=variant, exporter=row["exporter"], torch=torch, opset=name)
    there = link(address, escape(f"torch {torch}" if opset is None else f"torch {torch}, opset {opset}"))
    return f'<p class="hint">A picture of this file is not kept; of the one of {there} there is.</p>'


def nearest(row: Mapping[str, Any], places: list[tuple[str, int | None]]) -> tuple[str, int | None] | None:
    """Of the places with a picture the nearest to a cell: its own release, then its opset, then the next release."""
    own, ranked = versions.parse(row["torch"]), sorted(places, key=lambda place: versions.parse(place[0]))
    opset = row["opset"] or 0

    def distance(place: tuple[int, tuple[str, int | None]]) -> tuple[bool, int, bool, int]:
        index, (torch, other) = place
        older = versions.parse(torch) < own
        return torch != row["torch"], abs((other or 0) - opset), older, -index if older else index

    return min(enumerate(ranked), key=distance, default=(0, None))[1]


def _script(kept: Kept, shown: Why) -> None:
    """The cell as a script of its own, when it is asked for: making it takes a moment."""
    if not params.switch("script", "Show it as a script that needs nothing of ours"):
        return
    try:
        text = scripts.script(kept, shown)
    except CaniexportError as error:
        st.info(params.plain(str(error)))
        return
    name = f"{links.slug(shown.entry.case)}.py"
    st.download_button(f"Save {name}", text, file_name=name, mime="text/x-python", on_click="ignore")
    st.html(f'<p class="hint">Run it: <code>uv run --script {escape(name)}</code></p>')
    st.html(code_html.block(text, python=True))


def fixes(
    kept: Kept,
    entries: Mapping[str, CatalogueEntry],
    exporter: str,
    provider: str,
    opset: str,
    kept_params: Mapping[str, str],
) -> None:
    """The failing form and each fix as code, and each fix's word on every release."""
    found = [entry for entry in entries.values() if entry.variant != PLAIN]
    case = kept_params["case"]
    if found:
        asked = int(opset) if opset.isdigit() else None
        st.html('<h2 class="sub">Is a fix needed?</h2>')
        which = f"opset {opset}" if asked is not None else "each release's own default opset"
        st.html(f'<p class="hint">With {escape(EXPORTER_SHORT.get(exporter, exporter))} at {escape(which)}.</p>')
        opsets = {torch: kept.ruler().opset(torch, exporter, asked) for torch in kept.rows().torch}
        words = kept.words(case, exporter, provider, asked)
        carried = {name: kept_params[name] for name in ("case", "exporter")}
        st.html(strip_html.words(words, sorted(found, key=_recommended), opsets, carried))
        st.html(word_legend())
    st.html('<h2 class="sub">The forms</h2>')
    with st.container(key="forms"):
        for entry in sorted(entries.values(), key=_recommended):
            _form(entry)


def _recommended(entry: CatalogueEntry) -> tuple[bool, bool, bool]:
    """The failing form first, then what sources state, then our own proposals, then what is known to be wrong."""
    return entry.variant != PLAIN, entry.caution, not entry.documented


def _form(entry: CatalogueEntry) -> None:
    with st.container(key=f"form-{entry.variant}"):
        name = "Failing form" if entry.variant == PLAIN else entry.variant
        kind = "" if entry.variant == PLAIN else f"{entry.kind}{'' if entry.documented else ', our own proposal'}"
        st.html(f'<h3 class="sub">{escape(name)} <small class="quiet">{escape(kind)}</small></h3>')
        if entry.note:
            st.html(f'<p class="hint">{escape(entry.note)}</p>')
        if entry.caution:
            st.html('<p class="careful">Careful: known to be wrong or partial. Not a recommendation.</p>')
        if entry.code:
            st.html(code_html.block(entry.code, python=True))
        elif entry.kind == FixKind.VERSION_UPGRADE.value:
            st.html(f'<p class="hint">torch {escape(entry.needs_torch)}; judged on the failing form there.</p>')


def claims(kept: Kept, case: str) -> None:
    """What sources say of this case, and what was measured of it."""
    found = [claim for claim in kept.answer(all_claims) if claim.case == case]
    if found:
        st.html('<h2 class="sub">What the sources claim</h2>')
        st.html(claims_html.table(found, with_case=False))
