"""Two relations of cells, joined: what happened to each cell, by the decision table of verdicts, in SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from caniexport.alerts.alert import BETTER, CellPoint, Change, Kind
from caniexport.corpus.verdicts import CHANGES, Verdict, Workaround
from caniexport.model.canaries import CANARY
from caniexport.store import sql
from caniexport.store.elsewhere import BEFORE_RUNTIME
from caniexport.store.views import Views

#: statuses as verdicts group them, null for what was not measured. What a busy machine makes counts for neither
_KIND = """CASE WHEN {0} IN ('timeout', 'oom', 'unstable') THEN 'suspect'
    WHEN {0} NOT IN ('skip', 'not_run', 'invalid') THEN {0} END"""
#: what happened between two cells that ended as b and as a, with one signature (is_same) and one code or not
VERDICT = """CASE
    WHEN is_other_code THEN 'rebaselined'
    -- what was not measured afterwards says nothing; what is new has nothing to be compared with
    WHEN a IS NULL OR b IS NULL AND a = 'suspect' THEN 'unknown'
    WHEN b IS NULL THEN CASE WHEN works(a) THEN 'new-passing' WHEN a = 'unsupported' THEN 'new-unsupported'
        ELSE 'new-failing' END
    WHEN a = b THEN CASE WHEN a = 'fail' AND NOT is_same THEN 'changed-failure' ELSE 'same-' || a END
    -- wrong values reach production unseen, a crash takes the process along: worse than whatever was before
    WHEN a = 'mismatch' THEN 'regressed-silent'
    WHEN a = 'crash' THEN 'regressed-crash'
    WHEN works(a) AND works(b) THEN CASE a WHEN 'pass' THEN 'restored' ELSE 'degraded' END
    WHEN works(b) THEN CASE a WHEN 'fail' THEN 'regressed' WHEN 'suspect' THEN 'suspect' ELSE 'withdrawn' END
    WHEN works(a) THEN CASE b WHEN 'suspect' THEN 'fixed-suspect' WHEN 'unsupported' THEN 'newly-supported'
        ELSE CASE a WHEN 'pass' THEN 'fixed' ELSE 'fixed-degraded' END END
    -- it fails in another way
    WHEN a = 'unsupported' THEN 'now-declared'
    WHEN a = 'fail' THEN CASE b WHEN 'suspect' THEN 'changed-failure' WHEN 'unsupported' THEN 'newly-failing'
        ELSE 'now-fails-cleanly' END
    WHEN b = 'unsupported' THEN 'suspect'
    ELSE 'changed-failure-suspect' END"""
#: what follows for a workaround, from its verdicts before and after
_MOVES = {
    (Workaround.NEEDED, Workaround.OBSOLETE),
    (Workaround.OBSOLETE, Workaround.NEEDED),
    (Workaround.HARMFUL, Workaround.NEEDED),
}
_NEWS = ", ".join(sql.literal(verdict.value) for verdict in CHANGES)
_BETTER = ", ".join(sql.literal(verdict.value) for verdict in BETTER)
#: columns of cells that :func:`side` reads
COMPARED = (
    *("torch", "exporter", "opset", "provider", "case", "variant", "status", "signature"),
    *("case_hash", "stage", "message_id", "runtime_version", "measured_at"),
)
_KEY = 'torch, exporter, at_opset, provider, "case", variant'
#: canaries are the gate's; a workaround known to be wrong is no news, and rows of one that its case lost are history
_COUNTED = f"""NOT starts_with("case", '{CANARY}-') AND ("case" NOT IN (SELECT "case" FROM variants)
    OR ("case", coalesce(variant, 'plain')) IN (SELECT ("case", variant) FROM variants WHERE NOT caution))"""
#: what happens on another provider than the CPU's has a cause of its own, once there is a file
_ON = "CASE WHEN provider IN ('', 'cpu', 'none') THEN '' ELSE ' [' || provider || ']' END"
_BEFORE_RUNTIME = ", ".join(sql.literal(stage.value) for stage in BEFORE_RUNTIME)


def select_cells(cells: str, named: Mapping[str, str], *, own_opset: str = "opset") -> str:
    """The cells of one side as SQL. ``named`` is what each release is compared as; the others are left out.

    Cells are compared where they have one ``own_opset`` (SQL).
    """
    releases = ", ".join(f"({sql.literal(torch)}, {sql.literal(name)})" for torch, name in named.items())
    return f"""SELECT compared AS torch, exporter, coalesce({own_opset}, 0) AS at_opset,
            coalesce(provider, '') AS provider, "case", coalesce(variant, 'plain') AS variant, opset, status,
            signature, nullif(case_hash, '') AS case_hash, stage, message_id, runtime_version, measured_at
        FROM ({cells}) JOIN (VALUES {releases or "(NULL::VARCHAR, NULL::VARCHAR)"}) named(torch, compared) USING (torch)
        WHERE exporter IS NOT NULL AND "case" IS NOT NULL AND {_COUNTED}"""


def pair_cells(views: Views, left: str, right: str) -> str:
    """The name of a table of all cells of both sides, with the verdict of each, and the kind of alert where it is one.

    Wrong values all read alike: of these each variant is a cause of its own.
    """
    return views.keep(
        f"""WITH both_sides AS (SELECT {_KEY}, b.status AS before, a.status AS after, a.opset, b.opset AS opset_before,
                b.signature IS NOT DISTINCT FROM a.signature AS is_same,
                coalesce(b.case_hash <> a.case_hash, false) AS is_other_code,
                a.stage, a.message_id, b.runtime_version AS runtime_before, a.runtime_version AS runtime,
                CASE WHEN a.status <> 'mismatch' THEN nullif(a.signature, '') END AS signature
            FROM ({left}) b FULL JOIN ({right}) a USING ({_KEY})),
        grouped AS (SELECT *, {_KIND.format("before")} AS b, {_KIND.format("after")} AS a FROM both_sides),
        judged AS (SELECT *, {VERDICT} AS verdict, CASE WHEN verdict IN ({_NEWS}) THEN verdict END AS kind FROM grouped)
        SELECT {_KEY}, before, after, opset, opset_before, stage, runtime_before, runtime, verdict, kind,
            CASE WHEN kind IS NOT NULL THEN message_id END AS message_id,
            CASE WHEN kind IS NOT NULL THEN CASE WHEN kind IN ({_BETTER}) OR signature IS NULL
                THEN "case" || '/' || variant ELSE signature END
                || CASE WHEN stage IN ({_BEFORE_RUNTIME}) THEN '' ELSE {_ON} END END AS cause
        FROM judged"""
    )


def count_verdicts(views: Views, pairs: str) -> dict[str, Counter[Verdict]]:
    """By release: how many cells there are of every verdict that has one."""
    found: dict[str, Counter[Verdict]] = {}
    for torch, verdict, cells in views.fetch(f"SELECT torch, verdict, count(*) FROM {pairs} GROUP BY ALL"):
        found.setdefault(torch, Counter())[Verdict(verdict)] = cells
    return found


def find_changes(views: Views, pairs: str) -> list[Change]:
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
        Change(_kind(kind), cause, CellPoint(*cell), before, after, message)
        for kind, cause, *cell, before, after, message in rows
    ]


def _kind(word: str) -> Kind:
    return Workaround(word) if word in list(Workaround) else Verdict(word)
