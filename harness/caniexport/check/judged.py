"""A case at a user's own point: what its failing form does there, and what each of its fixes is worth there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.reading import CatalogueEntry, Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.words import words
from caniexport.corpus.verdicts import Workaround
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, FixKind, Status

#: as many points of cases are kept
_KEPT = 2000
#: kinds of fixes, those that ask the least of a user first
_KINDS = tuple(
    kind.value
    for kind in (
        FixKind.RAISE_OPSET,
        FixKind.EXPORT_OPTION,
        FixKind.REWRITE,
        FixKind.MODULE_SWAP,
        FixKind.RUNTIME_OPTION,
        FixKind.CUSTOM_SYMBOLIC,
        FixKind.AUTOGRAD_FUNCTION,
        FixKind.GRAPH_SURGERY,
        FixKind.VERSION_UPGRADE,
    )
)


@dataclass(frozen=True)
class FixAt:
    """A fix of a case, and what it is worth at a point.

    ``caution`` marks one that is known to be wrong or partial, ``changes_values`` one that computes another function,
    which ``changed`` says.
    ``exporter`` and ``opset`` are what its file was found
    to be written with there, empty and ``None`` where no file was. ``refuted`` says what of a user's own rows shows
    that it does not help their model; empty where nothing does. ``does_more`` marks one that goes to another
    exporter or opset where the failing form fails too: what helps is what it writes otherwise.
    """

    variant: str
    kind: str
    note: str
    caution: bool
    code: str
    word: Workaround
    exporter: str = ""
    opset: int | None = None
    refuted: str = ""
    changes_values: bool = False
    does_more: bool = False
    changed: str = ""

    @property
    def told(self) -> str:
        """What it does, and that it computes other values where it does."""
        return "; ".join(filter(None, (self.note or self.kind, self.changed)))

    @property
    def helps(self) -> bool:
        """Whether it was measured to work where the failing form does not, and nothing is known against it."""
        return self.word is Workaround.NEEDED and not self.caution and not self.refuted


@dataclass(frozen=True)
class CaseAt:
    """A case at a point. ``torch`` is the measured release that is used for it: the one asked for, or the nearest older
    one; ``status`` is the failing form's there, ``None`` where it was not measured, ``stage`` where it ended, and
    ``kind`` the exception that it ended with.
    """

    entry: CatalogueEntry
    torch: str
    exporter: str
    opset: int | None
    status: Status | None
    fixes: tuple[FixAt, ...]
    stage: str = ""
    kind: str = ""
    message_id: str | None = None
    refused: bool = False

    @property
    def works(self) -> bool:
        """Whether the failing form works there."""
        return self.status in WORKS

    @property
    def helping(self) -> tuple[FixAt, ...]:
        """The fixes that help there, best first."""
        return tuple(fix for fix in self.fixes if fix.helps)

    @property
    def place(self) -> str:
        """``torch 2.8.0, trace, opset 18``."""
        return tell_place(self.torch, self.exporter, self.opset)


def tell_place(torch: str, exporter: str, opset: int | None) -> str:
    """A place as sentences name it: ``torch 2.8.0, trace, opset 18``."""
    return f"torch {torch}, {EXPORTER_SHORT.get(exporter, exporter)}, {versions.opset_name(opset)}"


def judge_case(rows: Rows, case: str, torch: str, exporter: str, opset: int | None) -> CaseAt:
    """A case of the catalogue at one point; the default call's where ``opset`` is ``None``. Kept a while: answers about
    one case ask for the same points again.
    """
    kept: dict[tuple[object, ...], CaseAt] = rows.beside.setdefault(judge_case, {})
    point = (case, torch, exporter, opset)
    found = kept.get(point)
    if found is None:
        found = _judge(rows, case, torch, exporter, opset)
        if len(kept) >= _KEPT:
            kept.clear()
        # another thread may drop it at once
        kept[point] = found
    return found


def _judge(rows: Rows, case: str, torch: str, exporter: str, opset: int | None) -> CaseAt:
    release = nearest_release(torch, rows.torch)
    entries = rows.entries(case)
    # a fix that is another release has its word from there
    places = {} if any(entry.kind == FixKind.VERSION_UPGRADE.value for entry in entries) else {"torch": (release,)}
    cells = rows.cells(case=(case,), provider=("cpu",), exporter=(exporter,), **places)
    at = rows.opset(release, exporter, opset)
    here = {cell.variant: cell for cell in cells if (cell.torch, cell.opset) == (release, at)}
    plain = next((entry for entry in entries if entry.variant == PLAIN), entries[0])
    fixes = [entry for entry in entries if entry.variant != PLAIN]
    told = words(cells, fixes, rows, exporter, opset, (release,))
    found = [_fix(entry, told[entry.variant][release], here.get(entry.variant)) for entry in fixes]
    mine = here.get(PLAIN)
    status, stage, signature = (mine.status, mine.stage, mine.signature or "") if mine else (None, "", "")
    kind = signature.split("|")[1] if signature.count("|") > 1 else ""
    text, refused = (mine.message_id, mine.refused) if mine else (None, False)
    return CaseAt(plain, release, exporter, at, status, tuple(sorted(found, key=_rank)), stage, kind, text, refused)


def nearest_release(torch: str, measured: Sequence[str]) -> str:
    """The release itself, else the newest measured one that is not newer, else the oldest."""
    older = [name for name in measured if versions.parse(name) <= versions.parse(torch)]
    return older[-1] if older else measured[0]


def _fix(entry: CatalogueEntry, word: Workaround, cell: MeasuredCell | None) -> FixAt:
    exporter = (cell.exporter_effective or "") if cell else ""
    opset = cell.opset_effective if cell else None
    return FixAt(
        entry.variant, entry.kind, entry.note, entry.caution, entry.code_to_copy, word, exporter, opset,
        changes_values=entry.changes_values, changed=entry.changed,
    )  # fmt: skip


def _rank(fix: FixAt) -> tuple[object, ...]:
    kind = _KINDS.index(fix.kind) if fix.kind in _KINDS else len(_KINDS)
    return fix.caution, list(Workaround).index(fix.word), fix.changes_values, kind
