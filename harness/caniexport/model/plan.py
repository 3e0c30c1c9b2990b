"""The cells of one release: case x variant x exporter x opset. Pure; torch is not needed to plan."""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from caniexport.model.canaries import is_canary
from caniexport.model.case import PLAIN, Case
from caniexport.model.corpus import LoadedCase
from caniexport.model.releases import Release
from caniexport.model.rows import MEASURING_VERSION, make_cell_key
from caniexport.model.status import Exporter


class Cell(NamedTuple):
    """One thing to measure in an environment."""

    case: str
    variant: str
    exporter: str
    opset: Optional[int]
    case_hash: str
    provider: str

    @property
    def key(self) -> str:
        """As :func:`caniexport.model.rows.make_cell_key` gives it for the cell's row."""
        return make_cell_key(
            self.case_hash, MEASURING_VERSION, self.case, self.variant, self.exporter, self.opset, self.provider
        )


class Selection(NamedTuple):
    """What part of the plan is wanted; empty means everything."""

    cases: FrozenSet[str] = frozenset()
    exporters: FrozenSet[str] = frozenset()
    opsets: FrozenSet[int] = frozenset()

    def takes(self, cell: Cell) -> bool:
        """Whether a cell is wanted. Canaries always are: a run without them cannot be judged."""
        if self.exporters and cell.exporter not in self.exporters:
            return False
        if self.opsets and cell.opset not in self.opsets:
            return False
        wanted = {cell.case, cell.case + "/" + cell.variant}
        return (
            not self.cases
            or bool(self.cases & wanted)
            or is_canary(cell.case)
            or (
                # a fix is judged against its failing form in the same cell
                cell.variant == PLAIN and any(name.startswith(cell.case + "/") for name in self.cases)
            )
        )


EVERYTHING = Selection()


def cells(
    corpus: Dict[str, LoadedCase], release: Release, provider: str, selection: Selection = EVERYTHING
) -> List[Cell]:
    """Every cell of ``release`` that the selection takes, in the order of the corpus; canaries where others are."""
    every = list(_plan_all(corpus, release, provider))
    asked: Dict[str, Set[Optional[int]]] = {}
    for cell in every:
        if not is_canary(cell.case):
            asked.setdefault(cell.exporter, set()).add(cell.opset)
    return [
        cell
        for cell in every
        if selection.takes(cell) and (not is_canary(cell.case) or cell.opset in asked.get(cell.exporter, {cell.opset}))
    ]


def group_cells(planned: Sequence[Cell]) -> "Dict[Tuple[str, str, str], List[Cell]]":
    """Cells by (case, variant, exporter): the unit that pytest schedules."""
    found: Dict[Tuple[str, str, str], List[Cell]] = {}
    for cell in planned:
        found.setdefault((cell.case, cell.variant, cell.exporter), []).append(cell)
    return found


def _plan_all(corpus: Dict[str, LoadedCase], release: Release, provider: str) -> Iterator[Cell]:
    for item in corpus.values():
        if not issubclass(item.cls, Case) or not is_within(release.torch, item.cls.needs_torch):
            continue
        for name, variant in item.variants.items():
            if not variant.measured:
                continue
            case_hash = item.case_hash(name)
            for exporter in item.cls.exporters or [member.value for member in Exporter]:
                if exporter == Exporter.DEFAULT.value and variant.fix is not None and variant.fix.opset is not None:
                    # the default call asks for no opset, so there is none to raise
                    continue
                for opset in item.cls.asks(name, release, exporter):
                    yield Cell(item.id, name, exporter, opset, case_hash, provider)


def is_within(version: str, specifier: str) -> bool:
    """Whether a release (``1.10.2``) is within ``>=1.10,<2.0``; the few operators that case files use.

    Inside a measured environment ``packaging`` may be absent, so the comparison is our own; outside,
    :mod:`caniexport.versions` has the full rules.
    """
    for clause in filter(None, (part.strip() for part in specifier.split(","))):
        match = re.match(r"^(>=|<=|==|!=|<|>)\s*([0-9.]+?)(\.\*)?$", clause)
        if not match:
            raise ValueError("version specifier {!r}: not understood".format(specifier))
        operator, text, wildcard = match.groups()
        have, want = _parse_version(version), _parse_version(text)
        if wildcard:
            have = have[: len(want)]
        width = max(len(have), len(want))
        have, want = have + (0,) * (width - len(have)), want + (0,) * (width - len(want))
        holds = {
            ">=": have >= want,
            "<=": have <= want,
            "==": have == want,
            "!=": have != want,
            "<": have < want,
            ">": have > want,
        }
        if not holds[operator]:
            return False
    return True


def _parse_version(text: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+")[0]))
