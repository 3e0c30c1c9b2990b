"""Every operator of torch: since when it exports, with which dtype, exporter and opset. From the operators' summary.

The summary (``results/operators``) has a row for each operator, dtype, form, exporter, opset and release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from caniexport import names, versions
from caniexport.answers import declared as tables
from caniexport.model.errors import StoreError
from caniexport.model.made_cases import OPERATORS
from caniexport.model.status import WORKS, Exporter
from caniexport.operators import operator_key, operator_name
from caniexport.store import Dataset, sql

_SUMMARY = "operators.parquet"
_WORKS = frozenset(status.value for status in WORKS)
#: parts of torch whose name begins that of an operator: what stands behind another point is the name of its test
_PARTS = frozenset("fft linalg special masked sparse nn.functional signal.windows torch.ops.aten".split())
_REPLAY = ("bundle", "runtime", "runtime_version", "provider", "status")
_ONNXRUNTIME = ("onnxruntime", "cpu")
_EXPORTERS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
#: what begins the names of operators that take a mask as well
_MASKED = "masked."
#: operators that do not work which are named
_FEW = 3
#: operators of ONNX that give their input
_HANDS_ON = frozenset({"Identity"})
#: the dtype that an operator is told by, the first of these that it has
TOLD = ("float32", "int64", "bool", "complex64")
#: how the tensors of a call begin, by the dtype that it is written in
_SHORT = dict(zip(("f32", "i64", "bool", "c64"), TOLD, strict=True))
#: what stands in the text of an end for what differs from call to call
STANDS_FOR = "In a text N stands for a whole number, V for a decimal one, … for what differs from call to call."
_COLUMNS = (
    *("op", "dtype", "form", "exporter", "opset", "torch", "calls", "passing", "status", "sample", "signature"),
    *("arguments", "ops"),
)


class OperatorRow(NamedTuple):
    """A row of the summary (:data:`caniexport.model.rows.OPERATORS`)."""

    op: str
    dtype: str | None
    form: str | None
    exporter: str | None
    opset: int | None
    torch: str
    calls: int
    passing: int
    status: str
    sample: str | None
    signature: str | None
    arguments: str | None
    ops: str | None

    @property
    def failing(self) -> str:
        """What the first call that does not pass is given; empty where it is not known.

        It is written down in the operator's first dtype: ``f32[2, 3] in int64``.
        """
        return self._given(self.sample or "")

    @property
    def behind(self) -> str:
        """What the call behind that one is given, where there is one alone."""
        samples = [line.partition(": ")[0] for line in (self.arguments or "").splitlines()]
        later = samples[samples.index(self.sample) + 1 :] if self.sample in samples else []
        return self._given(later[0]) if len(later) == 1 else "another call"

    def _given(self, sample: str) -> str:
        given = dict(line.split(": ", 1) for line in (self.arguments or "").splitlines()).get(sample, "")
        written = next((dtype for short, dtype in _SHORT.items() if f"{short}[" in given), self.dtype)
        return given if self.dtype in (written, TOLD[0]) else f"{given} in {self.dtype}"

    @property
    def first(self) -> str:
        """What the first call is given, whose file was read where all pass; empty where that is not known."""
        lines = (self.arguments or "").splitlines()
        return lines[0].partition(": ")[2] if lines and self.works else ""

    @property
    def works(self) -> bool:
        """Whether all of its calls pass."""
        return self.status in _WORKS


def summary_path(folder: Path) -> Path:
    """Where the summary of a published dataset of operators is."""
    return folder / _SUMMARY


class OperatorsSummary:
    """The summary as answers read it. Raises :class:`StoreError` where there is none."""

    def __init__(self, folder: Path) -> None:
        path = summary_path(folder)
        if not path.is_file():
            raise StoreError(
                f"no summary of operators at {path}: `caniexport measure --corpus operators` measures them, and "
                "`caniexport publish --corpus operators` writes it"
            )
        self._file = f"read_parquet({sql.literal(str(path))})"
        self.operators = [str(op) for (op,) in self.fetch("SELECT DISTINCT op FROM {} ORDER BY op")]
        self.releases = versions.ordered(str(torch) for (torch,) in self.fetch("SELECT DISTINCT torch FROM {}"))
        has = self.fetch("SELECT DISTINCT op FROM {} WHERE torch = ?", self.releases[-1:])
        self._newest = {str(op) for (op,) in has}
        self._rows_of: dict[str, list[OperatorRow]] = {}

    def read_all(self) -> None:
        """Read the rows of every operator, for a page of each: a question for each takes longer."""
        found: dict[str, list[OperatorRow]] = {op: [] for op in self.operators}
        for row in self.rows("TRUE"):
            found[row.op].append(row)
        self._rows_of = found

    def of_operator(self, op: str) -> list[OperatorRow]:
        """The rows of an operator."""
        if op not in self._rows_of:
            self._rows_of[op] = self.rows("op = ?", [op])
        return self._rows_of[op]

    def rows(self, where: str, values: Sequence[Any] = ()) -> list[OperatorRow]:
        """The rows that a condition takes."""
        query = f"SELECT {', '.join(_COLUMNS)} FROM {{}} WHERE {where}"
        return [OperatorRow(*row) for row in self.fetch(query, values)]

    def named(self, name: str) -> list[str]:
        """The operators of a name in whatever spelling, else those whose files have this ONNX operator.

        First those that the newest release has, of them those that are called so, and those that people call.
        Raises :class:`caniexport.model.errors.UnknownName` with the nearest.
        """
        if name in self._newest:
            return [name]
        found = self.called(name) or sorted(self._became(name), key=lambda op: self.likeness(op, name))
        if not found:
            raise names.unknown("operator", name, self.operators)
        return found

    def called(self, name: str) -> list[str]:
        """The operators that are called so, in whatever spelling; none where none is.

        First what the newest release has, and of that what has this very name.
        """
        key = operator_key(name)
        # what is of another namespace (torch.cond, a higher-order operator) is no function of one of torch's parts
        is_elsewhere = "::" in key
        found = self._by_name.get(key) or ([] if is_elsewhere else self._by_last_part.get(key, []))
        bare, spelled = name.removeprefix("torch."), operator_name(name)

        def order(op: str) -> tuple[bool, bool, bool, tuple[bool, ...], bool, int]:
            is_gone, *unlike = self.likeness(op, name)
            is_other = operator_name(op) != spelled
            return is_gone, op != bare, is_other, tuple(unlike), op.startswith(_MASKED), len(op)

        return sorted(found, key=order)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for op in self.operators:
            for key in name_keys(op):
                found[key].append(op)
        return dict(found)

    @cached_property
    def _by_last_part(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for op in self.operators:
            found[operator_key(op.rpartition(".")[2])].append(op)
        return dict(found)

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """The dtypes in which any operator was measured."""
        return frozenset(dtype for (dtype,) in self.fetch("SELECT DISTINCT dtype FROM {} WHERE calls > 0") if dtype)

    def meant(self, name: str) -> list[str]:
        """Those of :meth:`called` that a name means as much as the first: that alone where it is the very name. What
        works in place is meant by its own name alone: ``Resize`` is not ``resize_``.
        """
        called = [op for op in self.called(name) if not op.endswith("_") or name.endswith("_") or op.endswith("__")]
        if called and called[0] in (name.removeprefix("torch."), operator_name(name)):
            return called[:1]
        found = [op for op in called if self.likeness(op, name) == self.likeness(called[0], name)]
        return [op for op in found if not op.startswith(_MASKED)] or found

    def likeness(self, op: str, name: str) -> tuple[bool, bool, bool]:
        """What an operator lacks of what a name most likely means."""
        called = _letters(name.rpartition(".")[2].rpartition("::")[2])
        parts = op.split(".")
        inner = any(part.startswith(("_", "native_")) for part in parts)
        return op not in self._newest, called not in map(_letters, (*parts, _base(op))), inner

    def _became(self, name: str) -> list[str]:
        """Operators of whose files this is one of at most three operators."""
        query = "SELECT DISTINCT op, ops FROM {} WHERE ops IS NOT NULL AND contains(lower(ops), ?) ORDER BY op"
        found = [(op, _plain_ops(ops)) for op, ops in self.fetch(query, [name.lower()])]
        few = [op for op, ops in found if name.lower() in [item.lower() for item in ops] and len(ops) <= 3]
        return list(dict.fromkeys(few))

    def fetch(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a query finds in the summary, which stands where it has ``{}``."""
        return sql.fetch(query.format(self._file), values)


def operators_beside(dataset: Dataset) -> OperatorsSummary | None:
    """The summary that lies beside the published rows of a dataset, read once; ``None`` where there is none."""
    if "operators" not in dataset.beside:
        folder = dataset.published_beside(OPERATORS)
        is_there = folder is not None and summary_path(folder).is_file()
        dataset.beside["operators"] = OperatorsSummary(folder) if folder is not None and is_there else None
    kept: OperatorsSummary | None = dataset.beside["operators"]
    return kept


def _letters(name: str) -> str:
    return name.lower().replace("_", "")


def last_run(passing: Collection[str], measured: Iterable[str]) -> tuple[str, str]:
    """The first and the last of the newest releases in a row on which calls pass; empty where they do on none."""
    return next(reversed(versions.runs(passing, versions.ordered(measured))), ("", ""))


def passed_text(since: str, until: str, opsets: Iterable[int | None]) -> str:
    """``2.1.2 to 2.10.0 (opset 18, 20)``: releases in a row, and the opsets in the last of them."""
    return f"{since if since == until else f'{since} to {until}'} (opset {versions.opset_text(opsets)})"


def partly_text(counts: Iterable[tuple[int, int, int]]) -> str:
    """``2 of 3 calls at opset 14, 17`` of (opset, calls that pass, calls): where some pass and some do not."""
    found: dict[str, list[int]] = defaultdict(list)
    for opset, passing, calls in counts:
        if 0 < passing < calls:
            found[f"{passing} of {calls} calls"].append(opset)
    return ", ".join(f"{counted} at opset {versions.opset_text(opsets)}" for counted, opsets in found.items())


def declared_rules(dataset: Dataset, release: str) -> Sequence[tuple[str, str, str]]:
    """Exporter, operator's key and opsets of every rule in a release's own tables; read once."""
    if f"rules {release}" not in dataset.beside:
        by = {tables.TABLE_OF[exporter]: exporter for exporter in _EXPORTERS}
        rows = dataset.records("declared", {"release": {release}, "by": set(by)})
        found = [(by[row["by"]], operator_key(row["op"].split(".")[0]), row["opsets"]) for row in rows]
        dataset.beside[f"rules {release}"] = found
    rules: list[tuple[str, str, str]] = dataset.beside[f"rules {release}"]
    return rules


def _plain_ops(ops: str) -> list[str]:
    """``Conv*2 Relu`` as names."""
    return [item.partition("*")[0] for item in ops.split()]


def _base(op: str) -> str:
    """The operator's own name: without its part of torch and the name of its test."""
    part, _, rest = op.rpartition(".")
    if not part:
        return op
    return f"{part}_{rest}" if part in ("fft", "linalg", "special") else rest if part in _PARTS else _base(part)


@lru_cache(maxsize=8192)
def name_keys(op: str) -> frozenset[str]:
    """The keys of an operator's name, with and without that of its test."""
    return frozenset({operator_key(op), operator_key(_base(op))})
