"""Claims held against rows: what a source says happens, and what was measured there. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from caniexport import versions
from caniexport.corpus import replays
from caniexport.corpus.claim_files import Claim, DocumentedCase, DocumentedCases
from caniexport.corpus.replays import Replays
from caniexport.model import plan, releases
from caniexport.model.case import PLAIN, Fix
from caniexport.model.corpus import LoadedCase
from caniexport.model.status import MEASURED, Checker, Exporter, FixKind, Stage, Status

REPRODUCED, PARTLY, NOT_REPRODUCED = "reproduced", "partly", "not-reproduced"
#: it could be measured, and no row is about it so far
PENDING = "pending"
#: it cannot be measured here: a device that is not there, a release that cannot be entered, a cell that no plan has
NOT_MEASURED = "not-measured"

#: an empty exporter in a claim means these
_EXPORTERS = frozenset({Exporter.TRACE.value, Exporter.SCRIPT.value, Exporter.DYNAMO.value})
#: providers that a claim is about when it names none
_EVERYWHERE = frozenset({"cpu", "none", None})
#: whose provider a claim needs that names no runtime
_RUNTIME = "onnxruntime"
#: columns that adjudication reads
COLUMNS = (
    "torch",
    "case",
    "variant",
    "exporter",
    "opset",
    "opset_effective",
    "exporter_effective",
    "runtime",
    "runtime_version",
    "provider",
    "bundle",
    "stage",
    "status",
    "signature",
    "message_id",
    "warning_id",
    "checker",
    "checker_id",
    "unstable",
    "ops",
    "facts",
)
#: what onnx's checker says of a file that it refuses
_REFUSED = frozenset({Checker.STRICT.value, Checker.PLAIN.value})
_SHOWN = 4

Row = Mapping[str, Any]
Texts = Mapping[str, str]


def adjudicate(
    cases: Mapping[str, LoadedCase],
    documents: DocumentedCases,
    cells: Iterable[Row],
    messages: Texts,
    runs: Iterable[Row] = (),
) -> list[dict[str, Any]]:
    """Rows of ``CLAIMS`` for every claim of the cases, in their order; ids are ``case/1``, ``case/2``, ...

    documents  what the documents say of the cases
    cells      rows with the columns of ``CELLS`` ; those of quarantined runs left out
    messages   texts by message id, for the claims that quote one
    runs       how bundles of these cells end on further runtimes, for the claims that name versions of one
    """
    by_case: dict[str | None, list[Row]] = {}
    for row in cells:
        by_case.setdefault(row["case"], []).append(row)
    # releases whose environment could not be made: they have a row without a case, and no other
    entered = {row["torch"] for case, rows in by_case.items() if case is not None for row in rows}
    barred = frozenset(row["torch"] for row in by_case.get(None, ()) if row["torch"]) - entered
    replayed = Replays(runs)
    return [
        {
            **_claim_columns(item.id, number, claim, documents[item.id]),
            **_judge_claim(item, claim, by_case.get(item.id, []), barred, messages, replayed),
        }
        for item in cases.values()
        for number, claim in enumerate(documents[item.id].claims, start=1)
    ]


def find_runtime_claims(documents: DocumentedCases) -> list[str]:
    """Return the cases with a claim about a runtime or provider: runs of their bundles judge it."""
    return [case for case, documented in documents.items() if any(map(_needs_replays, documented.claims))]


def _claim_columns(case: str, number: int, claim: Claim, documented: DocumentedCase) -> dict[str, Any]:
    """The claim's own columns of a row of ``CLAIMS``."""
    expects = {
        "status": list(claim.status),
        **{name: getattr(claim, name) for name in ("stage", "message", "ops", "facts")},
    }
    only_record = documented.records[0] if len(documented.records) == 1 else ""
    return {
        "claim": f"{case}/{number}",
        "case": case,
        "variant": claim.variant,
        "record": claim.record or only_record,
        **{name: getattr(claim, name) for name in ("source", "says", "torch", "exporter", "opset")},
        "runtime": claim.runtime or None,
        "expects": json.dumps({key: value for key, value in expects.items() if value}, sort_keys=True),
    }


def _judge_claim(
    item: LoadedCase, claim: Claim, rows: Sequence[Row], barred: frozenset[str], messages: Texts, replayed: Replays
) -> dict[str, Any]:
    chosen = _move_to_runtime(item, claim, [row for row in rows if _is_selected(item, claim, row)], replayed)
    measured = _drop_refusals(claim, [row for row in chosen if row["status"] in MEASURED])
    measured = [row for row in measured if not _is_torch_failure(claim, row, messages)]
    by_word: dict[bool | None, list[Row]] = {True: [], False: [], None: []}
    for row in measured:
        by_word[_compare_with_claim(claim, row, messages)].append(row)
    agreeing, against, unsteady = by_word[True], by_word[False], by_word[None]
    left = _describe_pending(item, claim, chosen, barred)
    if not measured:
        outcome = PENDING if left else NOT_MEASURED
        return _outcome_columns(outcome, left or _explain_unmeasured(item, claim, chosen, barred, messages), claim, [])
    left = f"{_describe_refused(agreeing)}{f'; {left}' if left else ''}"
    if not against and not unsteady:
        return _outcome_columns(
            REPRODUCED, f"{_count_cells(agreeing, claim)}, all as documented{left}", claim, agreeing
        )
    instead = f"; instead {_describe_others(against, claim)}" if against else ""
    instead += f"; not the same every time: {_describe_unstable(unsteady, claim)}" if unsteady else ""
    if agreeing or unsteady:
        reason = f"{len(agreeing)} of {_count_cells(measured, claim)} as documented{instead}{left}"
        return _outcome_columns(PARTLY, reason, claim, [*against, *unsteady])
    reason = f"{_count_cells(measured, claim)}, none as documented{instead}{left}"
    return _outcome_columns(NOT_REPRODUCED, reason, claim, against)


def _move_to_runtime(item: LoadedCase, claim: Claim, rows: list[Row], replayed: Replays) -> list[Row]:
    """The cells as they end on the provider and the versions of a runtime that the claim names; else as they are."""
    if not _needs_replays(claim):
        return rows
    fix = getattr(item.cls, claim.variant, None)
    asks = isinstance(fix, Fix) and fix.kind == FixKind.RUNTIME_OPTION.value
    return [moved for row in rows for moved in replayed.of(row, _find_runtime(claim), asks=asks)]


def _needs_replays(claim: Claim) -> bool:
    """Whether the claim is about a runtime or a provider: it is judged on the runs of files."""
    return bool(claim.runtime or claim.needs)


def _find_runtime(claim: Claim) -> replays.RuntimeVersions:
    return replays.parse_runtime(claim.runtime or _RUNTIME, claim.needs)


def _describe_pending(item: LoadedCase, claim: Claim, chosen: Sequence[Row], barred: frozenset[str]) -> str:
    """Where the claim could still be measured: releases that plan a cell it selects and have no row of one."""
    if claim.needs:
        return ""
    if item.is_environment:
        return "" if chosen else "not measured yet: this installation has not been tried"
    if claim.runtime:
        can = not chosen and replays.parse_runtime(claim.runtime).releases
        return f"not measured yet: none of its files was run on {claim.runtime}" if can else ""
    have = {row["torch"] for row in chosen}
    waiting = [
        torch
        for torch in _find_releases(item, claim)
        if torch not in have | barred
        and any(_could_select(item, claim, torch, cell) for cell in _plan_cells(item, torch))
    ]
    return f"not measured yet on torch {format_releases(waiting)}" if waiting else ""


@lru_cache(maxsize=256)
def _plan_cells(item: LoadedCase, torch: str) -> tuple[plan.Cell, ...]:
    """The planned cells of a case on a release of the table, on cpu."""
    return tuple(plan.cells({item.id: item}, releases.find(torch), "cpu"))


def _list_releases() -> list[str]:
    """The releases of the table, oldest first."""
    return versions.ordered(release.torch for release in releases.read_table())


def _find_releases(item: LoadedCase, claim: Claim) -> list[str]:
    """The releases of the table that the claim is about."""
    _, torch = _find_judged_variant(item, claim)
    return [name for name in _list_releases() if versions.within(name, torch)]


def _could_select(item: LoadedCase, claim: Claim, torch: str, cell: plan.Cell) -> bool:
    """Whether the claim would select a planned cell; the opset that the default exporter will write is not known."""
    place = {**cell._asdict(), "torch": torch}
    return _is_at_point(item, claim, place) and (cell.opset is None or _has_opset(claim, place))


def _outcome_columns(outcome: str, reason: str, claim: Claim, shown: Sequence[Row]) -> dict[str, Any]:
    text = f"{reason}. {claim.finding}" if claim.finding and outcome != REPRODUCED else reason
    why_not = claim.why_not if outcome == NOT_REPRODUCED else ""
    cells = sorted(set(map(_format_cell, shown)))
    return {"outcome": outcome, "reason": text, "cells": cells, "why_not": why_not or None}


def _is_selected(item: LoadedCase, claim: Claim, row: Row) -> bool:
    if item.is_environment:
        return bool(row["variant"] == claim.variant and not claim.needs)
    return _is_at_point(item, claim, row) and _has_opset(claim, row)


def _is_at_point(item: LoadedCase, claim: Claim, row: Row) -> bool:
    """All but the opset."""
    variant, torch = _find_judged_variant(item, claim)
    return (
        row["variant"] == variant
        and row["provider"] in {claim.needs or None, *_EVERYWHERE}
        and row["exporter"] in ({claim.exporter} if claim.exporter else _EXPORTERS)
        and (not torch or (row["torch"] is not None and versions.within(row["torch"], torch)))
    )


def _find_judged_variant(item: LoadedCase, claim: Claim) -> tuple[str, str]:
    """The variant whose rows answer, and the releases they must be of: an upgrade is judged on the plain form."""
    fix = getattr(item.cls, claim.variant, None)
    if isinstance(fix, Fix) and fix.kind == "version-upgrade":
        return PLAIN, ",".join(filter(None, (claim.torch, fix.torch)))
    return claim.variant, claim.torch


def _has_opset(claim: Claim, row: Row) -> bool:
    """Where none was asked (the default exporter) the opset of the file counts."""
    if not claim.opset:
        return True
    opset = row["opset_effective"] if row["opset"] is None else row["opset"]
    return opset is not None and versions.is_opset_in(int(opset), claim.opset)


def _drop_refusals(claim: Claim, rows: list[Row]) -> list[Row]:
    """A declared refusal of an opset says nothing about the case, unless the claim is about it or all were refused."""
    if Status.UNSUPPORTED.value in claim.status:
        return rows
    return [row for row in rows if row["status"] != Status.UNSUPPORTED] or rows


def _is_torch_failure(claim: Claim, row: Row, messages: Texts) -> bool:
    """Whether torch itself stops, before any export, with other words than a claim of a failure has.

    No half floats on the CPU, for one. What is said to work and stops there is contradicted.
    """
    if row["stage"] != Stage.EAGER or row["status"] != Status.FAIL or claim.stage == Stage.EAGER:
        return False
    quoted = claim.message and any(claim.message in text for text in _find_texts(row, messages))
    return bool(claim.status) and Status.PASS not in claim.status and not quoted


def _compare_with_claim(claim: Claim, row: Row, messages: Texts) -> bool | None:
    """Return whether a cell is as its claim states; ``None`` where its repetitions differ and only some are."""
    seen = row["unstable"]
    if seen is None or not len(seen):
        return _has_claimed_outcome(claim, row, messages)
    return None if not claim.status or set(claim.status) & set(seen) else False


def _has_claimed_outcome(claim: Claim, row: Row, messages: Texts) -> bool:
    """What the runtime made of the file counts; what onnx's checker said, where the claim is about that."""
    views = [row]
    if row["checker"] in _REFUSED and (claim.stage == Stage.CHECK or claim.message):
        ended = {"status": Status.FAIL.value, "stage": Stage.CHECK.value, "message_id": row["checker_id"]}
        views.append({**row, **ended, "warning_id": None})
    return any(_matches(claim, view, messages) for view in views)


def _matches(claim: Claim, row: Row, messages: Texts) -> bool:
    return (
        (not claim.status or row["status"] in claim.status)
        and (not claim.stage or row["stage"] == claim.stage)
        and (not claim.message or any(claim.message in text for text in _find_texts(row, messages)))
        and (not claim.ops or _has_ops(row["ops"], claim.ops))
        and (not claim.facts or _has_facts(row["facts"], claim.facts))
    )


def _describe_refused(rows: Sequence[Row]) -> str:
    """That onnx's checker refuses files which work: a pass is then no all-clear for other consumers."""
    refused = [row for row in rows if row["status"] == Status.PASS and row["checker"] in _REFUSED]
    return f"; onnx's checker refuses the file of {len(refused)} that pass" if refused else ""


def _find_texts(row: Row, messages: Texts) -> list[str]:
    return [messages[key] for key in (row["message_id"], row["warning_id"]) if key in messages]


def _has_ops(text: str | None, wanted: Mapping[str, int]) -> bool:
    """At least the counts wanted; a count of 0 means that there is none."""
    if text is None:
        return False
    have = {name: int(count or 1) for name, _, count in (part.partition("*") for part in text.split())}
    return all(have.get(op, 0) >= count if count else op not in have for op, count in wanted.items())


def _has_facts(text: str | None, wanted: Mapping[str, Any]) -> bool:
    have = json.loads(text) if text else {}
    return all(name in have and have[name] == json.loads(json.dumps(value)) for name, value in wanted.items())


def _explain_unmeasured(
    item: LoadedCase, claim: Claim, chosen: Sequence[Row], barred: frozenset[str], messages: Texts
) -> str:
    """Why no measurement can answer the claim."""
    torchs_own = [row for row in chosen if _is_torch_failure(claim, row, messages)]
    if torchs_own:
        return f"torch itself stops before the export: {_describe_others(torchs_own, claim)}"
    if chosen:
        statuses = Counter(row["status"] for row in chosen)
        return "planned but not measured: " + ", ".join(f"{count} {status}" for status, count in statuses.items())
    if claim.needs:
        return f"needs {claim.needs}, on which nothing was measured"
    if claim.runtime:
        return f"no release {claim.runtime} is in the table of runtimes"
    named = _find_releases(item, claim)
    if not named:
        return f"no release {claim.torch} can be entered; the table has {format_releases(_list_releases())}"
    if barred.issuperset(named):
        return f"torch {format_releases(named)} could not be installed"
    asked = [
        f"variant {claim.variant}",
        claim.exporter or "any exporter",
        *[f"opset {claim.opset}"] * bool(claim.opset),
    ]
    needs = getattr(item.cls, "needs_torch", "")
    beside = f"; the case needs torch {needs}" if needs else ""
    return f"torch {format_releases(named)} cannot be asked for {', '.join(asked)}{beside}"


def _count_cells(rows: Sequence[Row], claim: Claim) -> str:
    """How many cells, or runs of how many cells' files, on which versions."""
    cells = len(set(map(_format_cell, rows)))
    text = f"{cells} cell{'' if cells == 1 else 's'}"
    if _needs_replays(claim):
        text = f"{len(rows)} run{'' if len(rows) == 1 else 's'} of {text}"
    where = _format_place(rows, claim)
    return f"{text} on {where}" if where else text


def _format_place(rows: Sequence[Row], claim: Claim) -> str:
    """``torch 2.1.2-2.4.1``; the versions of the runtime first where the claim is about these."""
    torch = format_releases(row["torch"] for row in rows if row["torch"])
    parts = [f"torch {torch}"] if torch else []
    if _needs_replays(claim):
        found = versions.ordered(row["runtime_version"] for row in rows if row["runtime_version"])
        ends = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
        parts.insert(0, f"{_find_runtime(claim).name} {ends}{f' ({claim.needs})' if claim.needs else ''}")
    return ", ".join(parts)


def format_releases(texts: Iterable[str]) -> str:
    """Releases as runs of neighbours in the table of releases: ``1.3.1, 1.11.0-2.15.0``."""
    found = versions.ordered(texts)
    steps = versions.ordered([*found, *_list_releases()])
    position = {text: index for index, text in enumerate(steps)}
    runs = versions.spans([position[text] for text in found], range(len(steps)))
    return ", ".join(steps[low] if low == high else f"{steps[low]}-{steps[high]}" for low, high in runs)


def _describe_unstable(rows: Sequence[Row], claim: Claim) -> str:
    """The words that repetitions of these cells had."""
    seen = sorted({word for row in rows for word in row["unstable"]})
    return f"{', '.join(seen)} were seen ({_count_cells(rows, claim)})"


def _describe_others(rows: Sequence[Row], claim: Claim) -> str:
    """What was seen, most frequent first: ``torch 2.8.0, opset 11-13: fail at export (…)``."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["status"], row["stage"], row["signature"] or ""), []).append(row)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    texts = [_describe_outcome(*key, group, claim) for key, group in ranked[:_SHOWN]]
    if len(ranked) > _SHOWN:
        texts.append(f"and {len(ranked) - _SHOWN} other outcomes")
    return "; ".join(texts)


def _describe_outcome(status: str, stage: str, signature: str, rows: Sequence[Row], claim: Claim) -> str:
    at = versions.opset_text(int(row["opset"]) for row in rows if row["opset"] is not None)
    where = ", ".join(filter(None, (_format_place(rows, claim), f"opset {at}" if at else "")))
    what = status if status == Status.PASS else f"{status} at {stage}"
    return (f"{where}: " if where else "") + what + (f" ({signature})" if signature else "")


def _format_cell(row: Row) -> str:
    opset = "-" if row["opset"] is None else str(int(row["opset"]))
    return "/".join((row["torch"] or "-", row["case"], row["variant"], row["exporter"] or "-", opset))
