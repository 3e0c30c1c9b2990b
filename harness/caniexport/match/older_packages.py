"""An error that no cell with the newest packages has, found among those with older packages beside torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from caniexport.answers.beside_torch import ALONG_PACKAGES, cells_beside, versions_of
from caniexport.answers.reading import CatalogueEntry, Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.home import NEWEST
from caniexport.match.error_index import ErrorIndex
from caniexport.match.evidence import ErrorEvidence
from caniexport.match.judged import CaseAt, judge_case
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.store import Dataset

#: a line of more cases than this is met on the way to any of them
_FEW = 12


@dataclass(frozen=True)
class SeenWithOlder:
    """A case that has an error with older packages and works with the newest ones, ``at`` the same point.

    ``older`` and ``newest`` are the packages with it and without it, ``upgrade`` those that do it. ``cases`` counts
    all that are so.
    """

    at: CaseAt
    older: str
    newest: str
    upgrade: str
    cases: int

    @property
    def told(self) -> str:
        """What it is, and what to upgrade."""
        title = self.at.entry.title.rstrip(".")
        what = f"{self.at.entry.case} ({title})" if title else self.at.entry.case
        lead = f"This is {what}, with older packages beside torch."
        if self.cases > 1:
            many = f"{plural(self.cases, 'measured case')} end with this error where older packages are beside torch"
            lead = f"{many}, the first is {what}."
        return f"{lead} At {self.at.place} it fails so with {self.older} and works with {self.newest}: {self.upgrade}."


def seen_with_older(
    dataset: Dataset, rows: Rows, where: ErrorIndex, evidence: ErrorEvidence, torch: str
) -> SeenWithOlder | None:
    """The case whose failing form has a text's error with older packages alone, at a release or the newest that has it;
    ``None`` where none has. ``where`` has every error with the newest packages.
    """
    if rows.profile != NEWEST:
        return None
    telling = [reason for reason in evidence.reasons if reason.tells and not reason.warns]
    lines = [reason.line for reason in telling if reason.exact not in where.cases_by_line]
    others = [name for name in rows.profiles if name != NEWEST]
    found = [(name, cell) for name in others for cell in _having(dataset.of(name), rows, lines)]
    found = [(name, cell) for name, cell in found if not torch or cell.torch == torch]
    cases = {cell.case for _, cell in found}
    if not found or len(cases) > _FEW:
        return None
    same = {"case": cases, "variant": (PLAIN,), "torch": {cell.torch for _, cell in found}}
    working = {_place(cell) for cell in rows.cells(**same, provider=("cpu",)) if cell.works}
    found = [(name, cell) for name, cell in found if _place(cell) in working]
    counted = Counter(cell.case for _, cell in found)

    def rank(item: tuple[str, MeasuredCell]) -> tuple[bool, int, int, bool, str, int]:
        name, cell = item
        own = rows.choice(cell.torch, cell.exporter).opset
        alone = name.startswith(tuple(f"{package}-" for package in ALONG_PACKAGES))
        newest = -rows.torch.index(cell.torch)
        return not alone, newest, -counted[cell.case], cell.opset != own, cell.case, -(cell.opset or 0)

    if not found:
        return None
    name, cell = min(found, key=rank)
    at = judge_case(rows, cell.case, cell.torch, cell.exporter, cell.opset)
    texts = {item.message_id for _, item in found if item.case == cell.case}
    return SeenWithOlder(at, *_packages(rows, name, cell, texts), len(counted))


def _having(theirs: Dataset, rows: Rows, lines: Iterable[str]) -> list[MeasuredCell]:
    """The failing forms of a profile that end with one of these lines, by an exporter that is named."""
    texts = theirs.records("messages") if lines else []
    ids = [row["message_id"] for row in texts if any(line in (row["text"] or "") for line in lines)]
    cells = rows.under(theirs.profile).cells(message_id=ids, variant=(PLAIN,), provider=("cpu",)) if ids else []
    known: dict[tuple[str, str], CatalogueEntry] = rows.catalogue
    return [cell for cell in cells if (cell.case, PLAIN) in known and cell.opset is not None]


def _packages(rows: Rows, profile: str, cell: MeasuredCell, same: set[str | None]) -> tuple[str, str, str]:
    """The packages with which it fails so and those with which it works, as far as they differ, and what to do."""
    package = next((name for name in ALONG_PACKAGES if profile.startswith(f"{name}-")), "")
    installed = {item.profile: item for item in rows.installed if item.torch == cell.torch}
    if not package:
        return installed[profile].text, installed[NEWEST].text, "upgrade these packages"
    where = {"case": (cell.case,), "variant": (PLAIN,), "exporter": (cell.exporter,), "opset": (cell.opset,)}
    along = versions_of(rows, cell.torch, package)
    ends = cells_beside(rows, cell.torch, along, where)
    failing = [name for name, cells in ends.items() if any(item.message_id in same for item in cells)]
    older = failing[-1] if failing else installed[profile].packages[package]
    return f"{package} {older}", installed[NEWEST].packages[package], f"upgrade {package}"


def _place(cell: MeasuredCell) -> tuple[object, ...]:
    return cell.case, cell.torch, cell.exporter, cell.opset
