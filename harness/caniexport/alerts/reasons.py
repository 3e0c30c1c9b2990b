"""What may have made a release worse: torch itself, the opset or exporter that it now takes, its onnxruntime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from caniexport.alerts.group import Alert, Member
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import works
from caniexport.model.status import Exporter, Stage

#: case, variant, exporter, provider
Line = tuple[str, str, str, str | None]
#: by release: the cells at its default opsets
Grid = Mapping[str, Mapping[Line, MeasuredCell]]

#: stages that only a written file reaches: another runtime may be the reason
_AFTER_EXPORT = frozenset(stage.value for stage in (Stage.LOAD, Stage.PLACE, Stage.RUN, Stage.COMPARE))
_Key = tuple[str, Line, int | None]


def line_of(cell: MeasuredCell) -> Line:
    """Where a cell is, but for its release and opset."""
    return cell.case, cell.variant, cell.exporter, cell.provider


def place_of(member: Member) -> Line:
    """The same of an alert's cell."""
    return member.case, member.variant, member.place.exporter, member.place.provider


def of(rows: Rows, grid: Grid, found: Sequence[tuple[Alert, str]]) -> dict[str, tuple[str, ...]]:
    """By alert: the axes that may have done it, each with what it was and is. ``found`` has the release before, too."""
    apart = _apart(rows, grid, found)
    return {
        alert.id: tuple(
            dict.fromkeys(reason for member in alert.members for reason in _by(member, before, grid, apart, rows))
        )
        for alert, before in found
    }


def _apart(rows: Rows, grid: Grid, found: Iterable[tuple[Alert, str]]) -> dict[_Key, MeasuredCell]:
    """The cells on the newer release at the older one's opset, wherever the two differ."""
    wanted: set[_Key] = set()
    for alert, before in found:
        for member in alert.members:
            was = grid[before][place_of(member)]
            if was.opset != member.place.opset:
                wanted.add((member.place.torch, place_of(member), was.opset))
    if not wanted:
        return {}
    cells = rows.cells(
        case={line[0] for _, line, _ in wanted},
        torch={torch for torch, _, _ in wanted},
        opset={opset for _, _, opset in wanted},
    )
    keyed = {(cell.torch, line_of(cell), cell.opset): cell for cell in cells}
    return {key: keyed[key] for key in wanted if key in keyed}


def _by(member: Member, before: str, grid: Grid, apart: Mapping[_Key, MeasuredCell], rows: Rows) -> Iterable[str]:
    place = place_of(member)
    torch = member.place.torch
    was, is_now = grid[before][place], grid[torch][place]
    moved = "torch"
    if was.opset != is_now.opset:
        same_opset = apart.get((torch, place, was.opset))
        steps = f"opset {was.opset} → {is_now.opset}"
        known = works(same_opset.status) if same_opset is not None else None
        moved = {True: steps, False: "torch", None: f"torch or {steps}"}[known]
    if member.place.exporter == Exporter.DEFAULT.value:
        own = [rows.default_exporters.get(release, "") for release in (before, torch)]
        if own[0] != own[1]:
            moved = " → ".join(EXPORTER_SHORT.get(name, name) for name in own)
    yield moved
    if is_now.stage in _AFTER_EXPORT and was.runtime_version != is_now.runtime_version:
        yield f"or onnxruntime {was.runtime_version} → {is_now.runtime_version}"
