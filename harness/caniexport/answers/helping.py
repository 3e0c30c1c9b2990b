"""The workarounds that are measured to work at a point."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from caniexport.answers.moves import EASE
from caniexport.answers.point import Point
from caniexport.store import sql
from caniexport.store.views import Views


@dataclass(frozen=True)
class HelpingWorkaround:
    """A workaround that works where the original fails."""

    variant: str
    note: str
    code: str
    changes_values: bool

    @property
    def label(self) -> str:
        """Its variant, marked where it changes values."""
        return mark_changed_values(self.variant, self.changes_values)


def mark_changed_values(text: str, changes_values: bool) -> str:
    """Return a workaround's name or note, marked where the workaround changes values."""
    return f"{text} (changes values)" if changes_values else text


def find_helping(views: Views, point: Point, cases: Sequence[str]) -> Mapping[str, tuple[HelpingWorkaround, ...]]:
    """By case that fails at a point: the workarounds that work there, the first to try first."""
    rows = views.fetch(
        f"""WITH here AS ({point.rows})
        SELECT w."case", w.variant, w.note, w.code, w.changes_values FROM workaround w
        JOIN here h ON h."case" = w."case" AND h.variant = w.variant
        JOIN here p ON p."case" = w."case" AND p.variant = 'plain'
        WHERE w."case" IN ({", ".join(map(sql.literal, cases)) or "NULL"})
            AND verdict(p.status, h.status) = 'needed'
        ORDER BY {EASE}"""
    )
    found: dict[str, tuple[HelpingWorkaround, ...]] = defaultdict(tuple)
    for case, *item in rows:
        found[case] = (*found[case], HelpingWorkaround(*item))
    return found
