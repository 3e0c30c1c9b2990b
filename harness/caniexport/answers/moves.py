"""How every case and every workaround changes between two points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from caniexport.answers.point import FIRST_CALL, Point
from caniexport.answers.scope import Scope
from caniexport.home import NEWEST
from caniexport.model.status import Checker, Status
from caniexport.store import sql
from caniexport.store.views import Views

#: the order in which workarounds are advised: those that keep the values first, then those that a document states, then
#: those that stay with the exporter, then those that ask least
EASE = """(w.changes_values, NOT w.documented, regexp_matches(w.code, 'exporter\\s*='), list_position([
    'rewrite', 'module-swap', 'raise-opset', 'export-option', 'custom-symbolic', 'autograd-function', 'graph-surgery',
    'runtime-option'], w.kind), w.variant)"""


class CaseChange(StrEnum):
    """How a case changes."""

    BREAKS = "breaks"
    #: it fails before and after, and what worked around it does no longer
    LOST = "help lost"
    #: an error before, wrong values now; what worked and is wrong now breaks
    NOW_WRONG = "error→wrong"
    FIXED = "fixed"
    UNCHANGED = "unchanged"
    NOT_MEASURED = "not measured"


class Advice(StrEnum):
    """What to do with a workaround."""

    ADD = "add"
    LOST = "stops working"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True)
class CaseMove:
    """A case at both points. ``workarounds`` are those that work at the second, the first to try first; of these the
    ``changing`` compute other values. ``message`` is the error there. ``is_refused``: the case works there, and onnx's
    checker refuses its file.
    """

    case: str
    title: str
    change: CaseChange
    before: Status | None
    after: Status | None
    message: str
    workarounds: tuple[str, ...]
    changing: frozenset[str]
    is_refused: bool


@dataclass(frozen=True)
class Tally:
    """How many cases changed how at a point. Of those that break ``helpless`` have no workaround there; of all that
    were measured at both points ``working`` work there; ``missing`` were measured at the first alone.
    """

    point: Point
    counts: dict[CaseChange, int]
    helpless: int
    working: int
    missing: int

    @property
    def compared(self) -> int:
        """Cases that were measured at both points."""
        return sum(count for change, count in self.counts.items() if change is not CaseChange.NOT_MEASURED)

    @property
    def worse(self) -> int:
        """Cases that break, or whose workaround does."""
        return self.counts[CaseChange.BREAKS] + self.counts[CaseChange.LOST]

    @property
    def is_clear(self) -> bool:
        """Whether nothing that was measured got worse, and some of it works."""
        return not self.worse and self.working > 0

    @property
    def is_mostly_unmeasured(self) -> bool:
        """Whether most of what was measured at the first point was not at the second."""
        return self.missing > self.compared

    @property
    def cost(self) -> tuple[bool, int, int, int]:
        """What orders ways of calling a release: the one that costs least first."""
        lost = self.helpless + self.counts[CaseChange.LOST]
        return not self.is_clear and not self.worse, lost, self.worse, self.counts[CaseChange.NOW_WRONG]


#: how a case changes whose original has the row ``b`` before and ``a`` after; a case with other code is another case,
#: and a workaround that is not measured there may still work
_CHANGE = f"""CASE WHEN works(b.status) IS NULL OR works(a.status) IS NULL
        OR a.case_hash <> b.case_hash THEN '{CaseChange.NOT_MEASURED}'
    WHEN works(b.status) AND NOT works(a.status) THEN '{CaseChange.BREAKS}'
    WHEN works(a.status) AND NOT works(b.status) THEN '{CaseChange.FIXED}'
    WHEN NOT works(a.status) AND helps."case" IS NULL AND NOT helped_before.is_open THEN '{CaseChange.LOST}'
    WHEN a.status IN ('mismatch', 'crash') AND b.status NOT IN ('mismatch', 'crash') AND NOT works(b.status)
        THEN '{CaseChange.NOW_WRONG}'
    WHEN NOT works(a.status) AND helps."case" IS NULL AND helped_before.is_open THEN '{CaseChange.NOT_MEASURED}'
    ELSE '{CaseChange.UNCHANGED}' END"""
#: the theme of cases about arguments of the export call: whoever upgrades meets them at once
_ARGUMENTS = sql.literal("api-drift")
#: the argument by which the default call breaks what a call with the same exporter and opset does not
_AXES = "dynamic_axes="
#: the values of the column ``checker`` for a file that onnx's checker refuses
_REFUSED = ", ".join(sql.literal(word.value) for word in (Checker.STRICT, Checker.PLAIN, Checker.CRASH))


class Moves:
    """The status of every variant in scope at several points: read once, then compared in any pair.

    ``scope`` is about documented cases; a point that is asked about and was not named before is read then.
    """

    def __init__(self, views: Views, before: Point, points: Sequence[Point], scope: Scope) -> None:
        self._views = views
        self._scope = scope
        self._before = before
        self._at: dict[Point, str] = {}
        self._statuses: dict[Point, dict[tuple[str, str], Status]] = {}
        self._read([before, *points])

    def _read(self, points: Iterable[Point]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in self._at]
        if new:
            name = self._views.keep(" UNION ALL BY NAME ".join(_write_cells_sql(new)))
            self._at |= {point: f"(SELECT * FROM {name} WHERE slot = {at})" for at, point in enumerate(new)}

    def status(self, case: str, variant: str, at: Point) -> Status | None:
        """Return the status of a variant at a point; ``None`` where it was not measured."""
        self._read([at])
        if at not in self._statuses:
            rows = self._views.fetch(
                f"""SELECT "case", variant, status FROM {self._at[at]} WHERE works(status) IS NOT NULL"""
            )
            self._statuses[at] = {(case, variant): Status(status) for case, variant, status in rows}
        return self._statuses[at].get((case, variant))

    def _changes(self, points: Sequence[Point]) -> str:
        """Return SQL for every case in scope from the first point to each of several, with its number as ``slot``."""
        self._read(points)
        ways = " UNION ALL ".join(f"SELECT {at} AS number, * FROM {self._at[point]}" for at, point in enumerate(points))
        return f"""WITH b AS {self._at[self._before]}, every AS ({ways}),
            slot AS (SELECT unnest(range({len(points)})) AS number),
            helps AS (
                SELECT e.number, w."case", list(w.variant ORDER BY {EASE}) AS variants,
                    list(w.variant) FILTER (w.changes_values) AS changing
                FROM workaround w JOIN every e ON e."case" = w."case" AND e.variant = w.variant
                WHERE works(e.status) GROUP BY e.number, w."case"),
            helped_before AS (SELECT slot.number, w."case", bool_or(works(e.status) IS NULL) AS is_open
                FROM workaround w JOIN b ON b."case" = w."case" AND b.variant = w.variant CROSS JOIN slot
                LEFT JOIN every e ON e.number = slot.number AND e."case" = w."case" AND e.variant = w.variant
                WHERE works(b.status) GROUP BY ALL)
            SELECT slot.number AS slot, o."case", o.title, o.theme, {_CHANGE} AS change, b.status AS before,
                a.status AS after, a.message_id, a.checker, helps.variants, helps.changing
            FROM original o CROSS JOIN slot
            LEFT JOIN b ON b."case" = o."case" AND b.variant = o.variant
            LEFT JOIN every a ON a.number = slot.number AND a."case" = o."case" AND a.variant = o.variant
            LEFT JOIN helps ON helps.number = slot.number AND helps."case" = o."case"
            LEFT JOIN helped_before ON helped_before.number = slot.number AND helped_before."case" = o."case"
            WHERE {self._scope.condition}"""

    def cases(self, after: Point) -> list[CaseMove]:
        """Every case in scope from the first point to another: by theme, those of the export call's arguments last."""
        # what ran on another runtime is a replay, of the newest packages
        profiles = ", ".join(map(sql.literal, sorted({after.profile, NEWEST})))
        rows = self._views.fetch(
            f"""SELECT "case", title, change, before, after, text, variants, changing,
                coalesce(works(after) AND checker IN ({_REFUSED}), false)
            FROM ({self._changes([after])}) LEFT JOIN (
                SELECT DISTINCT message_id, text FROM message WHERE profile IN ({profiles})) USING (message_id)
            ORDER BY theme = {_ARGUMENTS}, theme, "case\""""
        )
        return [
            CaseMove(
                case,
                title,
                CaseChange(change),
                one and Status(one),
                other and Status(other),
                text or "",
                tuple(variants or ()),
                frozenset(changing or ()),
                refused,
            )
            for case, title, change, one, other, text, variants, changing, refused in rows
        ]

    def workarounds(self, after: Point) -> list[tuple[Advice, str, str, str]]:
        """The workarounds that one of the two points needs: what to do with each, its case, name and note."""
        self._read([after])
        rows = self._views.fetch(
            f"""WITH b AS {self._at[self._before]}, a AS {self._at[after]},
            pair AS (
                SELECT o."case", o.variant, o.note, verdict(bp.status, bw.status) AS before,
                    verdict(ap.status, aw.status) AS after
                FROM workaround o
                LEFT JOIN b bp ON bp."case" = o."case" AND bp.variant = 'plain'
                LEFT JOIN b bw ON bw."case" = o."case" AND bw.variant = o.variant
                LEFT JOIN a ap ON ap."case" = o."case" AND ap.variant = 'plain'
                LEFT JOIN a aw ON aw."case" = o."case" AND aw.variant = o.variant
                WHERE {self._scope.condition})
            SELECT CASE
                WHEN before = 'needed' AND after IN ('obsolete', 'harmful') THEN '{Advice.REMOVE}'
                WHEN before = 'needed' AND after = 'needed' THEN '{Advice.KEEP}'
                WHEN before IN ('obsolete', 'harmful') AND after = 'needed' THEN '{Advice.ADD}'
                WHEN before = 'needed' AND after = 'broken' THEN '{Advice.LOST}' END AS advice, "case", variant, note
            FROM pair WHERE advice IS NOT NULL
            ORDER BY list_position({[item.value for item in Advice]}, advice), "case", variant"""
        )
        return [(Advice(advice), case, variant, note) for advice, case, variant, note in rows]

    def tallies(self, points: Sequence[Point]) -> list[Tally]:
        """The counts from the first point to each of several."""
        counts = [dict.fromkeys(CaseChange, 0) for _ in points]
        helpless, working, missing = ([0 for _ in points] for _ in range(3))
        rows = self._views.fetch(
            f"""SELECT slot, change, count(*), count(*) FILTER (variants IS NULL), count(*) FILTER (works(after)),
                count(*) FILTER (works(before) IS NOT NULL) FROM ({self._changes(points)}) GROUP BY ALL"""
        )
        for number, change, count, without, work, known in rows:
            counts[number][CaseChange(change)] = count
            if change == CaseChange.NOT_MEASURED:
                missing[number] = known
            else:
                working[number] += work
            helpless[number] += without if change == CaseChange.BREAKS else 0
        return [Tally(*found) for found in zip(points, counts, helpless, working, missing, strict=True)]

    def causes(self, after: Point, cases: Iterable[str]) -> dict[str, str]:
        """By case that breaks: which of torch, packages, exporter, opset and runtime breaks it where it moves alone.

        A case that was not measured so is left out.
        """
        named, wanted = self._before.with_named_call(), set(cases)
        packages = after.profile if after.torch != named.torch else named.profile
        moved = {
            "torch": replace(named, torch=after.torch, profile=packages),
            "companion packages": replace(named, profile=after.profile),
            "exporter": replace(named, exporter=after.exporter),
            "opset": replace(named, opset=after.opset),
            "runtime": replace(named, on=after.on),
        }
        alone = {axis: point for axis, point in moved.items() if point != named}
        # an argument that only the default call passes
        points = [*alone.values(), *([after.with_named_call()] if after.is_default else [])]
        if not wanted or not points:
            return {}
        rows = self._views.fetch(
            f"""SELECT slot, "case", change, works(after) FROM ({self._changes(points)}) ORDER BY slot"""
        )
        found: dict[str, list[str]] = {}
        axes: dict[str, list[str]] = {}
        unmeasured: set[str] = set()
        for slot, case, change, works in rows:
            if slot == len(alone):
                axes |= {case: [_AXES]} if works else {}
            elif change == CaseChange.NOT_MEASURED:
                unmeasured.add(case)
            elif change == CaseChange.BREAKS and case in wanted:
                found.setdefault(case, []).append([*alone][slot])
        together = {case: ["several together"] for case in wanted - unmeasured}
        return {case: " and ".join(axes) for case, axes in (together | axes | found).items() if case in wanted}


def _write_cells_sql(points: Sequence[Point]) -> Iterator[str]:
    """Yield SQL for the cells at each point, with its number as ``slot``: a query for each profile."""
    columns = 'slot, "case", variant, status, case_hash, message_id, checker'
    for profile in dict.fromkeys(point.profile for point in points):
        mine = [(at, point) for at, point in enumerate(points) if point.profile == profile and point.on is None]
        asked = ", ".join(
            f"({at}, {sql.literal(point.torch)}, {sql.literal(exporter)}, {opset or 'NULL'}::INTEGER)"
            for at, point in mine
            for exporter, opset in point.calls
        )
        if mine:
            releases = ", ".join(sorted({sql.literal(point.torch) for _, point in mine}))
            yield f"""SELECT {columns} FROM cells JOIN (VALUES {asked}) p(slot, at_torch, at_exporter, at_opset)
                ON torch = at_torch AND exporter = at_exporter AND opset IS NOT DISTINCT FROM at_opset
                WHERE profile = {sql.literal(profile)} AND torch IN ({releases})
                QUALIFY {FIRST_CALL.format("slot, ")}"""
    for at, point in enumerate(points):
        if point.on is not None:
            yield f"SELECT {at} AS {columns} FROM ({point.rows})"
