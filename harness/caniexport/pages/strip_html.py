"""Tables of the case page: torch releases by opsets, and fixes by torch releases; each cell selects its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import DEFAULT_OPSET, CatalogueEntry
from caniexport.answers.signs import STATUS, WORKAROUND, word
from caniexport.answers.words import Words
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import FixKind, Status
from caniexport.pages import links
from caniexport.pages.markup import columns, escape, link, status_class, table

#: from this many releases on, cells show signs only
MANY = 9
#: parameters of the page that every link of a table carries on
_Carried = Mapping[str, str]
#: torch and opset of a cell, as the URL writes them
_Place = tuple[str, str]


def opset_name(opset: int | None) -> str:
    """An opset as URLs and filters write it."""
    return DEFAULT_OPSET if opset is None else str(opset)


def strip(cells: Iterable[MeasuredCell], releases: Sequence[str], chosen: _Place | None, carried: _Carried) -> str:
    """Releases down, opsets across, for ``cells`` that differ in these only; ``chosen`` is the cell shown below."""
    by_place = {(cell.torch, cell.opset): cell for cell in cells}
    opsets = sorted({opset for _, opset in by_place}, key=lambda opset: (opset is None, opset or 0))

    def row(torch: str) -> str:
        shown = (_cell(by_place.get((torch, opset)), (torch, opset_name(opset)), chosen, carried) for opset in opsets)
        return f'<tr><th scope="row">{escape(torch)}</th>{"".join(shown)}</tr>'

    heads = columns(["torch \\ opset", *("own" if opset is None else str(opset) for opset in opsets)])
    return table("Outcome by torch release and opset", "strip", heads, "".join(map(row, releases)), whole=True)


def _cell(cell: MeasuredCell | None, place: _Place, chosen: _Place | None, carried: _Carried) -> str:
    status = cell.status if cell else Status.NOT_RUN
    classes = status_class(status) + (" chosen" if place == chosen else "")
    hint = f"torch {place[0]}, opset {place[1]}: {word(status)}"
    if cell is None:
        return f'<td class="{classes}" title="{escape(hint)}">{STATUS[status].sign}</td>'
    if status is not Status.PASS:
        hint += f" at {cell.stage}\n{cell.signature or ''}"
    address = links.page("case", **{**carried, "torch": place[0], "opset": place[1]})
    other = cell.works and cell.opset_effective not in (None, cell.opset)
    effective = f"<small>{cell.opset_effective}</small>" if other else ""
    return f'<td class="{classes}">{link(address, STATUS[status].sign + effective, title=hint)}</td>'


def words(found: Words, fixes: Sequence[CatalogueEntry], opsets: Mapping[str, int | None], carried: _Carried) -> str:
    """Fixes down, releases across: the word of each. ``opsets`` are those at which each release is judged."""
    if not fixes:
        return ""
    heads = f'<th class="case" scope="col">fix</th>{columns(opsets)}'
    body = "".join(_fix(item, found[item.variant], opsets, carried) for item in fixes)
    return table(
        "Each fix by torch release", f"matrix words{' many' if len(opsets) >= MANY else ''}", heads, body, whole=True
    )


def _fix(
    fix: CatalogueEntry, by_release: Mapping[str, Workaround], opsets: Mapping[str, int | None], carried: _Carried
) -> str:
    more = ", known to be wrong or partial" if fix.caution else ""
    name = f'{escape(fix.variant)} <small class="quiet">{escape(fix.kind)}{more}</small>'
    variant = "" if fix.kind == FixKind.VERSION_UPGRADE.value else fix.variant
    cells = ""
    for torch, opset in opsets.items():
        where = {"variant": variant, "torch": torch, "opset": opset_name(opset)}
        cells += _word(by_release.get(torch, Workaround.UNKNOWN), torch, {**carried, **where}, len(opsets) >= MANY)
    return f'<tr><th class="case" scope="row">{name}</th>{cells}</tr>'


def _word(word: Workaround, torch: str, asked: Mapping[str, str], many: bool) -> str:
    sign = WORKAROUND[word]
    if word is Workaround.UNKNOWN:
        return f'<td class="w-unknown" title="not measured at torch {escape(torch)}">{sign.sign}</td>'
    said = sign.sign if many else f"{sign.sign} {word.value}"
    shown = link(links.page("case", **asked), escape(said), title=f"torch {torch}: {word.value}, {sign.meaning}")
    return f'<td class="w-{word.value}">{shown}</td>'
