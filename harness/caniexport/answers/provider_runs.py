"""Exported files on a provider of a runtime: what runs there, what is left to the CPU, what differs.

A row of any other provider than the CPU's has the nodes that ran elsewhere and the outcome of the same file on the CPU
provider of the same package. The file is the cause of what is wrong on both, the provider of what is wrong on one.
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
from caniexport.answers.outcomes import short_cause
from caniexport.bundles import node_tests, probes
from caniexport.model.status import WORKS, Stage, Status
from caniexport.runtime_releases import KINDS, Kind

if TYPE_CHECKING:
    from caniexport.store import Dataset

#: providers of what was measured on the processor, or whose file no runtime ran
ON_CPU = frozenset({"cpu", "none", None})
#: what is not an exported file
_NO_FILES = (probes.CORPUS, node_tests.CORPUS)
_COLUMNS = ("runtime", "runtime_version", "provider", "device", "corpus", "case", "variant", "bundle")
_OUTCOME_COLUMNS = ("stage", "status", "message_id", "facts")
_LEFT = re.compile(r"CPUExecutionProvider: ([^;\n]+)")
#: cases that are named
_CASES = 4
#: statuses of rows that did not measure the provider
_SAYS_NOTHING = frozenset({Status.SKIP.value, Status.INVALID.value, Status.NOT_RUN.value})


class ProviderOutcome(StrEnum):
    """The outcome of a file on a provider, compared with the CPU; the most important first."""

    VALUES = "are wrong there and right on the CPU"
    FAILS = "fail there and work on the CPU"
    WHOLE = "run wholly there"
    PARTLY = "leave nodes to the CPU"
    ABSENT = "run on the CPU alone"
    ONLY = "work there and not on the CPU"
    BOTH = "fail or are wrong on the CPU too"


#: outcomes whose cases are listed
_APART = (ProviderOutcome.VALUES, ProviderOutcome.FAILS, ProviderOutcome.ONLY)


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
    """A variant of a case whose files have another outcome on the provider than on the CPU.

    ``text`` is one message: the provider's, or the CPU's where the file works on the provider alone.
    """

    case: str
    variant: str
    end: ProviderOutcome
    files: int
    text: str

    @property
    def cause(self) -> str:
        """The line of the message that has the cause."""
        return short_cause(self.text)


@dataclass(frozen=True)
class ProviderRuns:
    """A release of a runtime on a provider: files by how they end, operators that are left out, cases that differ."""

    runtime: str
    version: str
    provider: str
    device: str
    ends: dict[ProviderOutcome, int]
    left: tuple[LeftOperator, ...]
    apart: tuple[ProviderCase, ...]


#: runtime, version, provider, devices
_Of = tuple[str, str, str, str]


@dataclass
class _ProviderTally:
    ends: Counter[ProviderOutcome] = field(default_factory=Counter)
    ran: dict[str, str] = field(default_factory=dict)
    left: dict[str, dict[str, tuple[str, int]]] = field(default_factory=lambda: defaultdict(dict))
    apart: dict[tuple[str, str, ProviderOutcome], list[str]] = field(default_factory=lambda: defaultdict(list))


def provider_runs(dataset: Dataset, provider: str, corpus: str = "", runtime: str = "") -> list[ProviderRuns]:
    """Return every release of a runtime that ran files on a provider such as ``cuda``, the newest first.

    corpus   ``onnx-node`` for ONNX's own tests; else the files that torch exported
    runtime  this one alone
    """
    found = _gather(dataset, {"provider": (provider,), **({"runtime": (runtime,)} if runtime else {})}, corpus)
    ran = {name: variant for gathered in found.values() for name, variant in gathered.ran.items()}
    operators = _read_operators(dataset, ran, corpus)
    return [
        ProviderRuns(*of, dict(gathered.ends), _rank_operators(gathered, operators), _list_cases(gathered))
        for of, gathered in sorted(found.items(), key=lambda item: versions.parse(item[0][1] or "0"), reverse=True)
    ]


def runtime_text(runtime: str, version: str, provider: str, device: str) -> str:
    """``onnxruntime 1.31.1 on cuda (NVIDIA H100)``."""
    return f"{runtime} {version} on {provider}" + (f" ({device})" if device not in ("", "cpu") else "")


def _gather(dataset: Dataset, where: Mapping[str, Collection[str]], corpus: str) -> dict[_Of, _ProviderTally]:
    """By runtime, version, provider and devices: how each file ended; one that ran on several devices counts once."""
    rows = dataset.run_groups((*_COLUMNS, *_OUTCOME_COLUMNS), {}, where)
    rows = [
        row
        for row in rows
        if (row[4] == corpus if corpus else row[4] not in _NO_FILES) and row[5] and row[9] not in _SAYS_NOTHING
    ]
    rows.sort(key=lambda row: (row[0], versions.parse(row[1] or "0"), *row[4:8]))
    texts = dataset.messages({row[10] for row in rows})
    devices: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for name, version, provider, device, *_ in rows:
        devices[name, version or "", provider].add(device or "")
    found: dict[_Of, _ProviderTally] = defaultdict(_ProviderTally)
    for row, end in _choose_devices(rows):
        name, version, provider, _, _, case, variant, bundle, _, status, message, facts = row
        of = (name, version or "", provider)
        gathered, text = found[*of, ", ".join(sorted(devices[of]))], texts.get(message or "", "")
        gathered.ends[end] += 1
        if status in WORKS or end is ProviderOutcome.ABSENT:
            gathered.ran[bundle] = variant
        if end in _APART:
            # the signature of the CPU provider without stage and exception
            own = _read_cpu_fact(facts).get("signature", "").split("|", 2)[-1]
            gathered.apart[case, variant, end].append(own if end is ProviderOutcome.ONLY else text)
        for operator, nodes in _read_left_operators(text):
            gathered.left[operator][bundle] = case, nodes
    return found


def _choose_devices(rows: Sequence[Any]) -> list[tuple[Any, ProviderOutcome]]:
    """The rows with their ends, of each file those of one device: of one where it is worse than on the CPU, if any."""
    ended = []
    chosen: dict[tuple[Any, ...], tuple[str, bool]] = {}
    for row in rows:
        end = _classify(row[8], row[9], _read_cpu_fact(row[11]).get("status") in WORKS)
        file, is_worse = (*row[:3], *row[5:8]), end in (ProviderOutcome.VALUES, ProviderOutcome.FAILS)
        if file not in chosen or (is_worse and not chosen[file][1]):
            chosen[file] = (row[3], is_worse)
        ended.append((row, end, file))
    return [(row, end) for row, end, file in ended if row[3] == chosen[file][0]]


def _read_cpu_fact(facts: str | None) -> dict[str, str]:
    """Return the outcome on the CPU's provider that a row has."""
    outcome: dict[str, str] = json.loads(facts or "{}").get("cpu", {})
    return outcome


def list_providers(dataset: Dataset) -> list[str]:
    """Return the providers, without the CPU's, that ran files."""
    found = dataset.run_groups(("runtime", "provider"), {})
    return sorted({name for runtime, name in found if KINDS.get(runtime, Kind.RUNTIME) is Kind.RUNTIME} - ON_CPU)


def _classify(stage: str, status: str, works_on_cpu: bool) -> ProviderOutcome:
    if stage == Stage.PLACE and status == Status.UNSUPPORTED:
        return ProviderOutcome.ABSENT
    if status in WORKS:
        whole = ProviderOutcome.PARTLY if status == Status.DEGRADED else ProviderOutcome.WHOLE
        return whole if works_on_cpu else ProviderOutcome.ONLY
    if not works_on_cpu:
        return ProviderOutcome.BOTH
    # unstable outputs are wrong values if the comparison found them
    return ProviderOutcome.VALUES if stage == Stage.COMPARE else ProviderOutcome.FAILS


def _read_left_operators(text: str) -> Iterable[tuple[str, int]]:
    """Return the operators on the CPU in a row's text, with how many nodes: ``Gather*2, Relu``."""
    for words in _LEFT.findall(text):
        for word in words.split(", "):
            operator, _, count = word.partition("*")
            yield operator.strip(), int(count) if count.isdigit() else 1


def _read_operators(dataset: Dataset, variants: Mapping[str, str], corpus: str) -> dict[str, frozenset[str]]:
    """The operators of files: as their cells have them, or that which the variant of a node test names."""
    if corpus:
        return {bundle: frozenset({node_tests.parse_variant(variant).operator}) for bundle, variant in variants.items()}
    rows = dataset.grouped(("bundle",), {"ops": "any_value(ops)"}, {"bundle": list(variants)}) if variants else ()
    return {bundle: frozenset(part.partition("*")[0] for part in (ops or "").split()) for bundle, ops in rows}


def _rank_operators(gathered: _ProviderTally, operators: Mapping[str, frozenset[str]]) -> tuple[LeftOperator, ...]:
    having = Counter(name for bundle in gathered.ran for name in operators.get(bundle, ()))
    found = []
    for operator, files in gathered.left.items():
        cases = Counter(case for case, _ in files.values())
        top = tuple(case for case, _ in cases.most_common(_CASES))
        nodes = sum(count for _, count in files.values())
        found.append(LeftOperator(operator, len(files), max(having[operator], len(files)), nodes, top))
    return tuple(sorted(found, key=lambda item: (-item.files, item.operator)))


def _list_cases(gathered: _ProviderTally) -> tuple[ProviderCase, ...]:
    found = [
        ProviderCase(*place, len(texts), Counter(texts).most_common(1)[0][0]) for place, texts in gathered.apart.items()
    ]
    return tuple(sorted(found, key=lambda item: (_APART.index(item.end), -item.files, item.case, item.variant)))
