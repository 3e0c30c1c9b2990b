"""An error that a case has elsewhere: on releases of a runtime, for a file that works where it was measured, or with
older packages beside torch than the newest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.beside_torch import ALONG_PACKAGES, cells_beside, versions_of
from caniexport.answers.on_runtimes import ON_CPU, on_runtimes
from caniexport.answers.reading import CatalogueEntry, Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.home import NEWEST
from caniexport.match.alike import speaks_alike
from caniexport.match.error_index import ErrorIndex, KnownError
from caniexport.match.evidence import ErrorEvidence
from caniexport.match.judged import CaseAt, FixAt, judge_case
from caniexport.match.seen import SeenError
from caniexport.match.told import tell
from caniexport.model.case import PLAIN
from caniexport.names import plural
from caniexport.store import Dataset

#: a line of more cases than this is met on the way to any of them
_FEW = 12


@dataclass(frozen=True)
class RuntimeSpan:
    """The releases of a runtime that give an error for a case's file, oldest first.

    ``later`` is the oldest one behind them from which on the file works; empty where none is. ``fix`` works on the
    newest of those that give the error. ``place`` is where the file was written.
    """

    place: str
    runtime: str
    failing: tuple[str, ...]
    later: str
    fix: FixAt | None

    @property
    def told(self) -> str:
        """What fails, and what to do about it."""
        first, last = self.failing[0], self.failing[-1]
        span = last if first == last else f"{first} to {last}"
        fails = f"{self.runtime} {span} {'gives' if first == last else 'give'} this error for its file"
        ways = [f"upgrade {self.runtime}"] if self.later else []
        ways += [f"use the fix `{self.fix.variant}` ({self.fix.told})"] if self.fix else []
        works = f", and from {self.later} on it works" if self.later else ""
        way = f": {', or '.join(ways)}" if ways else ""
        return f"{fails}{works}{way}."


def runtime_span(dataset: Dataset, rows: Rows, at: CaseAt, evidence: ErrorEvidence) -> RuntimeSpan | None:
    """On which releases of a runtime the file that a case works with at a point has an error; ``None`` for on none."""
    where = {"torch": (at.torch,), "exporter": (at.exporter,), "opset": (at.opset,), "provider": ("cpu",)}
    cells = [cell for cell in rows.cells(case=(at.entry.case,), **where) if cell.works]
    ends: dict[tuple[str, str], list[MeasuredCell]] = defaultdict(list)
    for cell in [*cells, *on_runtimes(dataset, cells, rows.catalogue)]:
        if cell.provider in ON_CPU and cell.runtime:
            ends[cell.variant, cell.runtime].append(cell)
    for (variant, runtime), found in ends.items():
        failing = [cell for cell in found if variant == PLAIN and not cell.works and _has(dataset, cell, evidence)]
        if failing:
            return _span(runtime, found, _ordered(failing), at, ends)
    return None


def span_elsewhere(dataset: Dataset, rows: Rows, at: CaseAt, evidence: ErrorEvidence) -> RuntimeSpan | None:
    """The same of the newest file of the case that a release of a runtime gives the error for, of the point's exporter
    first.
    """
    cells = rows.cells(case=(at.entry.case,), variant=(PLAIN,), provider=("cpu",))
    moved = on_runtimes(dataset, [cell for cell in cells if cell.works], rows.catalogue)
    errors = {cell.message_id: cell for cell in moved if cell.provider in ON_CPU and not cell.works}
    same = {message for message, cell in errors.items() if _has(dataset, cell, evidence)}
    failing = [cell for cell in moved if cell.message_id in same and cell.provider in ON_CPU]
    if not failing:
        return None

    def rank(cell: MeasuredCell) -> tuple[bool, int, int]:
        return cell.exporter == at.exporter, rows.torch.index(cell.torch), cell.opset or 0

    newest = max(failing, key=rank)
    there = judge_case(rows, newest.case, newest.torch, newest.exporter, newest.opset)
    return runtime_span(dataset, rows, there, evidence)


def _span(
    runtime: str,
    found: list[MeasuredCell],
    failing: tuple[str, ...],
    at: CaseAt,
    ends: dict[tuple[str, str], list[MeasuredCell]],
) -> RuntimeSpan:
    newer = [cell for cell in found if versions.parse(cell.runtime_version or "0") > versions.parse(failing[-1])]
    later = _ordered(newer)[:1] if all(cell.works for cell in newer) else ()
    works = {
        variant
        for (variant, name), cells in ends.items()
        if name == runtime and any(cell.works and cell.runtime_version == failing[-1] for cell in cells)
    }
    fix = next((fix for fix in at.fixes if fix.variant in works and not fix.caution), None)
    return RuntimeSpan(at.place, runtime, failing, "".join(later), fix)


def _has(dataset: Dataset, cell: MeasuredCell, evidence: ErrorEvidence) -> bool:
    """Whether a cell ends with an error of a text, but for names and numbers."""
    text = dataset.message(cell.message_id) if cell.message_id else None
    return text is not None and speaks_alike(evidence, KnownError(SeenError(text, ()), tell(text)))


def _ordered(cells: list[MeasuredCell]) -> tuple[str, ...]:
    return tuple(versions.ordered({cell.runtime_version for cell in cells if cell.runtime_version}))


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
