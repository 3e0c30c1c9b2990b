"""A case's page in the static copy: everything that was measured of it, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from caniexport.answers.documents import JudgedClaim, all_claims
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, Status
from caniexport.pages import claims_html, links, search_html, strip_html
from caniexport.pages.kept import Kept
from caniexport.pages.links import slug
from caniexport.pages.markup import chips, escape, facts, sources, status_badge, status_legend, word_legend
from caniexport.pages.site.paths import Anchors, addressing, case_file

_EXPORTERS = [member.value for member in Exporter]


@dataclass(frozen=True)
class PageCase:
    """A case: its variants in reading order, its cells (of an environment case: what was tried), its claims."""

    case: str
    entries: Mapping[str, CatalogueEntry]
    cells: Sequence[MeasuredCell]
    tried: Sequence[MeasuredCell]
    claims: Sequence[JudgedClaim]
    texts: Mapping[str, str]

    @property
    def plain(self) -> CatalogueEntry:
        """The failing form."""
        return self.entries.get(PLAIN) or next(iter(self.entries.values()))


def body(kept: Kept, subject: PageCase, graphs: str) -> str:
    """The page's HTML, within the addresses of its own file; ``graphs`` are its pictures, HTML already."""
    numbered = _numbered(subject)
    with links.addressed(addressing(case_file(subject.case), _anchors(subject, numbered))):
        parts = [_about(kept, subject)]
        if subject.tried:
            parts.append(_tried(subject))
        else:
            parts.append(_answers(kept, subject))
            parts += [_measured(kept, subject, exporter) for exporter in _EXPORTERS]
        parts += [_texts(subject, numbered), _forms(subject), graphs, _claims(subject)]
    return "\n".join(filter(None, parts))


def subject(kept: Kept, case: str) -> PageCase:
    """A case with everything that was measured of it."""
    rows = kept.rows()
    entries = {variant: entry for (name, variant), entry in rows.catalogue.items() if name == case}
    cells = kept.cells_of(case)
    tried = [cell for cell in rows.environment if cell.case == case]
    claims = [claim for claim in kept.answer(all_claims) if claim.case == case]
    texts = kept.messages({cell.message_id for cell in (*cells, *tried)})
    return PageCase(case, entries, cells, tried, claims, texts)


def at_once(kept: Kept, subject: PageCase, exporter: str) -> str:
    """The answer alone, for the app: where it works, the strip of one exporter, the forms, what sources claim."""
    measured = [name for name in _EXPORTERS if any(cell.exporter == name for cell in subject.cells)]
    shown = exporter if exporter in measured else next(iter(measured), "")
    strip = _measured(kept, subject, shown) if shown else ""
    return "\n".join([_about(kept, subject), _answers(kept, subject), strip, _forms(subject), _claims(subject)])


def _about(kept: Kept, subject: PageCase) -> str:
    entry = subject.plain
    torch, onnx = [op for op in entry.ops if "::" in op], [op for op in entry.ops if "::" not in op]
    pairs = (
        ("sources", sources(kept.sources(entry.case))),
        ("torch operators", chips(torch)),
        ("ONNX operators", chips(onnx)),
        ("needs torch", escape(entry.needs_torch)),
    )
    return facts(pairs)


def _answers(kept: Kept, subject: PageCase) -> str:
    if not subject.cells:
        return (
            f'<p class="counts">{status_badge(Status.NOT_RUN)} <span>Nothing was measured of this case yet.</span></p>'
        )
    return search_html.answers(kept.supports(subject.case, PLAIN), {"case": subject.case})


def _on_cpu(cells: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    found = [cell for cell in cells if cell.provider in ("cpu", None, "none")]
    return found or list(cells)


def _measured(kept: Kept, subject: PageCase, exporter: str) -> str:
    """One exporter: the strip of the failing form, and each fix's word."""
    mine = [cell for cell in _on_cpu(subject.cells) if cell.exporter == exporter]
    plain = [cell for cell in mine if cell.variant == PLAIN]
    if not plain:
        return ""
    carried = {"case": subject.case, "exporter": exporter}
    releases = [torch for torch in kept.rows().torch if any(cell.torch == torch for cell in mine)]
    seen = {cell.status for cell in plain} | {Status.NOT_RUN}
    fixes = [entry for entry in subject.entries.values() if entry.variant != PLAIN]
    opsets = {torch: kept.ruler().opset(torch, exporter) for torch in kept.rows().torch}
    words = strip_html.words(kept.words(subject.case, exporter), fixes, opsets, carried)
    told = f'<p class="hint">Each fix at each release\'s own default opset:</p>{words}{word_legend()}' if words else ""
    name = escape(search_html.EXPORTER_NAME.get(exporter, exporter))
    return (
        f'<section id="by-{slug(exporter)}"><h2 class="sub">{name}</h2>'
        f"{strip_html.strip(plain, releases, None, carried)}{status_legend(only=seen)}{told}</section>"
    )


def _numbered(subject: PageCase) -> dict[str, int]:
    """Every text of the failing form, and of environments, in the order of the cells that have it first."""
    found = [*subject.tried, *(cell for cell in _on_cpu(subject.cells) if cell.variant == PLAIN)]
    return {
        name: index for index, name in enumerate(dict.fromkeys(cell.message_id for cell in found if cell.message_id))
    }


def _anchors(subject: PageCase, numbered: Mapping[str, int]) -> Anchors:
    return {
        ("", cell.exporter, cell.torch, strip_html.opset_name(cell.opset)): f"text-{numbered[cell.message_id]}"
        for cell in _on_cpu(subject.cells)
        if cell.variant == PLAIN and cell.message_id and cell.message_id in numbered
    }


def _texts(subject: PageCase, numbered: Mapping[str, int]) -> str:
    """Each error text once, with where it was seen."""
    if not numbered:
        return ""
    seen: dict[str, list[MeasuredCell]] = {}
    for cell in [*subject.tried, *(cell for cell in _on_cpu(subject.cells) if cell.variant == PLAIN)]:
        if cell.message_id:
            seen.setdefault(cell.message_id, []).append(cell)
    items = "".join(_text(index, subject.texts.get(name, ""), seen[name]) for name, index in numbered.items())
    return f'<h2 class="sub">The texts of the errors, as they were raised</h2>{items}'


def _text(index: int, text: str, cells: Sequence[MeasuredCell]) -> str:
    first = cells[0]
    releases = list(dict.fromkeys(cell.torch for cell in cells if cell.torch))
    where = f"torch {releases[0]}" + (f" to {releases[-1]}" if len(releases) > 1 else "") if releases else ""
    by = ", ".join(dict.fromkeys(EXPORTER_SHORT.get(cell.exporter, cell.exporter) for cell in cells))
    opsets = sorted({cell.opset for cell in cells if cell.opset is not None})
    at = f"opset {opsets[0]}" + (f" to {opsets[-1]}" if len(opsets) > 1 else "") if opsets else ""
    said = ", ".join(filter(None, (f"at {first.stage}", where, "" if by == "-" else by, at)))
    return (
        f'<section id="text-{index}"><p class="hint">{status_badge(first.status)} {escape(said)}</p>'
        f'<pre class="wrap">{escape(text or "(the text is missing in the dataset)")}</pre></section>'
    )


def _tried(subject: PageCase) -> str:
    rows = "".join(
        f"<li>{status_badge(cell.status)} <b>{escape(cell.variant)}</b> at {escape(cell.stage)}"
        f' <span class="quiet">{escape(subject.entries[cell.variant].note)}</span></li>'
        for cell in subject.tried
        if cell.variant in subject.entries
    )
    return f'<h2 class="sub">What was installed and tried</h2><ul class="answers">{rows}</ul>'


def _forms(subject: PageCase) -> str:
    items = "".join(_form(entry) for entry in subject.entries.values())
    return f'<h2 class="sub">The forms</h2><div class="forms">{items}</div>'


def _form(entry: CatalogueEntry) -> str:
    name = "Failing form" if entry.variant == PLAIN else entry.variant
    kind = "" if entry.variant == PLAIN else f"{entry.kind}{'' if entry.documented else ', our own proposal'}"
    careful = "Careful: known to be wrong or partial. Not a recommendation."
    return (
        f'<section id="form-{slug(entry.variant)}"><h3 class="sub">{escape(name)} '
        f'<small class="quiet">{escape(kind)}</small></h3>'
        + (f'<p class="hint">{escape(entry.note)}</p>' if entry.note else "")
        + (f'<p class="careful">{careful}</p>' if entry.caution else "")
        + (f'<pre tabindex="0">{escape(entry.code)}</pre>' if entry.code else "")
        + "</section>"
    )


def _claims(subject: PageCase) -> str:
    if not subject.claims:
        return ""
    return f'<h2 class="sub">What the sources claim</h2>{claims_html.table(subject.claims, with_case=False)}'
