"""The parts of the case page, each drawn from one answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import claims_html, links, strip_html
from dashboard.frame import heading
from dashboard.markup import chips, escape, facts, link, source_link, status_badge, status_legend, table, word_legend
from dashboard.reading import Kept
from harness.answers import Filters, Standing, Why, workarounds
from harness.answers.documents import all_claims
from harness.answers.reasons import Detail
from harness.answers.rows import Cell, records
from harness.answers.select import DEFAULT_OPSET, Entry
from harness.answers.signs import EXPORTER_SHORT
from harness.worker.case import PLAIN
from harness.worker.status import Exporter, FixKind, Status

#: packages named first: what decides an export
_PACKAGES = ("torch", "onnx", "onnxscript", "onnx-ir", "onnx_ir", "onnxruntime", "numpy", "protobuf")


def words(kept: Kept, entry: Entry) -> None:
    """What the case is about and where it is documented."""
    heading(entry.title or entry.case, f"{entry.case} · {entry.theme or 'no theme'}")
    row = _catalogue_row(kept, entry)
    description = row.get("description") or ""
    if description:
        st.html(f'<p class="hint">{escape(description)}</p>')
    about = (
        ("sources", "".join(map(source_link, entry.sources))),
        ("torch operators", chips(row.get("aten_ops") or ())),
        ("ONNX operators", chips(row.get("onnx_ops") or ())),
        ("records", chips(row.get("records") or ())),
        ("needs torch", escape(entry.needs_torch)),
    )
    st.html(facts(about))


def _catalogue_row(kept: Kept, entry: Entry) -> dict[str, Any]:
    frame = kept.cases()
    found = records(frame[(frame["case"] == entry.case) & (frame["variant"] == entry.variant)])
    return found[0] if found else {}


def listing(entries: Iterable[Entry]) -> str:
    """Every case as a link, by theme."""
    rows = "".join(
        f'<tr><td class="tight quiet">{escape(entry.theme)}</td>'
        f'<th scope="row">{link(links.page("case", case=entry.case), escape(entry.title or entry.case))}</th></tr>'
        for entry in entries
    )
    return table("Cases", "plain", "", rows, whole=True)


def strip(cells: Iterable[Cell], releases: Sequence[str], shown: Why, kept_params: Mapping[str, str]) -> None:
    """Torch releases by opsets for the variant and exporter chosen."""
    variant = kept_params["variant"] or PLAIN
    provider = kept_params.get("provider", "cpu")
    mine = [
        cell
        for cell in cells
        if (cell.variant, cell.exporter) == (variant, kept_params["exporter"])
        and cell.provider in (provider, None, "none")
    ]
    row = shown.detail.row if shown.detail else None
    chosen = (row["torch"], _opset_name(row)) if row else None
    if mine:
        st.html(strip_html.strip(mine, releases, chosen, kept_params))
    seen = {cell.status for cell in mine} | {Status.NOT_RUN}
    st.html(status_legend(only=seen))


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
        st.html(f'<h3 class="sub">{_place(row)} &nbsp;{status_badge(Status(row["status"]))}</h3>')
        if row["message_id"]:
            st.html('<p class="hint">The text of the error, as it was raised</p>')
            missing = f"(the text {row['message_id']} is missing in the dataset)"
            st.code(kept.message(row["message_id"]) or missing, language=None, wrap_lines=True)
        st.html(facts(_evidence(row, shown.detail)))
        if shown.detail.warnings:
            with st.expander("Warnings during the export"):
                st.code(shown.detail.warnings, language=None, wrap_lines=True)
        with st.expander("Installed versions"):
            st.html(facts(_packages(shown.detail)))
        st.html('<p class="hint">Measure this cell again</p>')
        st.code(shown.detail.repeat, language="bash", wrap_lines=True)


def _place(row: Mapping[str, Any]) -> str:
    parts = []
    if row["torch"]:
        parts.append(f"torch {row['torch']}")
    if row["exporter"]:
        parts.append(EXPORTER_SHORT.get(row["exporter"], row["exporter"]))
        parts.append("its own opset" if row["opset"] is None else f"opset {int(row['opset'])}")
    return escape(" · ".join(parts) or "this environment")


def _evidence(row: Mapping[str, Any], detail: Detail) -> list[tuple[str, str]]:
    runtime = f"{row['runtime']} {row['runtime_version']} on {row['provider']}" if row["runtime_version"] else ""
    when = str(row["measured_at"] or "")[:16].replace("T", " ")
    return [
        ("ended at stage", escape(row["stage"])),
        ("file written", escape(_file(row))),
        ("operators in it", escape(row["ops"] or "")),
        ("noted of the file", escape(", ".join(f"{name}: {value}" for name, value in detail.facts.items()))),
        ("largest difference", escape(_difference(row))),
        ("runtime", escape(runtime)),
        ("signature", escape(row["signature"] or "")),
        (
            "measured",
            escape(
                f"{when} UTC, {'on this machine' if row['origin'] == 'local' else 'published'}, run {row['run_id']}"
            ),
        ),
    ]


def _file(row: Mapping[str, Any]) -> str:
    if row["opset_effective"] is None:
        return ""
    exporter = EXPORTER_SHORT.get(row["exporter_effective"] or "", row["exporter_effective"] or "")
    nodes = f", {int(row['node_count'])} nodes" if row["node_count"] is not None else ""
    ir = f", IR version {int(row['ir_version'])}" if row["ir_version"] is not None else ""
    return f"opset {int(row['opset_effective'])} by {exporter or 'an unnamed exporter'}{ir}{nodes}"


def _difference(row: Mapping[str, Any]) -> str:
    if row["max_abs_error"] is None:
        return ""
    allowed = f" (allowed: {row['rtol']:.2g} relative, {row['atol']:.2g} absolute)" if row["rtol"] is not None else ""
    relative = f", {row['max_rel_error']:.3g} relative" if row["max_rel_error"] is not None else ""
    return f"{row['max_abs_error']:.3g} absolute{relative}{allowed}"


def _packages(detail: Detail) -> list[tuple[str, str]]:
    first = [(name, detail.packages[name]) for name in _PACKAGES if name in detail.packages]
    others = [(name, version) for name, version in sorted(detail.packages.items()) if name not in _PACKAGES]
    named = [*first, *others, ("Python", str(detail.row["python"] or "")), ("platform", detail.platform)]
    return [(name, escape(version)) for name, version in named]


def fixes(
    kept: Kept, entries: Mapping[str, Entry], exporter: str, provider: str, opset: str, kept_params: Mapping[str, str]
) -> None:
    """The failing form and each fix as code, and each fix's word on every release."""
    found = [entry for entry in entries.values() if entry.variant != PLAIN]
    case = kept_params["case"]
    if found:
        st.html('<h2 class="sub">Is a fix needed?</h2>')
        which = f"opset {opset}" if opset and opset != DEFAULT_OPSET else "each release's own default opset"
        st.html(f'<p class="hint">With {escape(EXPORTER_SHORT.get(exporter, exporter))} at {escape(which)}.</p>')
        standings = kept.about(case).answer(_standings, case, exporter, provider, opset)
        st.html(strip_html.words(standings, {name: kept_params[name] for name in ("case", "exporter")}))
        st.html(word_legend())
    st.html('<h2 class="sub">The forms</h2>')
    with st.container(key="forms"):
        for entry in sorted(entries.values(), key=_recommended):
            _form(entry)


def _standings(kept: Kept, case: str, exporter: str, provider: str, opset: str) -> dict[str, tuple[Standing, ...]]:
    """By release, oldest first: the standing of every fix."""
    found = {}
    providers = (provider,) if any(cell.provider == provider for cell in kept.rows().measured) else ()
    opsets = (opset,) if opset and exporter != Exporter.DEFAULT.value else ()
    for torch in kept.rows().torch:
        filters = Filters(cases=(case,), exporters=(exporter,), providers=providers, opsets=opsets, torch=(torch,))
        answer = workarounds(kept, filters)
        found[torch] = (*answer.standings, *answer.cautions)
    return found


def _recommended(entry: Entry) -> tuple[bool, bool, bool]:
    """The failing form first, then what sources state, then our own proposals, then what is known to be wrong."""
    return entry.variant != PLAIN, entry.caution, not entry.documented


def _form(entry: Entry) -> None:
    with st.container(key=f"form-{entry.variant}"):
        name = "Failing form" if entry.variant == PLAIN else entry.variant
        kind = "" if entry.variant == PLAIN else f"{entry.kind}{'' if entry.documented else ', our own proposal'}"
        st.html(f'<h3 class="sub">{escape(name)} <small class="quiet">{escape(kind)}</small></h3>')
        if entry.note:
            st.html(f'<p class="hint">{escape(entry.note)}</p>')
        if entry.caution:
            st.html('<p class="careful">Careful: documented as wrong or partial. Not a recommendation.</p>')
        if entry.code:
            st.code(entry.code, language="python")
        elif entry.kind == FixKind.VERSION_UPGRADE.value:
            st.html(f'<p class="hint">torch {escape(entry.needs_torch)}; judged on the failing form there.</p>')


def claims(kept: Kept, case: str) -> None:
    """What sources say of this case, and what was measured of it."""
    found = [claim for claim in kept.answer(all_claims) if claim.case == case]
    if found:
        st.html('<h2 class="sub">What the sources claim</h2>')
        st.html(claims_html.table(found, with_case=False))
