"""Node tests of ONNX that onnxruntime leaves out of its own run of them, and how they end in its newest release."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from caniexport import home as homes
from caniexport import versions
from caniexport.answers.answer import Cell, Code, Message, Share, Table
from caniexport.answers.outcomes import short_cause
from caniexport.bundles import node_tests
from caniexport.store import Dataset
from caniexport.store.views import Views

#: written by docs/read_onnxruntime_filters.py
_FILE = "onnxruntime_filters.json"
#: the providers whose rows a list is judged by; the lists that name no provider are for all
_OF_OPENVINO = "current_failing_tests_OPENVINO_CPU_FP32"
_SHOWN = 40


@dataclass(frozen=True)
class LeftOutTests:
    """The filters of a day: ``entries`` are pairs of a list's name and an expression for names of tests."""

    commit: str
    day: str
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Run:
    """A test on a provider: the newest status, the error of it, and the first release since which it passes."""

    works: bool
    text: str
    since: str


def read_left_out_tests(corpus: str) -> LeftOutTests:
    """The filters in the folder of a corpus; none where it has no such file."""
    file = homes.find().cases / corpus / _FILE
    if not file.is_file():
        return LeftOutTests("", "", ())
    found = json.loads(file.read_text(encoding="utf-8"))
    return LeftOutTests(
        found["commit"], found["day"], tuple((item["list"], item["pattern"]) for item in found["entries"])
    )


def left_out_table(dataset: Dataset, filters: LeftOutTests) -> Table:
    """A line for each filter that a measured test meets: on each provider how many of its tests pass, and since when.

    First those whose tests all pass.
    """
    runs, newest = _read_runs(dataset)
    providers = sorted(newest)
    lines: list[tuple[bool, str, tuple[Cell, ...]]] = []
    for name, pattern in filters.entries:
        of_openvino = name == _OF_OPENVINO
        judging = {place: tests for place, tests in runs.items() if (place == "openvino") == of_openvino}
        met = {place: found for place, tests in judging.items() if (found := _tests_of(pattern, place, tests))}
        if not met:
            continue
        ends = [run for found in met.values() for run in found]
        text = next((run.text for run in ends if not run.works), "")
        shares = (
            Share(sum(run.works for run in met[place]), len(met[place])) if place in met else None
            for place in providers
        )
        on_cpu = met.get("cpu", ())
        since = versions.newest(run.since for run in on_cpu) or "" if all(run.works for run in on_cpu) else ""
        cells: tuple[Cell, ...] = (Code(pattern), name, *shares, since, Message(short_cause(text), text))
        lines.append((bool(text), pattern, cells))
    heads = tuple(f"{place} {newest[place]}" for place in providers)
    columns = ("filter", "list", *heads, "on cpu since", "error")
    rows = tuple(cells for *_, cells in sorted(lines, key=lambda line: line[:2]))
    return Table("node tests that onnxruntime leaves out", columns, rows, _SHOWN, folded=("list",))


def _tests_of(pattern: str, place: str, tests: Mapping[str, _Run]) -> list[_Run]:
    """Those of a filter; onnxruntime writes the device behind a test's name."""
    device = "cuda" if place == "cuda" else "cpu"
    return [run for test, run in tests.items() if re.search(pattern, f"{test}_{device}")]


def _read_runs(dataset: Dataset) -> tuple[Mapping[str, Mapping[str, _Run]], Mapping[str, str]]:
    """By provider and test, how it ends; and the newest release measured on each provider."""
    rows = Views.of(dataset).fetch(
        """SELECT r.provider, r."case", r.runtime_version, works(r.status), coalesce(m.text, r.status)
        FROM replays r LEFT JOIN (SELECT DISTINCT message_id, text FROM message) m USING (message_id)
        WHERE r.corpus = $1 AND r.runtime = 'onnxruntime' AND NOT contains(r.variant, '.')""",
        [node_tests.CORPUS],
    )
    ends: dict[str, dict[str, dict[str, tuple[bool, str]]]] = defaultdict(lambda: defaultdict(dict))
    for place, test, release, works, text in rows:
        ends[place][test][release] = (works, text)
    newest: dict[str, str] = {}
    runs: dict[str, dict[str, _Run]] = {}
    for place, tests in ends.items():
        releases = versions.ordered({release for found in tests.values() for release in found})[::-1]
        newest[place] = releases[0]
        runs[place] = {test: _judge(found, releases) for test, found in tests.items() if releases[0] in found}
    return runs, newest


def _judge(found: Mapping[str, tuple[bool, str]], releases: Sequence[str]) -> _Run:
    works, text = found[releases[0]]
    passed = list(takewhile(lambda release: release in found and found[release][0], releases))
    return _Run(works, text, passed[-1] if passed else "")
