"""Runtime releases side by side: what each takes (measured with probes), and how the same bundles end on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from caniexport import versions
from caniexport.bundles import node_tests, probes
from caniexport.corpus.refusals import refusal
from caniexport.model.status import WORKS
from caniexport.store import Dataset


@dataclass(frozen=True)
class RuntimeLine:
    """One release of a runtime on one provider.

    max_opset, max_ir  the highest that a probe passes with; ``None`` where none passes or none was run
    bundles   how many exported files (or node tests) it has run, probes not counted
    statuses  of these, by status
    refusals  of those that it did not load, by reason
    apart     files whose values on this provider are not those of the CPU provider of the same package, beyond the
              tolerance; ``None`` where no row holds them against each other
    local     whether rows of this machine are among them
    """

    runtime: str
    version: str
    provider: str
    device: str
    max_opset: int | None
    max_ir: int | None
    bundles: int
    statuses: dict[str, int]
    refusals: dict[str, int]
    apart: int | None
    local: bool


def runtimes(dataset: Dataset, corpus: str = "") -> list[RuntimeLine]:
    """Every release of a runtime that has run bundles, oldest first.

    corpus  ``onnx-node`` counts ONNX's own tests, those that are marked left out; else they are not among the files
    """
    grouped: dict[tuple[Any, ...], list[_Row]] = defaultdict(list)
    for key, row in [*_files(dataset, corpus), *_probed(dataset)]:
        grouped[key].append(row)
    keys = sorted(grouped, key=lambda key: (key[0], key[2], versions.parse(key[1] or "0"), key[3] or ""))
    lines = [_line(key, grouped[key]) for key in keys]
    return [line for line in lines if line.bundles] if corpus else lines


_KEY = ("runtime", "runtime_version", "provider", "device")
#: what is counted of rows that end alike; the facts of a row are written by :mod:`caniexport.runner.beside`
_SAID = {
    "cases": 'count("case")',
    "held": """count(*) FILTER (WHERE facts LIKE '%"agrees": %')""",
    "apart": """count(*) FILTER (WHERE facts LIKE '%"agrees": false%')""",
    "local": "bool_or(origin = 'local')",
}


def _files(dataset: Dataset, corpus: str) -> Iterator[tuple[tuple[Any, ...], _Row]]:
    """Rows of what is counted: exported files, or the tests of a corpus; never probes."""
    by = (*_KEY, "stage", "status", "signature")
    if corpus:
        for row in dataset.run_groups((*by, "variant"), _SAID, {"corpus": (corpus, None)}):
            if not node_tests.about(row[len(by)] or "").mark:
                yield row[:4], _row(row)
        return
    apart = (probes.CORPUS, node_tests.CORPUS)
    corpora = [name for (name,) in dataset.run_groups(("corpus",), {}) if name not in apart]
    for row in dataset.run_groups(by, _SAID, {"corpus": corpora}):
        yield row[:4], _row(row)


def _probed(dataset: Dataset) -> Iterator[tuple[tuple[Any, ...], _Row]]:
    """Rows of the probes."""
    by = (*_KEY, "stage", "status", "signature", "case", "variant")
    for row in dataset.run_groups(by, {"local": _SAID["local"]}, {"corpus": (probes.CORPUS,)}):
        yield row[:4], _Row(row[4], row[5], row[6], 0, 0, 0, row[-1], row[7] or "", row[8] or "")


def _row(row: tuple[Any, ...]) -> _Row:
    return _Row(row[4], row[5], row[6], *row[-len(_SAID) :])


@dataclass(frozen=True)
class _Row:
    """So many files that ended alike, how many of them were held against the CPU provider and how many differ from it;
    a probe is named.
    """

    stage: str
    status: str
    signature: str | None
    files: int
    held: int
    apart: int
    local: bool
    probe: str = ""
    number: str = ""


def _line(key: tuple[Any, ...], rows: list[_Row]) -> RuntimeLine:
    runtime, version, provider, device = key
    statuses: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for row in rows:
        if row.files:
            statuses[row.status] += row.files
            cause = refusal(row.stage, row.signature) if row.status not in WORKS else None
            if cause is not None:
                refused[cause.value] += row.files
    return RuntimeLine(
        runtime,
        version or "",
        provider,
        device or "",
        _highest(rows, probes.OPSET),
        _highest(rows, probes.IR),
        statuses.total(),
        dict(statuses),
        dict(refused),
        sum(row.apart for row in rows) if any(row.held for row in rows) else None,
        any(row.local for row in rows),
    )


def _highest(rows: Iterable[_Row], case: str) -> int | None:
    passed = [probes.number(row.number) for row in rows if row.probe == case and row.status in WORKS]
    return max(passed, default=None)
