"""torch release -> opset, measured: what projects copy from each other by hand, with the rows behind it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness import names
from harness.answers.along import Along
from harness.answers.select import CANARY, Filters, Rows, load, select
from harness.verdicts import works
from harness.worker.case import PLAIN
from harness.worker.errors import UnknownName
from harness.worker.status import Exporter, Status

if TYPE_CHECKING:
    from harness.store import Dataset

#: the case that passes wherever an exporter and its runtime work at all
_WORKS_AT_ALL = "canary-pass"
_TOOL = "caniexport policy"


@dataclass(frozen=True)
class Rule:
    """One release and exporter on one runtime version.

    ``usable`` is the highest opset at which a file is exported, loaded and run at all; ``passes`` the highest at
    which every case asked about works as it is, ``with_fixes`` the same where a fix of the corpus may be used; all
    ``None`` where there is no such opset. ``holds`` are the cases that work at no opset up to ``usable``; ``cases``
    are those that were measured there.
    """

    torch: str
    exporter: str
    runtime: str
    runtime_version: str
    default: int | None
    usable: int | None
    passes: int | None
    with_fixes: int | None
    cases: int
    holds: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """The rules, oldest release first, and the cases that they are about."""

    about: str
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


def policy(dataset: Dataset, filters: Filters, runtime_versions: Sequence[str] = ()) -> Policy:
    """The highest opset of every release and exporter at which the cases in the filters work.

    Without a filter on exporters each release's own is taken. ``runtime_versions`` keeps the releases that were run
    on these. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, opsets=(), statuses=()))
    along = Along(selection)
    canary = Along(select(rows, Filters(cases=(_WORKS_AT_ALL,)))) if (_WORKS_AT_ALL, PLAIN) in rows.catalogue else along
    fixes: dict[str, list[str]] = {}
    for entry in selection.catalogue.values():
        if entry.corpus != CANARY:
            fixes.setdefault(entry.case, [])
            if entry.variant != PLAIN and not entry.caution:
                fixes[entry.case].append(entry.variant)
    runtimes = _runtimes(dataset)
    wanted = names.require_all("runtime version", runtime_versions, sorted({found[1] for found in runtimes.values()}))
    made = []
    for torch in selection.torch:
        runtime, version = runtimes.get(torch, ("", ""))
        if wanted and version not in wanted:
            continue
        for exporter in _exporters(rows, torch, selection.exporters):
            rule = Rule(torch, exporter, runtime, version, rows.default_opsets.get(torch), None, None, None, 0, ())
            made.append(_filled(rule, rows, along, canary, fixes))
    if wanted and not made:
        raise UnknownName(f"no release within these filters was run on {', '.join(sorted(wanted))}")
    return Policy(_about(filters, len(fixes)), tuple(made), rows.notes)


def _exporters(rows: Rows, torch: str, asked: frozenset[str]) -> list[str]:
    own = rows.default_exporters.get(torch, Exporter.TRACE.value)
    named: list[str] = [member.value for member in Exporter if member.value in asked and member is not Exporter.DEFAULT]
    return [exporter for exporter in named or [own] if (torch, exporter) in rows.offers]


def _runtimes(dataset: Dataset) -> dict[str, tuple[str, str]]:
    """By release: the runtime and version that most of its cells were run on."""
    seen: dict[str, Counter[tuple[str, str]]] = {}
    for torch, runtime, version, cells in dataset.grouped(
        ("torch", "runtime", "runtime_version"), {"cells": "count(*)"}
    ):
        if torch and runtime and version:
            seen.setdefault(torch, Counter())[runtime, version] += cells
    return {torch: counts.most_common(1)[0][0] for torch, counts in seen.items()}


def _filled(rule: Rule, rows: Rows, along: Along, canary: Along, fixes: Mapping[str, Sequence[str]]) -> Rule:
    offered = rows.offers[rule.torch, rule.exporter].opsets
    usable = [opset for opset in _working(canary, rule, _WORKS_AT_ALL, PLAIN) if opset in offered]
    if not usable and canary is along:
        usable = list(offered)
    plain = {case: _working(along, rule, case, PLAIN) for case in fixes}
    plain = {case: found for case, found in plain.items() if _measured(along, rule, case)}
    fixed = {
        case: found.union(*(_working(along, rule, case, fix) for fix in fixes[case])) for case, found in plain.items()
    }
    holds = tuple(case for case, found in plain.items() if not found & set(usable))
    return replace(
        rule,
        usable=max(usable, default=None),
        passes=_highest(plain.values(), usable),
        with_fixes=_highest(fixed.values(), usable),
        cases=len(plain),
        holds=holds,
    )


def _highest(working: Iterable[set[int]], usable: Sequence[int]) -> int | None:
    found = list(working)
    return max((opset for opset in usable if all(opset in one for one in found)), default=None) if found else None


def _working(along: Along, rule: Rule, case: str, variant: str) -> set[int]:
    at = along.at(rule.torch, rule.exporter, "cpu", case, variant)
    return {opset for opset, status in at.items() if opset is not None and works(status)}


def _measured(along: Along, rule: Rule, case: str) -> bool:
    statuses = along.at(rule.torch, rule.exporter, "cpu", case, PLAIN).values()
    return any(works(status) is not None and status is not Status.UNSUPPORTED for status in statuses)


def _about(filters: Filters, cases: int) -> str:
    said = [f"{name} {', '.join(values)}" for name in ("cases", "themes", "ops") if (values := getattr(filters, name))]
    return f"{'; '.join(said) or 'every case of the corpus'} ({cases} cases)"


def to_toml(found: Policy) -> str:
    """The policy as a file that other projects read: a table for each release, and exporter where it has several."""
    several = len({rule.torch for rule in found.rules}) < len(found.rules)
    lines = [f"# torch release -> opset, measured. Written by `{_TOOL}`; about: {found.about}", "[opset]"]
    lines += [f'"{_name(rule, several)}" = {rule.usable}' for rule in found.rules if rule.usable is not None]
    for rule in found.rules:
        lines += ["", f'[release."{_name(rule, several)}"]', f"torch = {json.dumps(rule.torch)}"]
        lines += [f"{name} = {json.dumps(getattr(rule, name))}" for name in ("exporter", "runtime", "runtime_version")]
        numbers = ("default", "usable", "passes", "with_fixes", "cases")
        lines += [f"{name} = {value}" for name in numbers if (value := getattr(rule, name)) is not None]
        lines += [f"holds = {json.dumps(list(rule.holds))}", f"evidence = {json.dumps(evidence(rule))}"]
    return "\n".join(lines) + "\n"


def evidence(rule: Rule) -> str:
    """The command that shows the rows behind a rule."""
    return f"caniexport table --by opset --torch {rule.torch} --exporter {rule.exporter}"


def _name(rule: Rule, several: bool) -> str:
    return f"{rule.torch}/{rule.exporter}" if several else rule.torch
