"""Several cells in one place of a table: what passes comes first, then the signs of what else happens there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from caniexport import versions
from caniexport.answers.along import CellEnd
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.signs import NOT_MEASURED, REFUSED, STATUS, word
from caniexport.corpus.verdicts import collapse
from caniexport.model.status import MEASURED, WORKS, Status

_SEVERITY = list(Status)
_MOST_SPANS = 2


#: how a cell ended
CellOutcome = CellEnd | MeasuredCell


@dataclass(frozen=True)
class Summary:
    """What one place of a table shows.

    ``text`` says it in words, ``short`` in signs and numbers only (numbers pass); ``status`` is what its
    colour follows, ``not_run`` where nothing was measured, or some files were not run and the others end
    with an error; ``at`` lists, for each status, where it was seen (opsets,
    or releases); ``local`` says that rows of this machine are among them, ``mixed`` that published ones are too.
    ``refused`` lists where it works while onnx's checker refuses the file; the texts then have a mark, for other
    consumers may mind. ``missing`` are, of a place along releases, those that were not measured there.
    """

    text: str
    short: str
    status: Status
    at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    local: bool = False
    refused: tuple[str, ...] = ()
    mixed: bool = False
    missing: tuple[str, ...] = ()


NOTHING = Summary(NOT_MEASURED, NOT_MEASURED, Status.NOT_RUN)


def over_opsets(cells: Sequence[CellOutcome], offered: Sequence[int], *, all_asked: bool) -> Summary:
    """Cells that differ in their opset only. ``offered`` are the opsets measured for their release and exporter.

    ``✓ 11-14 ✗`` reads: passes at opsets 11 to 14, fails with an error at the others. ``all`` is every opset offered or
    tried, said only where no opset filter hides some (``all_asked``).
    """
    if not cells:
        return NOTHING
    if len(cells) == 1 and cells[0].opset is None:
        return _single(cells[0])
    by_opset = {cell.opset: cell.status for cell in cells if cell.opset is not None}
    at = _at((str(cell.opset), cell.status) for cell in sorted(cells, key=lambda cell: cell.opset or 0))
    missing = bool(set(offered) - set(by_opset)) and all_asked

    tried = {opset for opset, status in by_opset.items() if status is not Status.UNSUPPORTED}

    def text(opsets: list[int]) -> str:
        whole = all_asked and set(opsets) >= set(offered) | tried and len(offered) > 1
        return "all" if whole else _spans(opsets)

    said = _said(by_opset, text, missing, at, any(cell.local for cell in cells))
    return _mixed(_marked(said, _refused((str(cell.opset), cell) for cell in cells)), cells)


def over_releases(cells: Sequence[MeasuredCell], releases: Sequence[str]) -> Summary:
    """Cells that differ in their torch release only. ``releases`` are those of the table, oldest first.

    ``✓ ≥2.0.1 ✗`` reads: passes from 2.0.1 to the newest release, fails with an error before.
    """
    if not cells:
        return replace(NOTHING, missing=tuple(releases) if len(releases) > 1 else ())
    by_index = {releases.index(cell.torch): cell.status for cell in cells}
    at = _at((cell.torch, cell.status) for cell in sorted(cells, key=lambda cell: releases.index(cell.torch)))

    def text(indices: list[int]) -> str:
        if len(indices) == len(releases) > 1:
            return "all"
        return _release_spans(indices, releases)

    missing = tuple(torch for index, torch in enumerate(releases) if index not in by_index)
    said = _said(by_index, text, bool(missing), at, any(cell.local for cell in cells))
    said = replace(said, missing=missing)
    said = _mixed(_marked(said, _refused((cell.torch, cell) for cell in cells)), cells)
    if Status.UNSUPPORTED not in by_index.values() or said.status is Status.UNSUPPORTED:
        return said
    # along releases a refusal is an answer of its own: that release is too old for the opset
    sign = STATUS[Status.UNSUPPORTED].sign
    return replace(said, text=f"{said.text} {sign}", short=f"{said.short} {sign}")


def counted(cells: Sequence[MeasuredCell]) -> Summary:
    """Cells that differ in more than one way: ``✓ 3/14 ~≠`` reads: 3 of 14 measured cells pass, the worst is wrong.

    Where none passes and some are degraded it is these that are counted: ``~ 3/14``.
    """
    if not cells:
        return NOTHING
    if len(cells) == 1:
        return _single(cells[0])
    measured = [cell.status for cell in cells if cell.status in MEASURED and cell.status is not Status.UNSUPPORTED]
    labels = [f"{cell.torch}:{'default' if cell.opset is None else cell.opset}" for cell in cells]
    at = _at((label, cell.status) for label, cell in zip(labels, cells, strict=True))
    local = any(cell.local for cell in cells)
    if not measured:
        return _plain(cells[0].status, at, local)
    good = [status for status in measured if status in WORKS]
    lead = min(good, key=_SEVERITY.index) if good else collapse(measured) or Status.FAIL
    count = f"{sum(status is lead for status in good)}/{len(measured)}"
    rest = _other_signs(measured, lead)
    short = f"~{count}" if lead is Status.DEGRADED else count
    said = Summary(" ".join([f"{STATUS[lead].sign} {count}", *rest]), " ".join([short, *rest]), lead, at, local)
    return _mixed(_marked(said, _refused(zip(labels, cells, strict=True))), cells)


def _refused(cells: Iterable[tuple[str, CellOutcome]]) -> tuple[str, ...]:
    """Where a file works that onnx's checker refuses."""
    return tuple(label for label, cell in cells if cell.refused and cell.status in WORKS)


def _marked(said: Summary, refused: tuple[str, ...]) -> Summary:
    """The same with a mark behind what works, where onnx's checker refuses a file of it."""
    if not refused:
        return said
    sign, _, rest = said.text.partition(" ")
    first, _, more = rest.partition(" ")
    text = " ".join(filter(None, (sign, f"{first}{REFUSED}", more)))
    first, _, more = said.short.partition(" ")
    return replace(said, text=text, short=" ".join(filter(None, (f"{first}{REFUSED}", more))), refused=refused)


def _said(
    statuses: Mapping[int, Status],
    text: Callable[[list[int]], str],
    missing: bool,
    at: Mapping[str, tuple[str, ...]],
    local: bool,
) -> Summary:
    passing = [place for place, status in statuses.items() if status is Status.PASS]
    degraded = [place for place, status in statuses.items() if status is Status.DEGRADED]
    tried = [status for status in statuses.values() if status is not Status.UNSUPPORTED]
    if not tried:
        return _plain(Status.UNSUPPORTED, at, local)
    if passing or degraded:
        lead = Status.PASS if passing else Status.DEGRADED
        said = text(passing or degraded)
        first, short = f"{STATUS[lead].sign} {said}", said if passing else f"~{said}"
    elif Status.NOT_RUN in tried and collapse(tried) in (Status.FAIL, None):
        # the files that were not run may work: an error at another opset says nothing of them
        lead = Status.NOT_RUN
        first = short = NOT_MEASURED
    else:
        lead = collapse(tried) or tried[0]
        first, short = f"{STATUS[lead].sign} {word(lead)}", STATUS[lead].sign
    rest = [*_other_signs(tried, lead), *[NOT_MEASURED] * (missing and lead is not Status.NOT_RUN)]
    return Summary(" ".join([first, *rest]), " ".join([short, *rest]), lead, at, local)


def _single(cell: CellOutcome) -> Summary:
    label = "default" if cell.opset is None else str(cell.opset)
    at = {cell.status.value: (label,)}
    if cell.status in WORKS and cell.written is not None:
        text = f"{STATUS[cell.status].sign} {cell.written}"
        mark = REFUSED if cell.refused else ""
        return Summary(text + mark, text + mark, cell.status, at, cell.local, (label,) if mark else ())
    return _marked(_plain(cell.status, at, cell.local), _refused([(label, cell)]))


def _mixed(said: Summary, cells: Sequence[CellOutcome]) -> Summary:
    return replace(said, mixed=said.local and not all(cell.local for cell in cells))


def _plain(status: Status, at: Mapping[str, tuple[str, ...]], local: bool) -> Summary:
    sign = STATUS[status].sign
    return Summary(sign if status is Status.NOT_RUN else f"{sign} {word(status)}", sign, status, at, local)


def _other_signs(statuses: Sequence[Status], lead: Status) -> list[str]:
    """The signs of the statuses beside the leading one, the worst first."""
    # what was not measured comes last
    order = [status for status in _SEVERITY if status not in MEASURED] + [s for s in _SEVERITY if s in MEASURED]
    others = sorted({status for status in statuses if status is not lead}, key=order.index, reverse=True)
    return ["".join(STATUS[status].sign for status in others)] if others else []


def _at(pairs: Iterable[tuple[str, Status]]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for label, status in pairs:
        found.setdefault(status.value, []).append(label)
    return {status: tuple(labels) for status, labels in found.items()}


def _spans(opsets: Sequence[int]) -> str:
    """``7-9,11-14``; where there are more than two spans, ``9 opsets``."""
    text = versions.opset_text(opsets, ",")
    return text if text.count(",") < _MOST_SPANS else f"{len(set(opsets))} opsets"


def _release_spans(indices: Sequence[int], releases: Sequence[str]) -> str:
    spans = versions.spans(indices, range(len(releases)))
    if len(spans) > _MOST_SPANS:
        return f"{len(indices)} of {len(releases)}"
    last = len(releases) - 1
    parts = []
    for low, high in spans:
        if low == high:
            parts.append(releases[low])
        elif high == last:
            parts.append(f"≥{releases[low]}")
        else:
            parts.append(f"{releases[low]}-{releases[high]}")
    return ",".join(parts)
