"""What a provider of a runtime does with the exported files: what runs there, what is left to the CPU, what differs.

On every provider but the CPU's a row says which nodes ran elsewhere, and how the same file ended on the CPU provider of
the same package: what is wrong on both is the file's doing, what is wrong on one is the provider's.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from caniexport import versions
from caniexport.answers.on_runtimes import ON_CPU
from caniexport.answers.outcomes import short_cause
from caniexport.answers.select import exporter_names, load, opsets, select
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.bundles import node_tests, probes
from caniexport.model.case import PLAIN
from caniexport.model.status import WORKS, Exporter, Stage, Status
from caniexport.names import plural, some

if TYPE_CHECKING:
    from caniexport.answers.filters import Filters
    from caniexport.store import Dataset

#: what is not an exported file
_NO_FILES = (probes.CORPUS, node_tests.CORPUS)
_COLUMNS = ("runtime", "runtime_version", "provider", "device", "corpus", "case", "variant", "bundle")
_ENDS = ("stage", "status", "message_id", "facts")
_LEFT = re.compile(r"CPUExecutionProvider: ([^;\n]+)")
#: a row says nothing of the provider then
_SAYS_NOTHING = frozenset({Status.SKIP.value, Status.INVALID.value, Status.NOT_RUN.value})
_CASES = 4
#: how an answer begins that says yes
_YES = re.compile("^Yes(?:, but not always)?: ")
_WORK = ("work", "works")


class ProviderEnd(StrEnum):
    """How a file ends on a provider, beside how it ends on the CPU; what a reader must know first."""

    VALUES = "are wrong there and right on the CPU"
    FAILS = "fail there and work on the CPU"
    WHOLE = "run wholly there"
    PARTLY = "leave nodes to the CPU"
    ABSENT = "run on the CPU alone"
    ONLY = "work there and not on the CPU"
    BOTH = "fail or are wrong on the CPU too"


#: ends of which the cases are named
_APART = (ProviderEnd.VALUES, ProviderEnd.FAILS, ProviderEnd.ONLY)


@dataclass(frozen=True)
class LeftOperator:
    """An ONNX operator that the provider leaves to the CPU.

    files  files with a node of it on the CPU; ``of`` files that have the operator and were run there
    nodes  those nodes in all these files
    cases  some of the cases, the one with most files first
    """

    operator: str
    files: int
    of: int
    nodes: int
    cases: tuple[str, ...]


@dataclass(frozen=True)
class ProviderCase:
    """A form of a case whose files end otherwise on the provider than on the CPU.

    ``text`` is one message: the provider's, or the CPU's where the file works on the provider alone.
    """

    case: str
    variant: str
    end: ProviderEnd
    files: int
    text: str

    @property
    def cause(self) -> str:
        """The line of the message that says why."""
        return short_cause(self.text)


@dataclass(frozen=True)
class ProviderRuns:
    """A release of a runtime on a provider: files by how they end, operators that are left out, cases that differ.

    Of files that were asked about ``not_run`` were not run there; ``untaken`` are the releases of torch of which none
    was, in words.
    """

    runtime: str
    version: str
    provider: str
    device: str
    ends: dict[ProviderEnd, int]
    left: tuple[LeftOperator, ...]
    apart: tuple[ProviderCase, ...]
    not_run: int = 0
    untaken: str = ""

    @property
    def answer(self) -> str:
        """Whether its files work there: ``Yes, but for 7 of 1,074 files that work on the CPU: they fail there, …``."""
        good = sum(self.ends.get(end, 0) for end in (ProviderEnd.WHOLE, ProviderEnd.PARTLY))
        worse = {end: self.ends[end] for end in (ProviderEnd.VALUES, ProviderEnd.FAILS) if self.ends.get(end)}
        both = good + sum(worse.values()) + self.ends.get(ProviderEnd.ABSENT, 0)
        where = f"{self.runtime} {self.version} on {self.provider}"
        if not both:
            return f"Not known: no file that works on the CPU was run with {where}."
        if not good:
            return f"No: none of {plural(both, 'file')} that {_WORK[both == 1]} on the CPU does with {where}."
        partly = self.ends.get(ProviderEnd.PARTLY, 0)
        left = f", {partly:,} of them with nodes left to the CPU" if partly else ""
        if good == both:
            return f"Yes: with {where} every file that works on the CPU works, too ({plural(good, 'file')}{left})."
        cases = list(dict.fromkeys(item.case for item in self.apart if item.end in worse))
        bad = ", ".join(f"{count:,} {end.value.partition(' there')[0]} there" for end, count in worse.items())
        absent = self.ends.get(ProviderEnd.ABSENT, 0)
        others = ", ".join(filter(None, (bad, f"{absent:,} {ProviderEnd.ABSENT.value}" if absent else "")))
        named = f" ({some(cases, _CASES)})" if cases else ""
        some_work = f"with {where} {good:,} of {both:,} files that work on the CPU work, too{left}"
        return f"Yes, but not always: {some_work}; {others}{named}."

    @property
    def told(self) -> str:
        """The sentence about all of its files; of those asked about also how many were not run there."""
        parts = [f"{self.ends[end]:,} {end.value}" for end in ProviderEnd if self.ends.get(end)]
        where = place_of(self.runtime, self.version, self.provider, self.device)
        which = f": none that was exported {self.untaken}, and a part of the others" if self.untaken else ""
        others = (
            f" {self.not_run:,} more were not among the files packed for that machine{which}." if self.not_run else ""
        )
        return f"{where}: of {sum(self.ends.values()):,} files, {', '.join(parts)}.{others}"


#: runtime, version, provider, devices
_Of = tuple[str, str, str, str]


@dataclass
class _Gathered:
    ends: Counter[ProviderEnd] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    ran: dict[str, str] = field(default_factory=dict)
    left: dict[str, dict[str, tuple[str, int]]] = field(default_factory=lambda: defaultdict(dict))
    apart: dict[tuple[str, str, ProviderEnd], list[str]] = field(default_factory=lambda: defaultdict(list))


def provider_runs(
    dataset: Dataset, provider: str, corpus: str = "", filters: Filters | None = None
) -> list[ProviderRuns]:
    """Every release of a runtime that ran files on a provider such as ``cuda``, the newest first.

    corpus   ``onnx-node`` for ONNX's own tests; else the files that torch exported
    filters  the cells whose files are meant; ``None`` for all files
    """
    meant = _files(dataset, filters) if filters is not None and filters.any else None
    found = _gather(dataset, {"provider": (provider,)}, corpus, meant)
    ran = {name: form for gathered in found.values() for name, form in gathered.ran.items()}
    operators = _operators(dataset, ran, corpus)
    releases = _releases(dataset, meant or ())
    return [
        ProviderRuns(
            *of,
            dict(gathered.ends),
            _ranked(gathered, operators),
            _differing(gathered),
            len(meant - gathered.files) if meant is not None else 0,
            _untaken(releases, gathered.files),
        )
        for of, gathered in sorted(found.items(), key=lambda item: versions.parse(item[0][1] or "0"), reverse=True)
    ]


def of_runtime(found: Sequence[ProviderRuns], runtime: str) -> tuple[list[ProviderRuns], str]:
    """Those of one release of a runtime (``onnxruntime==1.15.1``), else all, and that it was not measured there.

    Without a release all of them, and nothing to say.
    """
    name, _, version = runtime.partition("==")
    own = [runs for runs in found if (runs.runtime, runs.version) == (name, version)]
    if own or not runtime or not found:
        return own or list(found), ""
    measured = ", ".join(dict.fromkeys(f"{runs.runtime} {runs.version}" for runs in found))
    return list(found), f"{name} {version} on {found[0].provider} was not measured; measured there: {measured}."


def decide_provider(provider: str, found: Sequence[ProviderRuns], failing: str = "") -> str:
    """Whether the files asked about work there, by the newest release of a runtime that ran any; first which of the
    forms asked about end before (:func:`tell_failing_forms`): files of workarounds that run say nothing of them.
    """
    told = found[0].answer if found else f"Not known: no file of it was run on {provider}."
    rest = _YES.sub("", told)
    return f"{failing} Of the files that were made: {rest[:1].lower()}{rest[1:]}" if failing else told


def tell_failing_forms(dataset: Dataset, filters: Filters) -> str:
    """Of the cases that are asked about those whose form without a fix has no right file to run, at the release and
    opset asked for, else at the newest release and the opset of its own; empty where all have one.
    """
    rows = load(dataset)
    torch = filters.torch[-1] if filters.torch else rows.torch[-1]
    exporters = exporter_names(filters.exporters) or list(EXPORTER_SHORT)
    cells = rows.cells(case=filters.cases, variant=(PLAIN,), torch=(torch,), exporter=exporters, provider=("cpu",))
    asked = opsets(filters.opsets, rows.opsets)
    ends: dict[str, dict[str, bool]] = defaultdict(dict)
    for cell in cells:
        at = asked or (rows.opset(torch, cell.exporter),)
        is_at = cell.opset in at or (bool(asked) and cell.exporter == Exporter.DEFAULT.value)
        if is_at and cell.status not in _SAYS_NOTHING:
            ends[cell.case][cell.exporter] = ends[cell.case].get(cell.exporter, True) and cell.works
    return _tell_failing(torch, {case: ends[case] for case in filters.cases if case in ends})


def _tell_failing(torch: str, ends: Mapping[str, Mapping[str, bool]]) -> str:
    """How cases end without a fix, by case and exporter: whether it works."""
    failing = {case: [name for name in EXPORTER_SHORT if not by.get(name, True)] for case, by in ends.items()}
    failing = {case: names for case, names in failing.items() if names}
    if not failing:
        return ""
    each = [f"{case} (by {_names(names, len(ends[case]))})" for case, names in failing.items()]
    said = "Not as they are" if len(ends) > 1 else "Not as it is"
    fail = "fail or are" if len(failing) > 1 else "fails or is"
    if len(failing) < len(ends):
        said = "It depends on the call"
    elif any(len(names) < len(ends[case]) for case, names in failing.items()):
        said = "It depends on the exporter"
    of = f" {len(failing)} of {len(ends)} cases {fail} wrong on the CPU too:" if len(ends) > 1 else ""
    behind = "" if of else f" {fail} wrong on the CPU too"
    return f"{said}: at torch {torch}{of} {some(each, _CASES)}{behind}."


def _names(names: Sequence[str], of: int) -> str:
    short = ", ".join(EXPORTER_SHORT[name] for name in names)
    return "every exporter" if len(names) == of > 1 else short


def _releases(dataset: Dataset, bundles: Collection[str]) -> dict[str, set[str]]:
    """The files by the release of torch that exported them."""
    found: dict[str, set[str]] = defaultdict(set)
    for bundle, torch in dataset.grouped(("bundle", "torch"), {}, {"bundle": list(bundles)}) if bundles else ():
        found[torch].add(bundle)
    return found


def _untaken(releases: Mapping[str, set[str]], ran: Collection[str]) -> str:
    """``on torch 1.3.1 to 1.9.1``: the releases of which no file ran; empty where there are none."""
    steps = versions.ordered(releases)
    without = [torch for torch in steps if releases[torch].isdisjoint(ran)]
    return versions.runs_text(without, steps) if without and len(without) < len(steps) else ""


def worse_elsewhere(dataset: Dataset, cases: Collection[str]) -> Mapping[str, Sequence[tuple[str, ProviderCase]]]:
    """By case: what another provider does to files of it that work on the CPU, the failing form first; and where.

    ``onnxruntime 1.31.1 on cuda (NVIDIA H100)``. A case is read once for a dataset.
    """
    known: dict[str, list[tuple[str, ProviderCase]]] = dataset.beside.setdefault("worse elsewhere", {})
    worse: dict[str, list[tuple[str, ProviderCase]]] = {case: [] for case in cases if case not in known}
    found = _gather(dataset, {"provider": elsewhere(dataset), "case": list(worse)}, "") if worse else {}
    for of, gathered in found.items():
        for item in _differing(gathered):
            if item.end is not ProviderEnd.ONLY:
                worse[item.case].append((place_of(*of), item))
    for told in worse.values():
        told.sort(key=lambda pair: (pair[0], pair[1].variant != PLAIN))
    # whole at once: other sessions read it meanwhile
    known.update(worse)
    return known


def place_of(runtime: str, version: str, provider: str, device: str) -> str:
    """``onnxruntime 1.31.1 on cuda (NVIDIA H100)``."""
    return f"{runtime} {version} on {provider}" + (f" ({device})" if device not in ("", "cpu") else "")


def _files(dataset: Dataset, filters: Filters) -> frozenset[str]:
    """What names the files of cells."""
    where = {name: tuple(values) for name, values in select(load(dataset), filters).where().items()}
    return frozenset(bundle for (bundle,) in dataset.grouped(("bundle",), {}, where) if bundle)


def _gather(
    dataset: Dataset, where: Mapping[str, Collection[str]], corpus: str, meant: Collection[str] | None = None
) -> dict[_Of, _Gathered]:
    """By runtime, version, provider and devices: how each file ended, of all or of those that are ``meant``; one that
    ran on several devices counts once.
    """
    rows = dataset.run_groups((*_COLUMNS, *_ENDS), {}, where)
    rows = [row for row in rows if _is_of(row[4], corpus) and row[5] and row[9] not in _SAYS_NOTHING]
    rows = [row for row in rows if meant is None or row[7] in meant]
    rows.sort(key=lambda row: (row[0], versions.parse(row[1] or "0"), *row[4:8]))
    texts = dataset.messages({row[10] for row in rows})
    devices: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for name, version, provider, device, *_ in rows:
        devices[name, version or "", provider].add(device or "")
    found: dict[_Of, _Gathered] = defaultdict(_Gathered)
    for row, end in _once_each(rows):
        name, version, provider, _, _, case, variant, bundle, _, status, message, facts = row
        of = (name, version or "", provider)
        gathered, text = found[*of, ", ".join(sorted(devices[of]))], texts.get(message or "", "")
        gathered.ends[end] += 1
        gathered.files.add(bundle)
        if status in WORKS or end is ProviderEnd.ABSENT:
            gathered.ran[bundle] = variant
        if end in _APART:
            gathered.apart[case, variant, end].append(_said(_cpu(facts)) if end is ProviderEnd.ONLY else text)
        for operator, nodes in _left(text):
            gathered.left[operator][bundle] = case, nodes
    return found


def _once_each(rows: Sequence[Any]) -> list[tuple[Any, ProviderEnd]]:
    """The rows with their ends, of each file those of one device: of one where it is worse than on the CPU, if any."""
    ended = []
    chosen: dict[tuple[Any, ...], tuple[str, bool]] = {}
    for row in rows:
        end = _end(row[8], row[9], _cpu(row[11]).get("status") in WORKS)
        file, is_worse = (*row[:3], *row[5:8]), end in (ProviderEnd.VALUES, ProviderEnd.FAILS)
        if file not in chosen or (is_worse and not chosen[file][1]):
            chosen[file] = (row[3], is_worse)
        ended.append((row, end, file))
    return [(row, end) for row, end, file in ended if row[3] == chosen[file][0]]


def _cpu(facts: str | None) -> dict[str, str]:
    """What a row says of the CPU's provider."""
    said: dict[str, str] = json.loads(facts or "{}").get("cpu", {})
    return said


def elsewhere(dataset: Dataset) -> list[str]:
    """The providers beside the CPU's that ran files."""
    return sorted({name for (name,) in dataset.run_groups(("provider",), {})} - ON_CPU)


def _said(cpu: Mapping[str, str]) -> str:
    """What the CPU provider said, without the stage and the exception's name."""
    return cpu.get("signature", "").split("|", 2)[-1]


def _end(stage: str, status: str, works_on_cpu: bool) -> ProviderEnd:
    if stage == Stage.PLACE and status == Status.UNSUPPORTED:
        return ProviderEnd.ABSENT
    if status in WORKS:
        whole = ProviderEnd.PARTLY if status == Status.DEGRADED else ProviderEnd.WHOLE
        return whole if works_on_cpu else ProviderEnd.ONLY
    if not works_on_cpu:
        return ProviderEnd.BOTH
    # what is not always the same there, is wrong where it was compared
    return ProviderEnd.VALUES if stage == Stage.COMPARE else ProviderEnd.FAILS


def _left(text: str) -> Iterable[tuple[str, int]]:
    """The operators that a row's text says are on the CPU, with how many nodes: ``Gather*2, Relu``."""
    for words in _LEFT.findall(text):
        for word in words.split(", "):
            operator, _, count = word.partition("*")
            yield operator.strip(), int(count) if count.isdigit() else 1


def _is_of(corpus: str, wanted: str) -> bool:
    return corpus == wanted if wanted else corpus not in _NO_FILES


def _operators(dataset: Dataset, variants: Mapping[str, str], corpus: str) -> dict[str, frozenset[str]]:
    """The operators of files: as their cells have them, or that which the variant of a node test names."""
    if corpus:
        return {bundle: frozenset({node_tests.about(form).operator}) for bundle, form in variants.items()}
    rows = dataset.grouped(("bundle",), {"ops": "any_value(ops)"}, {"bundle": list(variants)}) if variants else ()
    return {bundle: frozenset(part.partition("*")[0] for part in (ops or "").split()) for bundle, ops in rows}


def _ranked(gathered: _Gathered, operators: Mapping[str, frozenset[str]]) -> tuple[LeftOperator, ...]:
    having = Counter(name for bundle in gathered.ran for name in operators.get(bundle, ()))
    found = []
    for operator, files in gathered.left.items():
        cases = Counter(case for case, _ in files.values())
        top = tuple(case for case, _ in cases.most_common(_CASES))
        nodes = sum(count for _, count in files.values())
        found.append(LeftOperator(operator, len(files), max(having[operator], len(files)), nodes, top))
    return tuple(sorted(found, key=lambda item: (-item.files, item.operator)))


def _differing(gathered: _Gathered) -> tuple[ProviderCase, ...]:
    found = [
        ProviderCase(*place, len(texts), Counter(texts).most_common(1)[0][0]) for place, texts in gathered.apart.items()
    ]
    return tuple(sorted(found, key=lambda item: (_APART.index(item.end), -item.files, item.case, item.variant)))
