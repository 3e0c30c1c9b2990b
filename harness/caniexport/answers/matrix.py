"""The matrix: cases and their variants against releases, opsets, exporters, runtimes or providers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from packaging.version import Version

from caniexport import versions
from caniexport.answers import along, summary
from caniexport.answers.beside_torch import cells_beside, one_release, versions_of
from caniexport.answers.defaults import Offers
from caniexport.answers.filters import Filters
from caniexport.answers.on_runtimes import on_runtimes
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CaseSelection, load, select
from caniexport.answers.shown import Shown
from caniexport.answers.signs import EXPORTER_SHORT, exporter_rank
from caniexport.answers.summary import Summary
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter, FixKind, Status
from caniexport.store import Dataset

#: case, variant, exporter, provider; ``None`` where it is the table's columns
_LineKey = tuple[str, str, str | None, str | None]
#: such a line or one along releases, which has all of them
_Key = TypeVar("_Key", bound=_LineKey)
#: what a column by runtime says of a provider: nothing of the CPU's
_PROVIDER = {"cpu": "", None: "", "none": " (parsed only)"}
#: a runtime and its version
_Runtime = tuple[str | None, str | None]


class By(StrEnum):
    """What the columns of a table are."""

    TORCH = "torch"
    OPSET = "opset"
    EXPORTER = "exporter"
    RUNTIME = "runtime"
    PROVIDER = "provider"
    ONNXSCRIPT = "onnxscript"
    ONNX = "onnx"


_PACKAGES = (By.ONNXSCRIPT, By.ONNX)


@dataclass(frozen=True)
class MatrixRow:
    """One row of the table; ``places`` has a summary for every column."""

    case: str
    variant: str
    exporter: str | None
    provider: str | None
    title: str
    theme: str
    places: dict[str, Summary]


@dataclass(frozen=True)
class EnvironmentLine:
    """One variant of an environment case: how far it came, and how it ended."""

    case: str
    variant: str
    title: str
    status: Status
    stage: str
    local: bool


@dataclass(frozen=True)
class CaseTable(Shown):
    """The matrix. ``notes`` say what was assumed; ``unmeasured`` are variants without a cell;
    ``measured`` counts the cells of the dataset, whatever the filters.

    ``environments`` are the environment cases (what cannot be installed or imported together), which have no columns.
    """

    by: By
    columns: tuple[str, ...]
    lines: tuple[MatrixRow, ...]
    environments: tuple[EnvironmentLine, ...]
    notes: tuple[str, ...]
    unmeasured: tuple[str, ...]
    measured: int


def table(dataset: Dataset, filters: Filters, by: By = By.TORCH) -> CaseTable:
    """The matrix of what the filters take. Raises :class:`UnknownName` for a filter value that nobody knows.

    Without a case or variant filter it has the failing forms only, with the tracing and the dynamo exporter.
    ``--status`` keeps the lines that have such a cell, and shows those lines whole. By anything but torch it is
    about one release, the newest measured, unless the filters name some.
    """
    notes: list[str] = []
    rows = load(dataset, runtimes=by is By.RUNTIME)
    selection = select(rows, narrowed(filters, by, rows.torch, notes))
    if by is By.TORCH:
        columns, lines, together = _along_releases(selection)
    else:
        names: dict[str | None, str] = {}
        found = _with_packages(selection, by, names) if by in _PACKAGES else _with_runtimes(dataset, selection, by)
        cells = _whole_lines(selection, found, by)
        columns = _columns(cells, by, names)
        lines = _lines(selection, cells, by, columns, names)
        together = [] if by is By.RUNTIME else [(cell.runtime, cell.runtime_version) for cell in cells]
    environments = tuple(_environments(select(rows, filters))) if by is By.TORCH else ()
    shown = {(line.case, line.variant) for line in lines} | {(line.case, line.variant) for line in environments}
    unmeasured = set() if selection.statuses else _measurable(selection) - shown
    notes += [*_runtime_notes(together), *rows.notes]
    missing = tuple(sorted("/".join(key) for key in unmeasured))
    return CaseTable(by, columns, tuple(lines), environments, tuple(notes), missing, rows.count)


def narrowed(filters: Filters, by: By, releases: Sequence[str], notes: list[str]) -> Filters:
    """What a table is about where the filters leave it open; each assumption is noted."""
    if by is not By.TORCH and not filters.torch and releases:
        filters = replace(filters, torch=(releases[-1],))
        notes.append(f"torch {releases[-1]}, the newest measured (--torch takes others)")
    if by in _PACKAGES:
        filters = replace(filters, torch=(one_release(releases, filters.torch, by.value),))
    if not filters.cases and not filters.variants:
        filters = replace(filters, variants=(PLAIN,))
        notes.append("failing forms only (--variant '*' adds the fixes)")
    if not filters.cases and not filters.exporters and by is not By.EXPORTER:
        filters = replace(filters, exporters=(Exporter.TRACE.value, Exporter.DYNAMO.value))
    return filters


def _measurable(selection: CaseSelection) -> set[tuple[str, str]]:
    """A version upgrade has no cells of its own: the failing form's answer for it."""
    return {key for key, entry in selection.catalogue.items() if entry.kind != FixKind.VERSION_UPGRADE.value}


def _with_packages(selection: CaseSelection, by: By, names: dict[str | None, str]) -> list[MeasuredCell]:
    """The cells selected in every profile; ``names`` gets the column of each environment."""
    (torch,) = selection.torch
    along = versions_of(selection.rows, torch, by.value)
    found = cells_beside(selection.rows, torch, along, selection.where())
    names |= {cell.env_id: version for version, cells in found.items() for cell in cells}
    return selection.in_order([cell for cells in found.values() for cell in cells])


def _with_runtimes(dataset: Dataset, selection: CaseSelection, by: By) -> list[MeasuredCell]:
    """The cells selected, and by runtime or provider the same files on further ones."""
    if by not in (By.RUNTIME, By.PROVIDER):
        return selection.cells
    more = on_runtimes(dataset, selection.cells, selection.catalogue)
    if by is By.PROVIDER:
        # as installed together on each provider: other versions on the same one are the runtimes' table
        own = {cell.provider for cell in selection.cells}
        more = [cell for cell in more if cell.provider not in own]
    return selection.in_order([*selection.cells, *more])


def _whole_lines(selection: CaseSelection, cells: list[MeasuredCell], by: By) -> list[MeasuredCell]:
    """Lines that have a cell of the statuses asked for, whole: a line cut to its failures would hide what passes."""
    if not selection.statuses:
        return cells
    keys = {_line_key(cell, by) for cell in cells if cell.status in selection.statuses}
    return [cell for cell in cells if _line_key(cell, by) in keys]


def _line_key(cell: MeasuredCell, by: By) -> _LineKey:
    exporter = None if by is By.EXPORTER else cell.exporter
    provider = None if by in (By.PROVIDER, By.RUNTIME) else cell.provider
    return cell.case, cell.variant, exporter, provider


def _column(cell: MeasuredCell, by: By, names: Mapping[str | None, str]) -> str:
    """The column of a cell; ``names`` has it by environment where it is a package's version."""
    match by:
        case By.ONNXSCRIPT | By.ONNX:
            return names[cell.env_id]
        case By.TORCH:
            return cell.torch
        case By.OPSET:
            return "default" if cell.opset is None else str(cell.opset)
        case By.EXPORTER:
            return EXPORTER_SHORT.get(cell.exporter, cell.exporter)
        case By.RUNTIME:
            where = _PROVIDER.get(cell.provider, f" on {cell.provider}")
            return f"{cell.runtime} {cell.runtime_version}{where}" if cell.runtime else "none"
        case By.PROVIDER:
            return cell.provider or "none"


def _columns(cells: Sequence[MeasuredCell], by: By, names: Mapping[str | None, str]) -> tuple[str, ...]:
    found = list(dict.fromkeys(_column(cell, by, names) for cell in cells))
    match by:
        case By.TORCH | By.ONNXSCRIPT | By.ONNX:
            return tuple(versions.ordered(found))
        case By.OPSET:
            return tuple(sorted(found, key=lambda text: (text == "default", int(text) if text.isdigit() else 0)))
        case By.EXPORTER:
            short = [*EXPORTER_SHORT.values(), "-"]
            return tuple(sorted(found, key=short.index))
        case By.RUNTIME:
            return tuple(sorted(found, key=_runtime_order))
        case _:
            return tuple(sorted(found))


def _runtime_order(text: str) -> tuple[str, str, Version]:
    """Releases of a runtime one after the other, first those on the CPU."""
    name, _, rest = text.partition(" ")
    version, _, provider = rest.partition(" ")
    return name, provider, versions.parse(version or "0")


def _along_releases(selection: CaseSelection) -> tuple[tuple[str, ...], list[MatrixRow], list[_Runtime]]:
    """The columns, the lines, and the runtimes that the lines were run on."""
    found = along.lines(selection.rows, selection.where())
    found = {key: told for key, told in found.items() if key[:2] in selection.catalogue}
    if selection.statuses:
        wanted = selection.statuses
        found = {key: told for key, told in found.items() if any(_has(text, wanted) for text in told.values())}
    columns = tuple(versions.ordered({torch for told in found.values() for torch in told}))
    offered = selection.rows.offers
    whole = not selection.filters.opsets
    lines = []
    several = len({key[3] for key in found}) > 1
    for key in _in_order(found, selection):
        exporter = key[2]
        told = found[key]
        places = {
            torch: _place(told[torch], offered.get((torch, exporter), ()), whole) if torch in told else summary.NOTHING
            for torch in columns
        }
        lines.append(_row(selection, key, places, several=several))
    return columns, lines, _run_on(selection, found)


@lru_cache(maxsize=65536)
def _place(told: str, offered: tuple[int, ...], whole: bool) -> Summary:
    return summary.over_opsets(along.endings(told), offered, all_asked=whole)


@lru_cache(maxsize=65536)
def _has(told: str, wanted: frozenset[Status]) -> bool:
    return any(ended.status in wanted for ended in along.endings(told))


def _run_on(selection: CaseSelection, found: Mapping[along.Line, along.Told]) -> list[_Runtime]:
    """Runtimes and versions of the releases and providers of these lines."""
    places = {(torch, key[3]) for key, told in found.items() for torch in told}
    return [row[2:] for row in selection.rows.run_on if row[:2] in places]


def _in_order(keys: Iterable[_Key], selection: CaseSelection) -> list[_Key]:
    order = {key: index for index, key in enumerate(selection.catalogue)}
    return sorted(keys, key=lambda key: (order[key[0], key[1]], exporter_rank(key[2]), key[3] or ""))


def _lines(
    selection: CaseSelection,
    cells: Sequence[MeasuredCell],
    by: By,
    columns: tuple[str, ...],
    names: Mapping[str | None, str],
) -> list[MatrixRow]:
    grouped: dict[_LineKey, dict[str, list[MeasuredCell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        grouped[_line_key(cell, by)][_column(cell, by, names)].append(cell)
    offered = selection.rows.offers
    keys = _in_order(grouped, selection)
    several = len({key[3] for key in keys}) > 1
    lines = []
    for key in keys:
        places = {name: _summary(grouped[key][name], selection, offered, by) for name in columns}
        lines.append(_row(selection, key, places, several=several))
    return lines


def _row(selection: CaseSelection, key: _LineKey, places: dict[str, Summary], *, several: bool) -> MatrixRow:
    """A line of the table; its provider is named where there are several."""
    case, variant, exporter, provider = key
    entry = selection.catalogue[case, variant]
    return MatrixRow(case, variant, exporter, provider if several else None, entry.title, entry.theme, places)


def _summary(cells: list[MeasuredCell], selection: CaseSelection, offered: Offers, by: By) -> Summary:
    """How the cells of one place are said: over opsets, over releases, or counted where both differ."""
    if by is By.OPSET:
        if len(selection.torch) == 1 and len(cells) == 1:
            return summary.counted(cells)
        return summary.over_releases(cells, selection.torch)
    if not cells:
        return summary.NOTHING
    releases = {cell.torch for cell in cells}
    if len(releases) > 1 or len({cell.opset for cell in cells}) < len(cells):
        return summary.counted(cells)
    opsets = offered.get((cells[0].torch, cells[0].exporter), ())
    return summary.over_opsets(cells, opsets, all_asked=not selection.filters.opsets)


def _environments(selection: CaseSelection) -> Iterator[EnvironmentLine]:
    """Failing forms and fixes together: an environment case is nothing without the environment that works."""
    for cell in selection.environment:
        if not selection.statuses or cell.status in selection.statuses:
            title = selection.catalogue[cell.case, cell.variant].title
            yield EnvironmentLine(cell.case, cell.variant, title, cell.status, cell.stage, cell.local)


def _runtime_notes(together: Iterable[_Runtime]) -> list[str]:
    seen: dict[str, set[str]] = defaultdict(set)
    for runtime, version in together:
        if runtime and version:
            seen[runtime].add(version)
    return [
        f"as installed together: each release on its own {runtime} ({', '.join(versions.ordered(found))})"
        for runtime, found in seen.items()
    ]
