"""Filters: names as a user writes them, resolved against what is in the dataset, and applied to its cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from harness import names, versions
from harness.answers.rows import COLUMNS, NO_EXPORTER, Cell, cells, plain_values, records
from harness.answers.signs import EXPORTER_SHORT
from harness.worker.case import PLAIN
from harness.worker.errors import UnknownName
from harness.worker.status import Exporter, Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.store import Dataset

CANARY = "canary"
DEFAULT_OPSET = "default"


@dataclass(frozen=True)
class Filters:
    """What a user asked for; an empty tuple takes everything. Names may be globs, versions series, opsets ranges."""

    cases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    opsets: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything was asked for at all."""
        return any(getattr(self, item.name) for item in fields(self))


@dataclass(frozen=True)
class Entry:
    """One variant of a case, as the dataset's catalogue describes it; empty words where there are only rows of it."""

    case: str
    variant: str
    title: str = ""
    theme: str = ""
    corpus: str = ""
    kind: str = PLAIN
    note: str = ""
    caution: bool = False
    documented: bool = True
    needs_torch: str = ""
    ops: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    code: str = ""


Key = tuple[str, str]


@dataclass(frozen=True)
class Rows:
    """A dataset read once: every cell, the catalogue by (case, variant) in reading order, the releases oldest first.

    ``environment`` are the cells of environment cases: what is installed beside each other, no exporter asked.
    ``notes`` name what was measured or tried and does not speak: quarantined runs, releases that cannot be entered.
    """

    measured: list[Cell] = field(repr=False)
    environment: list[Cell] = field(repr=False)
    catalogue: dict[Key, Entry] = field(repr=False)
    torch: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """What a user asked for, in catalogue order.

    ``catalogue`` has every variant that the filters on case, variant, theme and op take, measured or not; ``torch``
    the measured releases selected, oldest first; ``exporters`` and ``providers`` are empty where none was named.
    """

    rows: Rows
    filters: Filters
    catalogue: dict[Key, Entry]
    torch: tuple[str, ...]
    exporters: frozenset[str]
    providers: frozenset[str]
    statuses: frozenset[Status]
    cells: list[Cell]
    environment: list[Cell]


def load(dataset: Dataset, *, runtimes: bool = False) -> Rows:
    """Read a dataset. Where a cell was measured on several versions of a runtime, the newest local row speaks, else
    the newest, unless ``runtimes`` asks for all of them.
    """
    frame = dataset.cells(columns=COLUMNS)
    every = cells(_one_per_cell(frame, runtimes))
    measured = [cell for cell in every if cell.exporter != NO_EXPORTER]
    return Rows(
        measured,
        [cell for cell in every if cell.exporter == NO_EXPORTER],
        _catalogue(dataset.cases(), every),
        tuple(versions.ordered(cell.torch for cell in measured)),
        tuple(_silent(dataset, frame)),
    )


def _silent(dataset: Dataset, frame: pd.DataFrame) -> Iterator[str]:
    """A sentence for each release whose newest run says nothing about it."""
    lost = frame[frame["case"].isna() & ~frame["torch"].isin(frame.loc[frame["case"].notna(), "torch"])]
    texts = dataset.messages(lost["message_id"])
    for torch, message in zip(*plain_values(lost, ("torch", "message_id")), strict=True):
        reason = texts.get(message, "").strip().split("\n")[0]
        yield f"torch {torch} could not be measured: {reason or 'no reason was kept'}"
    for row in records(dataset.environments()):
        if row.get("quarantined"):
            gate = row.get("gate") or "it has not been judged"
            yield f"torch {row['torch']}: the rows of run {row['run_id']} are left out: {gate}"


def select(rows: Rows, filters: Filters) -> Selection:
    """Apply the filters; a filter value that nobody knows raises :class:`UnknownName` with the nearest ones.

    ``cells`` are those of every filter but the one on status. Canaries are left out unless a case filter names them.
    """
    providers = sorted({cell.provider for cell in rows.measured if cell.provider})
    selection = Selection(
        rows,
        filters,
        _entries(filters, rows.catalogue),
        _torch(filters.torch, rows.torch),
        names.require_all("exporter", map(exporter_name, filters.exporters), [member.value for member in Exporter]),
        names.require_all("provider", filters.providers, providers),
        _statuses(filters.statuses),
        [],
        [],
    )
    if filters.opsets:
        _require_opsets(filters.opsets, rows.measured)
    order = {key: index for index, key in enumerate(selection.catalogue)}

    def rank(cell: Cell) -> int:
        return order[cell.case, cell.variant]

    taken = [cell for cell in rows.measured if (cell.case, cell.variant) in order and _taken(cell, selection)]
    beside = [cell for cell in rows.environment if (cell.case, cell.variant) in order and not _names_an_axis(filters)]
    return replace(selection, cells=sorted(taken, key=rank), environment=sorted(beside, key=rank))


def _names_an_axis(filters: Filters) -> bool:
    """Whether the filters ask for something that cells of environment cases do not have."""
    return bool(filters.torch or filters.opsets or filters.exporters or filters.providers)


def _taken(cell: Cell, selection: Selection) -> bool:
    return (
        cell.torch in selection.torch
        and (not selection.exporters or cell.exporter in selection.exporters)
        and (not selection.providers or cell.provider in selection.providers)
        and _opset_taken(cell, selection.filters.opsets)
    )


def exporter_name(text: str) -> str:
    """``trace`` and ``script`` for the long names."""
    return {short: name for name, short in EXPORTER_SHORT.items()}.get(text.casefold(), text)


def _statuses(asked: Iterable[str]) -> frozenset[Status]:
    words = ["unsupported" if text.casefold() == "refused" else text for text in asked]
    return frozenset(Status(item) for item in names.require_all("status", words, [status.value for status in Status]))


def _torch(asked: Iterable[str], measured: tuple[str, ...]) -> tuple[str, ...]:
    found = {versions.resolve(text, measured) for text in asked if text != "all"}
    return tuple(text for text in measured if text in found) if found else measured


def _opset_taken(cell: Cell, asked: tuple[str, ...]) -> bool:
    if not asked:
        return True
    if cell.opset is None:
        return DEFAULT_OPSET in asked
    return any(text != DEFAULT_OPSET and versions.opset_in(cell.opset, text) for text in asked)


def _require_opsets(asked: tuple[str, ...], measured: list[Cell]) -> None:
    known = sorted({cell.opset for cell in measured if cell.opset is not None})
    for text in asked:
        if text != DEFAULT_OPSET and not any(versions.opset_in(opset, text) for opset in known):
            shown = f"measured are {known[0]} to {known[-1]}" if known else "nothing has been measured yet"
            raise UnknownName(f"opset {text} has not been measured ({shown}; {DEFAULT_OPSET} is the release's own)")


def _entries(filters: Filters, catalogue: dict[tuple[str, str], Entry]) -> dict[tuple[str, str], Entry]:
    """The catalogue's variants that the filters on case, variant, theme and op take."""
    taken = catalogue
    if filters.cases:
        wanted = _cases(filters.cases, catalogue)
        taken = {key: item for key, item in taken.items() if key in wanted}
    else:
        taken = {key: item for key, item in taken.items() if item.corpus != CANARY}
    if filters.variants:
        known = dict.fromkeys([PLAIN, *(variant for _, variant in taken)])
        found = names.require_all("variant", filters.variants, known)
        taken = {key: item for key, item in taken.items() if key[1] in found}
    if filters.themes:
        found = names.require_all("theme", filters.themes, dict.fromkeys(item.theme for item in catalogue.values()))
        taken = {key: item for key, item in taken.items() if item.theme in found}
    if filters.ops:
        taken = _with_ops(filters.ops, catalogue, taken)
    return taken


def _cases(asked: Iterable[str], catalogue: dict[tuple[str, str], Entry]) -> set[tuple[str, str]]:
    """Keys that ``CASE`` or ``CASE/VARIANT`` mean."""
    known = list(dict.fromkeys(case for case, _ in catalogue))
    found: set[tuple[str, str]] = set()
    for text in asked:
        case_pattern, _, variant_pattern = text.partition("/")
        for case in names.require_all("case", [case_pattern], known):
            variants = [variant for name, variant in catalogue if name == case]
            if variant_pattern:
                variants = list(names.require_all(f"variant of {case}", [variant_pattern], variants))
            found.update((case, variant) for variant in variants)
    return found


def _with_ops(
    asked: Iterable[str], catalogue: dict[tuple[str, str], Entry], taken: dict[tuple[str, str], Entry]
) -> dict[tuple[str, str], Entry]:
    known: dict[str, str] = {}
    for item in catalogue.values():
        known.update({_bare(op): op for op in item.ops})
    wanted = set()
    for text in asked:
        if _bare(text) not in known:
            raise names.unknown("op", text, dict.fromkeys(known.values()))
        wanted.add(_bare(text))
    return {key: item for key, item in taken.items() if wanted & {_bare(op) for op in item.ops}}


def _bare(op: str) -> str:
    """``aten::grid_sampler``, ``torch.grid_sampler`` and ``GridSampler`` in one spelling."""
    return op.split("::")[-1].split(".")[-1].replace("_", "").casefold()


def _catalogue(frame: pd.DataFrame, measured: list[Cell]) -> dict[tuple[str, str], Entry]:
    found = {}
    words = ("title", "theme", "corpus", "kind", "note", "needs_torch", "code")
    for row in records(frame):
        text = {name: row.get(name) or "" for name in words}
        ops = (*(row.get("aten_ops") or ()), *(row.get("onnx_ops") or ()))
        found[row["case"], row["variant"]] = Entry(
            row["case"],
            row["variant"],
            **text,
            caution=bool(row.get("caution")),
            documented=row.get("documented") is not False,
            ops=ops,
            sources=tuple(row.get("sources") or ()),
        )
    described = {case for case, _ in found}
    for key in {(cell.case, cell.variant) for cell in measured} - found.keys():
        # rows of a fix that its case no longer has are history, not an answer
        if key[0] not in described:
            found[key] = Entry(*key, corpus=CANARY if key[0].startswith(CANARY) else "")
    ranked = sorted(found, key=lambda key: (found[key].theme, key[0], key[1] != PLAIN))
    return {key: found[key] for key in ranked}


def _one_per_cell(frame: pd.DataFrame, runtimes: bool) -> pd.DataFrame:
    """Of the rows that are the same cell: the newest local one, else the newest."""
    if frame.empty:
        return frame
    key = ["torch", "case", "variant", "exporter", "opset", "runtime", "provider"]
    ranked = frame.assign(_local=frame["origin"] == "local").sort_values(["_local", "measured_at"], kind="stable")
    return ranked.drop_duplicates(key + ["runtime_version"] * runtimes, keep="last")
