"""Two relations of cells, joined: what happened to each cell, by the decision table of verdicts, in SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

from caniexport.alerts.alert import BETTER, CellPlace, Change, Kind
from caniexport.corpus.verdicts import CHANGES, ComparedCell, Verdict, Workaround, compare
from caniexport.model.canaries import CANARY
from caniexport.model.status import Status
from caniexport.store import sql
from caniexport.store.elsewhere import BEFORE_RUNTIME
from caniexport.store.views import Views

#: what follows for a workaround, from its verdicts before and after
_MOVES = {
    (Workaround.NEEDED, Workaround.OBSOLETE),
    (Workaround.OBSOLETE, Workaround.NEEDED),
    (Workaround.HARMFUL, Workaround.NEEDED),
}
_NEWS = ", ".join(sql.literal(verdict.value) for verdict in CHANGES)
_BETTER = ", ".join(sql.literal(verdict.value) for verdict in BETTER)
_KEY = 'torch, exporter, at_opset, provider, "case", variant'
#: canaries are the gate's; a workaround known to be wrong is no news, and rows of one that its case lost are history
_COUNTED = f"""NOT starts_with("case", '{CANARY}-') AND ("case" NOT IN (SELECT "case" FROM variants)
    OR ("case", coalesce(variant, 'plain')) IN (SELECT ("case", variant) FROM variants WHERE NOT caution))"""
#: what happens on another provider than the CPU's has a cause of its own, once there is a file
_ON = "CASE WHEN provider IN ('', 'cpu', 'none') THEN '' ELSE ' [' || provider || ']' END"
_BEFORE_RUNTIME = ", ".join(sql.literal(stage.value) for stage in BEFORE_RUNTIME)


def side(cells: str, named: Mapping[str, str], *, own_opset: str = "opset") -> str:
    """The cells of one side as SQL. ``named`` is what each release is compared as; the others are left out.

    Cells are compared where they have one ``own_opset`` (SQL).
    """
    releases = ", ".join(f"({sql.literal(torch)}, {sql.literal(name)})" for torch, name in named.items())
    return f"""SELECT compared AS torch, exporter, coalesce({own_opset}, 0) AS at_opset,
            coalesce(provider, '') AS provider, "case", coalesce(variant, 'plain') AS variant, opset, status,
            signature, nullif(case_hash, '') AS case_hash, stage, message_id, runtime_version, measured_at
        FROM ({cells}) JOIN (VALUES {releases or "(NULL::VARCHAR, NULL::VARCHAR)"}) named(torch, compared) USING (torch)
        WHERE exporter IS NOT NULL AND "case" IS NOT NULL AND {_COUNTED}"""


def pair(views: Views, left: str, right: str) -> str:
    """The name of a table of all cells of both sides, with the verdict of each, and the kind of alert where it is one.

    Wrong values all read alike: of these each variant is a cause of its own.
    """
    return views.keep(
        f"""WITH decision(before, after, is_same, verdict) AS (VALUES {_decisions()}),
        both_sides AS (SELECT {_KEY}, b.status AS before, a.status AS after, a.opset, b.opset AS opset_before,
                b.signature IS NOT DISTINCT FROM a.signature AS is_same,
                coalesce(b.case_hash <> a.case_hash, false) AS is_other_code,
                a.stage, a.message_id, b.runtime_version AS runtime_before, a.runtime_version AS runtime,
                CASE WHEN a.status <> 'mismatch' THEN nullif(a.signature, '') END AS signature
            FROM ({left}) b FULL JOIN ({right}) a USING ({_KEY})),
        judged AS (SELECT * EXCLUDE (verdict),
                CASE WHEN is_other_code THEN '{Verdict.REBASELINED}' ELSE verdict END AS verdict,
                CASE WHEN NOT is_other_code AND verdict IN ({_NEWS}) THEN verdict END AS kind
            FROM both_sides JOIN decision d ON d.is_same = both_sides.is_same
                AND d.before IS NOT DISTINCT FROM both_sides.before AND d.after IS NOT DISTINCT FROM both_sides.after)
        SELECT {_KEY}, before, after, opset, opset_before, stage, runtime_before, runtime, verdict, kind,
            CASE WHEN kind IS NOT NULL THEN message_id END AS message_id,
            CASE WHEN kind IS NOT NULL THEN CASE WHEN kind IN ({_BETTER}) OR signature IS NULL
                THEN "case" || '/' || variant ELSE signature END
                || CASE WHEN stage IN ({_BEFORE_RUNTIME}) THEN '' ELSE {_ON} END END AS cause
        FROM judged"""
    )


def _decisions() -> str:
    """The decision table of verdicts as rows."""
    rows = []
    for before, after, same in product((*Status, None), (*Status, None), (True, False)):
        verdict = compare(ComparedCell(before, "a"), ComparedCell(after, "a" if same else "b"))
        one, other = ("NULL" if status is None else sql.literal(status.value) for status in (before, after))
        rows.append(f"({one}, {other}, {same}, '{verdict}')")
    return ", ".join(rows)


def counts(views: Views, pairs: str) -> dict[str, Counter[Verdict]]:
    """By release: how many cells there are of every verdict that has one."""
    found: dict[str, Counter[Verdict]] = {}
    for torch, verdict, cells in views.fetch(f"SELECT torch, verdict, count(*) FROM {pairs} GROUP BY ALL"):
        found.setdefault(torch, Counter())[Verdict(verdict)] = cells
    return found


def changes(views: Views, pairs: str) -> list[Change]:
    """The cells that changed, and the workarounds that did what another verdict says."""
    moves = ", ".join(f"('{before}', '{after}')" for before, after in sorted(_MOVES))
    rows = views.fetch(
        f"""SELECT kind, cause, "case", variant, torch, exporter, opset, provider, before, after, message_id
        FROM {pairs} WHERE kind IS NOT NULL UNION ALL
        SELECT m.after, "case" || '/' || w.variant || {_ON}, "case", w.variant, torch, exporter,
            w.opset, provider, m.before, m.after, NULL
        FROM {pairs} w JOIN workaround USING ("case", variant)
        JOIN {pairs} o USING (torch, exporter, at_opset, provider, "case")
        JOIN (VALUES {moves}) m(before, after)
            ON m.before = verdict(o.before, w.before) AND m.after = verdict(o.after, w.after)
        WHERE o.variant = 'plain' AND (o.kind IS NOT NULL OR w.kind IS NOT NULL)
        ORDER BY ALL"""
    )
    return [
        Change(_kind(kind), cause, CellPlace(*cell), before, after, message)
        for kind, cause, *cell, before, after, message in rows
    ]


def _kind(word: str) -> Kind:
    return Workaround(word) if word in list(Workaround) else Verdict(word)
