"""torch release -> opset, measured: what projects copy from each other by hand, with the rows behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from caniexport import versions
from caniexport.answers.along import Along
from caniexport.answers.filters import Filters
from caniexport.answers.points import find_runtime
from caniexport.answers.select import CaseSelection, Rows, load, select
from caniexport.corpus.verdicts import works
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset, elsewhere
from caniexport.store.elsewhere import Runtime

#: the case that passes wherever an exporter and its runtime work at all
_WORKS_AT_ALL = "canary-pass"
_CPU = "cpu"
#: whether any cell reached its runtime
_RAN = f"bool_or(stage NOT IN ({elsewhere.BEFORE}) AND status <> '{Status.NOT_RUN.value}')"
_TOOL = "caniexport policy"


@dataclass(frozen=True)
class Rule:
    """One release and exporter on one runtime version.

    ``usable`` is the highest opset at which a file of that opset is exported, loaded and run at all; ``passes`` the
    highest at which every case asked about works as it is, ``with_fixes`` the same where a fix of the corpus may be
    used; all ``None`` where there is no such opset. ``usable_maybe``, ``passes_maybe`` and ``with_fixes_maybe`` are
    higher opsets at which nothing fails and not everything was measured, ``None`` where there is none: without
    ``usable`` and ``usable_maybe`` nothing runs at all, with the second alone it is not known. ``holds`` are the cases
    that work at no opset up to ``usable``; ``cases`` are those that were measured there, ``unmeasured`` those of them
    that were not measured at every opset that is usable. ``own`` says that the runtime is the one installed beside
    the release.
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
    passes_maybe: int | None = None
    with_fixes_maybe: int | None = None
    unmeasured: int = 0
    own: bool = True
    usable_maybe: int | None = None


@dataclass(frozen=True)
class Policy:
    """The rules, oldest release first, and the cases that they are about."""

    about: str
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


def policy(dataset: Dataset, filters: Filters, runtime_versions: Sequence[str] = ()) -> Policy:
    """The highest opset of every release and exporter at which the cases in the filters work.

    Without a filter on exporters each release's own is taken. Each release is judged on the runtime installed beside
    it, or with ``runtime_versions`` (``1.26``, ``onnxruntime==1.26.0``, ``all``) its files on each of these: a release
    none of whose files was run there has no rule. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, opsets=(), statuses=()))
    fixes: dict[str, list[str]] = {}
    for entry in selection.catalogue.values():
        if entry.corpus != CANARY:
            fixes.setdefault(entry.case, [])
            if entry.variant != PLAIN and not entry.caution:
                fixes[entry.case].append(entry.variant)
    made = []
    for on in _runtimes(rows, runtime_versions):
        judge = _RuleJudge(rows.on(on) if on else rows, selection, fixes)
        for torch in selection.torch:
            runtime = on or rows.own_runtimes.get((torch, _CPU)) or Runtime("", "", _CPU)
            rules = [judge.rule(torch, exporter, runtime) for exporter in _exporters(rows, torch, selection.exporters)]
            made += [rule for rule in rules if rule is not None]
    if runtime_versions and not made:
        raise UnknownName(f"no file within these filters was run on onnxruntime {', '.join(runtime_versions)}")
    return Policy(_about(filters, len(fixes)), tuple(made), rows.notes)


def _runtimes(rows: Rows, asked: Sequence[str]) -> list[Runtime | None]:
    """The runtimes asked for, oldest first; ``None`` alone: each release's own."""
    if not asked:
        return [None]
    if "all" in asked:
        return [one for one in rows.runtimes if (one.name, one.provider) == ("onnxruntime", _CPU)]
    found = {find_runtime(rows, text, None, []) for text in asked}
    return [*sorted(found, key=lambda one: (one.name, versions.parse(one.version)))]


def _exporters(rows: Rows, torch: str, asked: frozenset[str]) -> list[str]:
    own = rows.default_exporters.get(torch, Exporter.TRACE.value)
    named: list[str] = [member.value for member in Exporter if member.value in asked and member is not Exporter.DEFAULT]
    return [exporter for exporter in named or [own] if (torch, exporter) in rows.offers]


#: by opset: whether it works there, ``None`` where it was not measured
_Works = dict[int, bool | None]


class _RuleJudge:
    """Everything that is the same for all rules on one runtime."""

    def __init__(self, rows: Rows, selection: CaseSelection, fixes: Mapping[str, Sequence[str]]) -> None:
        self._rows = rows
        self._fixes = fixes
        self._along = Along(replace(selection, rows=rows))
        tried = rows.grouped(("torch", "exporter"), {"ran": _RAN}, {"torch": tuple(selection.torch)})
        self._ran = {(torch, exporter) for torch, exporter, ran in tried if ran}
        has_canary = (_WORKS_AT_ALL, PLAIN) in rows.catalogue
        self._canary = Along(select(rows, Filters(cases=(_WORKS_AT_ALL,)))) if has_canary else None

    def rule(self, torch: str, exporter: str, runtime: Runtime) -> Rule | None:
        """The rule of one release and exporter; ``None`` where none of its files was run on the runtime."""
        if (torch, exporter) not in self._ran:
            return None
        offered = self._rows.offers[torch, exporter]
        place = (torch, exporter, runtime.provider)
        ran = self._runs_at(place, offered)
        usable = [opset for opset in offered if ran[opset]]
        highest, highest_maybe = _highest([ran], offered)
        cases = [case for case in self._fixes if self._measured(place, case)]
        plain = {case: _at(self._along, place, case, PLAIN, usable) for case in cases}
        fixed = {
            case: _any([plain[case], *(_at(self._along, place, case, fix, usable) for fix in self._fixes[case])])
            for case in cases
        }
        passes, maybe = _highest(list(plain.values()), usable)
        with_fixes, fixed_maybe = _highest(list(fixed.values()), usable)
        return Rule(
            torch,
            exporter,
            runtime.name,
            runtime.version,
            self._rows.own_opsets.of(torch, exporter),
            highest,
            passes,
            with_fixes,
            len(cases),
            tuple(case for case, at in plain.items() if all(found is False for found in at.values())),
            maybe,
            fixed_maybe,
            sum(None in at.values() for at in plain.values()),
            runtime == self._rows.own_runtimes.get((torch, _CPU), runtime),
            highest_maybe,
        )

    def _runs_at(self, place: tuple[str, str, str], offered: Iterable[int]) -> _Works:
        """By opset: whether a file of that opset is written and runs. A file of another opset is none."""
        if self._canary is None:
            return dict.fromkeys(offered, True)
        found = self._canary.at(*place, _WORKS_AT_ALL, PLAIN)
        works_ = _at(self._canary, place, _WORKS_AT_ALL, PLAIN, offered)
        return {opset: ran and found[opset] is not Status.DEGRADED for opset, ran in works_.items()}

    def _measured(self, place: tuple[str, str, str], case: str) -> bool:
        statuses = self._along.at(*place, case, PLAIN).values()
        return any(works(status) is not None and status is not Status.UNSUPPORTED for status in statuses)


def _at(along: Along, place: tuple[str, str, str], case: str, variant: str, opsets: Iterable[int]) -> _Works:
    found = along.at(*place, case, variant)
    return {opset: works(found.get(opset)) for opset in opsets}


def _any(several: Sequence[_Works]) -> _Works:
    """Whether one of several works: not known where none does and one was not measured."""
    found: _Works = {}
    for opset in several[0]:
        seen = {one[opset] for one in several}
        found[opset] = True if True in seen else None if None in seen else False
    return found


def _highest(cases: Sequence[_Works], usable: Sequence[int]) -> tuple[int | None, int | None]:
    """The highest opset at which all work, and a higher one at which none is known to fail."""
    if not cases:
        return None, None
    sure = max((opset for opset in usable if all(one[opset] for one in cases)), default=None)
    maybe = max((opset for opset in usable if all(one[opset] is not False for one in cases)), default=None)
    return sure, maybe if maybe != sure else None


def _about(filters: Filters, cases: int) -> str:
    said = [f"{name} {', '.join(values)}" for name in ("cases", "themes", "ops") if (values := getattr(filters, name))]
    return f"{'; '.join(said) or 'every case of the corpus'} ({cases} cases)"


def to_toml(found: Policy) -> str:
    """The policy as a file that other projects read: a table for each release, and exporter where it has several."""
    several = _differing(found.rules)
    lines = [f"# torch release -> opset, measured. Written by `{_TOOL}`; about: {found.about}", "[opset]"]
    lines += [f'"{_name(rule, several)}" = {rule.usable}' for rule in found.rules if rule.usable is not None]
    for rule in found.rules:
        lines += ["", f'[release."{_name(rule, several)}"]', f"torch = {json.dumps(rule.torch)}"]
        lines += [f"{name} = {json.dumps(getattr(rule, name))}" for name in ("exporter", "runtime", "runtime_version")]
        numbers = "default usable usable_maybe passes passes_maybe with_fixes with_fixes_maybe cases unmeasured".split()
        lines += [f"{name} = {value}" for name in numbers if (value := getattr(rule, name)) is not None]
        lines += [f"holds = {json.dumps(list(rule.holds))}", f"evidence = {json.dumps(evidence(rule))}"]
    return "\n".join(lines) + "\n"


def evidence(rule: Rule) -> str:
    """The command that shows the rows behind a rule."""
    return f"caniexport table --by {'opset' if rule.own else 'runtime'} --torch {rule.torch} --exporter {rule.exporter}"


def _differing(rules: Sequence[Rule]) -> tuple[bool, bool]:
    """Whether a release has several exporters, and whether it has several runtimes."""
    releases = len({rule.torch for rule in rules})
    exporters = {(rule.torch, rule.exporter) for rule in rules}
    runtimes = {(rule.torch, rule.runtime_version) for rule in rules}
    return len(exporters) > releases, len(runtimes) > releases


def _name(rule: Rule, several: tuple[bool, bool]) -> str:
    runtime = f"{rule.runtime} {rule.runtime_version}"
    return "/".join([rule.torch, *[rule.exporter] * several[0], *[runtime] * several[1]])
