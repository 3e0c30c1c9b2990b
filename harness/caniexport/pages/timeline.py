"""The calls of an operator over the releases, as a page shows them: lines and cells that say the same are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from caniexport import versions
from caniexport.answers.operator_grid import OperatorCell, TimelineLine
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.match.evidence import without_advice
from caniexport.model.status import Status
from caniexport.pages import looks


@dataclass(frozen=True)
class JoinedCell:
    """Neighbouring releases of a line that say the same: how many, their class, their words, the anchor of its text."""

    wide: int
    css: str
    read: str
    anchor: str = ""


#: calls that pass at some opsets: as the matrix has cases of which other opsets fail
_AT_SOME_OPSETS = f"{looks.STATUS[Status.PASS].css} with-fail"


@dataclass(frozen=True)
class JoinedLine:
    """The dtypes of a form whose calls end alike with an exporter, over the releases."""

    dtypes: tuple[str, ...]
    form: str
    exporter: str
    cells: tuple[JoinedCell, ...]


@dataclass(frozen=True)
class ToldEnd:
    """How calls end that do not pass: its anchor, the first of them, and where calls end so."""

    anchor: str
    said: str
    where: str


@dataclass(frozen=True)
class Timeline:
    """The lines of plain calls, those of dtypes and numbers that are mixed, and each text once."""

    plain: list[JoinedLine]
    mixed: list[JoinedLine]
    ends: list[ToldEnd]

    @property
    def parts(self) -> list[tuple[str, list[JoinedLine]]]:
        """Both with their titles; a part without lines is left out."""
        titled = (("", self.plain), ("with a Python number, or another dtype", self.mixed))
        return [(title, lines) for title, lines in titled if lines]


def shown_timeline(lines: Sequence[TimelineLine], releases: Sequence[str], part: int) -> Timeline:
    """The timeline of an operator, the part of its page that has this number."""
    said: dict[str, list[tuple[str, str, OperatorCell]]] = {}
    for line in lines:
        for torch, cell in line.cells.items():
            if cell.said:
                said.setdefault(_error(cell), []).append((torch, line.exporter, cell))
    anchors = {text: f"end-{part}-{number}" for number, text in enumerate(said, 1)}
    ends = [ToldEnd(anchors[text], _given(found[0][2]) + text, _where(found, releases)) for text, found in said.items()]
    shown = _alike_lines(lines, releases, anchors)
    return Timeline(
        [line for line in shown if "-" not in line.form], [line for line in shown if "-" in line.form], ends
    )


def _alike_lines(
    lines: Sequence[TimelineLine], releases: Sequence[str], anchors: Mapping[str, str]
) -> list[JoinedLine]:
    """The lines; those of several dtypes that say the same are one, where the first of them stood."""
    dtypes: dict[tuple[str, str, tuple[JoinedCell, ...]], list[str]] = {}
    for line in lines:
        dtypes.setdefault((line.form, line.exporter, _cells(line.cells, releases, anchors)), []).append(line.dtype)
    return [JoinedLine(tuple(names), *alike) for alike, names in dtypes.items()]


def _cells(
    cells: Mapping[str, OperatorCell], releases: Sequence[str], anchors: Mapping[str, str]
) -> tuple[JoinedCell, ...]:
    alike = groupby(_cell(cells.get(torch), anchors) for torch in releases)
    return tuple(JoinedCell(len(list(same)), *shown) for shown, same in alike)


def _cell(cell: OperatorCell | None, anchors: Mapping[str, str]) -> tuple[str, str, str]:
    """Its class, what is read, its anchor; at which opsets the calls pass where they do at some."""
    if cell is None:
        return looks.STATUS[Status.NOT_RUN].css, "", ""
    anchor = anchors.get(_error(cell), "")
    if cell.share:
        return share_class(cell.share), cell.share, anchor
    if cell.status is Status.DEGRADED:
        return _AT_SOME_OPSETS, f"{looks.STATUS[Status.PASS].sign} {versions.opset_text(cell.passing)}", anchor
    return looks.STATUS[cell.status].css, looks.STATUS[cell.status].sign, anchor


def _error(cell: OperatorCell) -> str:
    """How a call ends, whatever it is given, without what torch advises."""
    return without_advice(cell.said.partition(": ")[2] or cell.said).replace("|", ": ")


def _given(cell: OperatorCell) -> str:
    """``f32[2, 3], 1: ``: the call that ends so."""
    given, between, error = cell.said.partition(": ")
    return f"{given}{between}" if error else ""


def share_class(share: str) -> str:
    """The class of a place of which some calls pass: ``2/3``."""
    passing, calls = map(int, share.split("/"))
    return f"s-mixed share-{max(1, min(9, round(10 * passing / calls)))}"


def _where(found: Sequence[tuple[str, str, OperatorCell]], releases: Sequence[str]) -> str:
    """``torch 2.2.2 to 2.4.1, opset 18, dynamo``."""
    seen = {torch for torch, _, _ in found}
    torch = [name for name in releases if name in seen]
    opsets = {opset for *_, cell in found for opset in set(cell.asked) - set(cell.passing)}
    exporters = dict.fromkeys(EXPORTER_SHORT.get(exporter, exporter) for _, exporter, _ in found)
    span = torch[0] if len(torch) == 1 else f"{torch[0]} to {torch[-1]}"
    return f"torch {span}, opset {versions.opset_text(tuple(sorted(opsets)))}, {', '.join(exporters)}"
