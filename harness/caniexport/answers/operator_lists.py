"""Lists of operators: what is measured against torch's own tables, another exporter or release, onnxscript's tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from caniexport import versions
from caniexport.answers.torch_operators import TOLD, OperatorRow, OperatorsSummary, declared_rules, name_keys
from caniexport.answers.wrong_outputs import read_wrong, tell_wrong
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset

_TRACE, _DYNAMO = Exporter.TRACE.value, Exporter.DYNAMO.value
#: written by ``docs/read_onnxscript_tests.py``
_TESTS = "onnxscript.json"
#: what a mark of a test says
_EXPECTED = {"xfail": "expected to fail", "skip": "left out", "": "expected to pass"}


class OperatorList(StrEnum):
    """Lists of operators that differ in something, in a release or the newest."""

    DECLARED_FAILS = "declared-fails"
    UNDECLARED_PASSES = "undeclared-passes"
    REGRESSED = "regressed"
    SILENT = "silent"
    TORCHSCRIPT_ONLY = "torchscript-only"
    ONNXSCRIPT = "onnxscript"


@dataclass(frozen=True)
class ListedOperator:
    """An operator of a list, with the line that put it there.

    ``wrong`` is in what an output is another one than eager's without an error (:class:`WrongOutput`), or ``output``
    where that is not known; empty where there is none.
    """

    op: str
    dtype: str
    exporter: str
    opset: int | None
    torch: str
    said: str
    form: str = ""
    wrong: str = ""


@dataclass(frozen=True)
class OperatorTest:
    """A test of onnxscript's own, or one of its marks (``cases/operators/onnxscript.json``).

    operators  the entries of torch's database that it takes its samples of, or the nearest
    mark       ``xfail``, ``skip`` or empty; ``some`` where it is about some of the samples alone
    dtypes     what it is about; empty for all
    elsewhere  whether it holds on other systems than Linux alone, or is switched off
    """

    name: str
    operators: tuple[str, ...] = ()
    mark: str = ""
    dtypes: tuple[str, ...] = ()
    some: bool = False
    elsewhere: bool = False
    why: str = ""

    @property
    def said(self) -> str:
        """What it expects: ``expected to fail (some samples, onnxruntime)``."""
        about = ["some samples"] * self.some + ["not on Linux"] * self.elsewhere + [self.why]
        return f"{_EXPECTED[self.mark]} ({', '.join(about)})" if self.mark else _EXPECTED[self.mark]


def listed(
    summary: OperatorsSummary,
    dataset: Dataset,
    which: OperatorList,
    torch: str | None = None,
    tests: Sequence[OperatorTest] = (),
) -> list[ListedOperator]:
    """The operators of a list, in a release or the newest; ``tests`` are those of onnxscript."""
    release = versions.resolve(torch, summary.releases) if torch else summary.releases[-1]
    every = summary.rows("torch = ? AND exporter IS NOT NULL", [release])
    rows = [row for row in every if not row.form]
    if which is OperatorList.ONNXSCRIPT:
        return list(dict.fromkeys(item for test in tests for item in _against_test(test, rows, release)))
    make: dict[OperatorList, Callable[[], Iterable[ListedOperator]]] = {
        OperatorList.DECLARED_FAILS: lambda: _against_tables(dataset, rows, release, declared=True),
        OperatorList.UNDECLARED_PASSES: lambda: _against_tables(dataset, rows, release, declared=False),
        OperatorList.REGRESSED: lambda: _regressed(summary, every, release),
        OperatorList.SILENT: lambda: (_item(row) for row in rows if row.status == Status.MISMATCH.value),
        OperatorList.TORCHSCRIPT_ONLY: lambda: _torchscript_only(rows),
    }
    found = sorted(make[which](), key=lambda item: (item.op, item.form, item.dtype, item.exporter, item.opset or 0))
    # the newest opset of each speaks
    return list({(item.op, item.form, item.dtype, item.exporter): item for item in found}.values())


def _item(row: OperatorRow, said: str = "") -> ListedOperator:
    place = (row.op, row.dtype or "", row.exporter or "", row.opset, row.torch)
    return ListedOperator(*place, said or _ends(row), row.form or "", _wrong(row))


def _wrong(row: OperatorRow) -> str:
    """In what an output is another one; of one that the row does not keep it is not known."""
    wrong = read_wrong(row.signature)
    return wrong.value if wrong else "output" if row.status == Status.MISMATCH.value else ""


def _ends(row: OperatorRow) -> str:
    """``2 of 3 pass; f32[2, 3], 1: run|Fail|...``, ``0 of 1 pass; f32[2] in int64: gives int32 in place of int64``.

    Of a wrong output without an error the row may keep the error of a call that comes before it.
    """
    counted = f"{row.passing} of {row.calls} pass"
    if row.works:
        return counted
    wrong = tell_wrong(row.signature)
    if row.status == Status.MISMATCH.value and not wrong:
        return f"{counted}; {row.behind}: gives another output than eager"
    return f"{counted}; {row.failing or row.sample}: {wrong or row.signature}"


def _against_tables(
    dataset: Dataset, rows: Sequence[OperatorRow], release: str, *, declared: bool
) -> Iterable[ListedOperator]:
    """Operators with a rule that pass nowhere, or without one that pass; in the dtype that each is told by."""
    rules = {(exporter, key) for exporter, key, _ in declared_rules(dataset, release)}
    asked = {exporter for exporter, _ in rules}
    for (op, exporter), own in _by(rows, lambda row: (row.op, row.exporter)).items():
        told = [row for row in own if row.dtype == _told(own)]
        passes = any(row.works for row in told)
        has_rule = any((exporter, key) in rules for key in name_keys(op))
        if exporter in asked and told[-1].calls and has_rule == declared and passes != declared:
            yield _item(told[-1], "" if declared else f"{told[-1].passing} of {told[-1].calls} pass")


def _regressed(summary: OperatorsSummary, rows: Sequence[OperatorRow], release: str) -> Iterable[ListedOperator]:
    """What passed in the release before and does not now: the same calls at the same opset."""
    place = summary.releases.index(release)
    if not place:
        return
    before = {row[:5]: row for row in summary.rows("torch = ?", [summary.releases[place - 1]])}
    for row in rows:
        was = before.get(row[:5])
        if was is not None and was.works and row.calls and not row.works and was.arguments == row.arguments:
            yield _item(row)


def _torchscript_only(rows: Sequence[OperatorRow]) -> Iterable[ListedOperator]:
    """What passes by TorchScript at some opset and by dynamo at none."""
    for own in _by(rows, lambda row: (row.op, row.dtype)).values():
        traced, captured = ([row for row in own if row.exporter == exporter] for exporter in (_TRACE, _DYNAMO))
        if any(row.works for row in traced) and captured and not any(row.works for row in captured):
            yield _item(captured[-1])


def _by(rows: Iterable[OperatorRow], key: Callable[[OperatorRow], Any]) -> dict[Any, list[OperatorRow]]:
    found: dict[Any, list[OperatorRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.opset or 0):
        found[key(row)].append(row)
    return found


def _told(rows: Sequence[OperatorRow]) -> str | None:
    dtypes = {row.dtype for row in rows}
    return next((dtype for dtype in TOLD if dtype in dtypes), rows[0].dtype)


def read_tests(cases: Path) -> tuple[OperatorTest, ...]:
    """The tests of onnxscript that a corpus's folder lists, in the order of their names."""
    told = json.loads((cases / _TESTS).read_text(encoding="utf-8"))["tests"]
    lists = ("operators", "dtypes")
    tests = (OperatorTest(**{**item, **{name: tuple(item.get(name, ())) for name in lists}}) for item in told)
    return tuple(sorted(tests, key=lambda test: (test.operators or (test.name,))[0]))


def _against_test(test: OperatorTest, rows: Sequence[OperatorRow], release: str) -> Iterable[ListedOperator]:
    """How the calls end that a test of onnxscript is about; of a test without a mark where not all pass."""
    if test.mark and not test.operators:
        yield ListedOperator(test.name, "", _DYNAMO, None, release, f"{test.said}: not in torch's database")
    for op in test.operators:
        own = sorted(
            (row for row in rows if row.op == op and row.exporter == _DYNAMO and row.calls),
            key=lambda row: row.opset or 0,
        )
        for dtype in test.dtypes or ((_told(own),) if own else (None,)):
            row = next((row for row in own if row.dtype == dtype), None)
            if test.mark and row is None:
                yield ListedOperator(op, dtype or "", _DYNAMO, None, release, f"{test.said}: not measured")
            elif row is not None and (test.mark or not row.works):
                yield _item(row, f"{test.said}: {_ends(row)}")
