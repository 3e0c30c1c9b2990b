"""What torch's own operator tables promise, beside what was measured: a registered rule is not yet a passing export."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from caniexport import versions
from caniexport.answers.defaults import BEFORE_EXPORT
from caniexport.answers.filters import Filters
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.select import CatalogueEntry, load, select
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys
from caniexport.store import Dataset

#: the table that lists an exporter's rules
TABLE_OF: dict[str, str] = {
    Exporter.TRACE.value: "torchscript",
    Exporter.SCRIPT.value: "torchscript",
    Exporter.DYNAMO.value: "dynamo",
}


class Agreement(StrEnum):
    """How a table and the measured cells stand to each other, for one operator."""

    NEVER_PASSES = "declared, no case passes"
    LATER = "passes at fewer opsets than declared"
    UNDECLARED = "passes, not declared"
    OWN_CALLS = "declared, its cases fail, torch's own calls pass"
    ONE_CASE = "declared, the one case fails"
    AGREES = "agrees"
    NEITHER = "not declared, no case passes"
    UNTRIED = "not tried: torch itself refuses its cases"


@dataclass(frozen=True)
class Declared:
    """One operator of one release and exporter.

    ``declared`` and ``passing`` are opsets as text (``9-14``, empty for none): those with a rule in the release's
    table, and those at which the failing form of some case that uses the operator passes. ``cases`` are the cases
    that were looked at. A case that torch itself refuses has not asked the exporter: it counts for neither, and where
    there is no other the operator is ``UNTRIED``. ``calls`` says how torch's own calls end where no case passes
    (:mod:`caniexport.answers.own_calls`).
    """

    torch: str
    exporter: str
    op: str
    declared: str
    passing: str
    cases: tuple[str, ...]
    agreement: Agreement
    calls: str = ""


def about_newest(dataset: Dataset, filters: Filters) -> Filters:
    """The filters, about the newest measured release where they name none."""
    return filters if filters.torch else replace(filters, torch=load(dataset).torch[-1:])


def declared(dataset: Dataset, filters: Filters) -> list[Declared]:
    """The operators asked for, or all that the cases in the filters name, differences first.

    Raises :class:`UnknownName`.
    """
    selection = select(load(dataset), filters)
    plain = selection.in_order(selection.rows.cells(**{**selection.where(), "variant": (PLAIN,)}))
    tables = _Tables.of(dataset, {cell.torch for cell in plain})
    asked = operator_keys(filters.ops)
    grouped: dict[tuple[str, str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in plain:
        if cell.exporter in TABLE_OF and cell.opset is not None:
            for op in _torch_ops(selection.catalogue[cell.case, cell.variant]):
                if not asked or operator_key(op) in asked:
                    grouped[cell.torch, cell.exporter, op].append(cell)
    found = [_compared(*key, cells, tables) for key, cells in grouped.items() if tables.has(key[0], key[1])]
    return differences_first(found)


def differences_first(found: Iterable[Declared]) -> list[Declared]:
    """The same in the order in which they are told."""
    order = list(Agreement)
    return sorted(
        found, key=lambda item: (order.index(item.agreement), versions.parse(item.torch), item.exporter, item.op)
    )


def of_case(dataset: Dataset, entry: CatalogueEntry, releases: Iterable[str]) -> list[Declared]:
    """What the tables of these releases say of a case's operators, whatever was measured."""
    return of_operators(dataset, _torch_ops(entry), releases, (entry.case,))


def of_operators(
    dataset: Dataset, ops: Sequence[str], releases: Iterable[str], cases: tuple[str, ...] = ()
) -> list[Declared]:
    """What the tables of these releases say of some operators of torch (``aten::cross``), whatever was measured."""
    tables = _Tables.of(dataset, releases)
    return [
        Declared(torch, exporter, op, _text(tables.opsets(torch, exporter, op)), "", cases, Agreement.NEITHER)
        for torch in tables.releases
        for exporter in (Exporter.TRACE.value, Exporter.DYNAMO.value)
        for op in ops
        if tables.has(torch, exporter)
    ]


class _Tables:
    """The declared opsets of some releases by exporter's table and operator, overloads taken together."""

    @classmethod
    def of(cls, dataset: Dataset, releases: Iterable[str]) -> _Tables:
        """Those of these releases, kept for the next question about them."""
        wanted = versions.ordered(releases)
        name = f"declared {' '.join(wanted)}"
        if name not in dataset.beside:
            dataset.beside[name] = cls(dataset, wanted)
        kept: _Tables = dataset.beside[name]
        return kept

    def __init__(self, dataset: Dataset, releases: Iterable[str]) -> None:
        rows = dataset.records("declared", {"release": set(releases), "by": set(TABLE_OF.values())})
        self._opsets: dict[tuple[str, str, str], set[int]] = defaultdict(set)
        self._known: set[tuple[str, str]] = set()
        for row in rows:
            self._known.add((row["release"], row["by"]))
            self._opsets[row["release"], row["by"], row["op"].split(".")[0]] |= _numbers(row["opsets"])

    @property
    def releases(self) -> list[str]:
        return versions.ordered({release for release, _ in self._known})

    def has(self, torch: str, exporter: str) -> bool:
        return (torch, TABLE_OF[exporter]) in self._known

    def opsets(self, torch: str, exporter: str, op: str) -> set[int]:
        return self._opsets.get((torch, TABLE_OF[exporter], op), set())


def _torch_ops(entry: CatalogueEntry) -> list[str]:
    return [op for op in entry.ops if "::" in op]


def _compared(torch: str, exporter: str, op: str, cells: Sequence[MeasuredCell], tables: _Tables) -> Declared:
    promised = tables.opsets(torch, exporter, op)
    asked = [cell for cell in cells if cell.stage not in BEFORE_EXPORT]
    if not asked:
        refused = tuple(dict.fromkeys(cell.case for cell in cells))
        return Declared(torch, exporter, op, _text(promised), "", refused, Agreement.UNTRIED)
    cells = asked
    tried = {cell.opset for cell in cells if cell.opset is not None}
    passing = {cell.opset for cell in cells if cell.works and cell.opset is not None}
    cases = tuple(dict.fromkeys(cell.case for cell in cells))
    agreement = _agreement(promised & tried, passing)
    return Declared(torch, exporter, op, _text(promised), _text(passing), cases, agreement)


def _agreement(promised: set[int], passing: set[int]) -> Agreement:
    match bool(promised), bool(passing):
        case True, False:
            return Agreement.NEVER_PASSES
        case False, True:
            return Agreement.UNDECLARED
        case False, False:
            return Agreement.NEITHER
        case _:
            return Agreement.AGREES if promised <= passing else Agreement.LATER


def counts(found: Iterable[Declared]) -> Mapping[Agreement, int]:
    """How many operators stand how."""
    tally = dict.fromkeys(Agreement, 0)
    for item in found:
        tally[item.agreement] += 1
    return tally


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def _text(opsets: Iterable[int]) -> str:
    return versions.opset_text(opsets, ",")
