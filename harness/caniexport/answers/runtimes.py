"""Runtime releases side by side: what each takes (measured with probes), and how the same bundles end on it.

Beside that: how often two runtimes end the same on the same files; ONNX's own node tests by operator, opset and release
of a runtime; and the runs that others measured and handed in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from caniexport import names, versions
from caniexport.bundles import node_tests, probes
from caniexport.corpus.replays import refusal
from caniexport.model.status import WORKS
from caniexport.store import Dataset
from caniexport.store.elsewhere import Runtime

_MEASURE = {"worst": "min(CASE WHEN status IN ('pass', 'degraded') THEN 1 ELSE 0 END)"}
_BY = ("runtime", "runtime_version", "provider", "bundle")
_COLUMNS = ("runtime", "runtime_version", "provider", "case", "variant", "status")
_VARIANT = _COLUMNS.index("variant")


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


@dataclass(frozen=True)
class ContributedRun:
    """A run with its contributor.

    files     that it ran, probes and canaries counted; ``statuses`` of these
    repeated  files that were run here too, ``differing`` those of them that ended otherwise
    gate      ``good`` where its rows are used like our own
    """

    contributor: str
    contributed_from: str
    runtime: str
    version: str
    provider: str
    device: str
    platform: str
    run_id: str
    measured_at: str
    files: int
    statuses: dict[str, int]
    repeated: int
    differing: tuple[str, ...]
    gate: str


def contributed_runs(dataset: Dataset) -> list[ContributedRun]:
    """Every run of bundles that somebody else measured, the newest first."""
    found = []
    for environment in dataset.records("environments"):
        if not environment["contributor"]:
            continue
        rows = dataset.records("runs", {"run_id": (environment["run_id"],), "env_id": (environment["env_id"],)})
        if not rows:
            continue
        first = rows[0]
        run = ContributedRun(
            contributor=environment["contributor"],
            contributed_from=environment["contributed_from"] or "",
            runtime=first["runtime"],
            version=first["runtime_version"] or "",
            provider=first["provider"],
            device=first["device"] or "",
            platform=environment["platform"] or "",
            run_id=environment["run_id"],
            measured_at=str(environment["measured_at"]),
            files=len(rows),
            statuses=dict(sorted(Counter(row["status"] for row in rows).items())),
            repeated=environment["repeated"] or 0,
            differing=tuple(environment["differing"] or ()),
            gate=environment["gate"] or "",
        )
        found.append(run)
    return sorted(found, key=lambda run: run.measured_at, reverse=True)


def agreement(dataset: Dataset) -> Mapping[tuple[str, str], tuple[int, int]]:
    """By two runtimes: of how many files that both ran both work or both do not, and how many both ran.

    Of each runtime on a provider its newest release speaks. What one of them only parses says nothing of values.
    """
    works = _by_runtime(dataset)
    found = {}
    for one, mine in works.items():
        for other, theirs in works.items():
            both = mine.keys() & theirs.keys()
            found[one.text, other.text] = sum(mine[name] == theirs[name] for name in both), len(both)
    return found


def _by_runtime(dataset: Dataset) -> dict[Runtime, dict[str, bool]]:
    apart = (probes.CORPUS, node_tests.CORPUS)
    where = {"corpus": [name for (name,) in dataset.run_groups(("corpus",), {}) if name not in apart]}
    places = [Runtime(*place) for place in dataset.run_groups(_BY[:3], {}, where)]
    newest: dict[tuple[str, str], Runtime] = {}
    for place in sorted(places, key=lambda place: versions.parse(place.version or "0")):
        newest[place.name, place.provider] = place
    found: dict[Runtime, dict[str, bool]] = defaultdict(dict)
    for place in newest.values():
        mine = {**where, "runtime": (place.name,), "runtime_version": (place.version,), "provider": (place.provider,)}
        for *_, bundle, worst in dataset.run_groups(_BY, _MEASURE, mine):
            found[place][bundle] = bool(worst)
    return found


@dataclass(frozen=True)
class OperatorLine:
    """The tests of one operator in files of one opset, on one release of a runtime.

    statuses  how many tests ended how; those that are marked (random values, …) are not among them
    failing   names of those that do not pass
    """

    operator: str
    opset: int
    runtime: str
    version: str
    provider: str
    statuses: dict[str, int]
    failing: list[str]

    @property
    def tests(self) -> int:
        """How many tests there are."""
        return sum(self.statuses.values())

    @property
    def passed(self) -> int:
        """How many of them work."""
        return self.tests - len(self.failing)


def operators(dataset: Dataset, patterns: Iterable[str]) -> list[OperatorLine]:
    """Lines of the operators that these names or globs mean, by operator, opset, runtime and version.

    Raises :class:`UnknownName` for an operator that has no test.
    """
    rows = dataset.run_groups(_COLUMNS, {}, {"corpus": (node_tests.CORPUS,)})
    about = {row[_VARIANT]: node_tests.about(row[_VARIANT]) for row in rows if row[_VARIANT] is not None}
    wanted = names.require_all("operator", tuple(patterns), sorted({item.operator for item in about.values()}))
    grouped: dict[tuple[str, int, str, str, str], dict[str, str]] = defaultdict(dict)
    for runtime, version, provider, case, variant, status in rows:
        found = about[variant]
        if found.operator in wanted and not found.mark:
            grouped[found.operator, found.opset, runtime, version or "", provider][case] = status
    order = sorted(grouped, key=lambda key: (key[0], key[1], key[2], key[4], versions.parse(key[3] or "0")))
    return [_operator_line(key, grouped[key]) for key in order]


def _operator_line(key: tuple[str, int, str, str, str], ended: dict[str, str]) -> OperatorLine:
    failing = sorted(case for case, status in ended.items() if status not in WORKS)
    return OperatorLine(*key, dict(sorted(Counter(ended.values()).items())), failing)
