"""Every operator of torch: since when it exports, with which dtype, exporter and opset. From the operators' summary.

The summary (``results/operators``) has a row for each operator, dtype, form, exporter, opset and release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from caniexport import names, versions
from caniexport.answers import declared as tables
from caniexport.answers.reading import load
from caniexport.answers.shown import Answers, Shown
from caniexport.answers.wrong_outputs import tell_wrong
from caniexport.home import NEWEST
from caniexport.model.canaries import is_canary
from caniexport.model.case import PLAIN
from caniexport.model.errors import StoreError
from caniexport.model.made_cases import OPERATORS
from caniexport.model.releases import table
from caniexport.model.status import WORKS, Exporter, Status
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


@dataclass(frozen=True)
class OperatorHistory:
    """An operator in a dtype and form with an exporter, over the releases.

    since, opset  the release from which on all calls pass at some opset in every one, and the lowest of these; empty
                  where they do not in the newest
    passed        there the releases in which they last did, and where: ``2.1.2 to 2.10.0 (opset 18, 20)``, with the
                  opsets of the last; empty where the newest has other calls
    unmeasured    the releases right before ``since`` that were not measured: ``2.6.0 to 2.11.0``; it may pass there
    passing       opsets at which they pass in the newest release, ``asked`` those that were tried
    partly        there how many pass at which others: ``2 of 3 calls at opset 17``
    counted       calls that pass in the newest release at the opsets where most do (``most``): ``2 of 3``
    status        the worst of them there, ``sample`` and ``signature`` of the first that does not pass, and what it is
                  given (``failing``)
    """

    op: str
    dtype: str
    form: str
    exporter: str
    torch: str
    since: str
    unmeasured: str
    opset: int | None
    passing: str
    asked: str
    counted: str
    status: str
    sample: str
    signature: str
    most: str = ""
    failing: str = ""
    passed: str = ""
    partly: str = ""

    @property
    def works(self) -> bool:
        """Whether it passes in the newest release at some opset."""
        return bool(self.passing)


@dataclass(frozen=True)
class OperatorPlace(Shown):
    """What one entry of torch's database comes to: the decision first.

    ``left_out`` are dtypes that are not measured, with the reason; ``became`` the ONNX operators of its files in
    the dtype that it is told by;
    ``exported`` what the call is given whose file was read for it;
    ``runs_on`` from which onnxruntime on the documented cases' files with each of these run; ``declared`` the opsets
    with a rule in the newest release, by exporter; ``cases`` documented failures about it, ``fixes`` their fixes;
    ``findings`` what looking by hand found, with a call that shows it; ``meant`` whether the name means this operator
    as much as the first; ``companions`` the companion packages that dynamo was measured with on the first release that
    passes.
    """

    op: str
    decision: str
    lines: tuple[OperatorHistory, ...]
    left_out: dict[str, str]
    became: tuple[str, ...]
    runs_on: dict[str, str]
    declared: dict[str, str]
    cases: tuple[str, ...]
    fixes: tuple[str, ...]
    findings: tuple[str, ...] = ()
    meant: bool = True
    exported: str = ""
    companions: str = ""

    @property
    def becomes(self) -> str:
        """The ONNX operators of its files; with the call where these only hand a value on: others may do more."""
        words = ", ".join(self.became)
        is_empty = bool(self.became) and set(self.became) <= _HANDS_ON
        return f"{words} (the file of a call with {self.exported})" if is_empty and self.exported else words

    @property
    def told(self) -> list[OperatorHistory]:
        """The lines that it is told by: plain calls in one dtype, a line for each exporter."""
        plain = [line for line in self.lines if not line.form] or list(self.lines)
        dtype = next((dtype for dtype in TOLD if any(line.dtype == dtype for line in plain)), None)
        return [line for line in plain if line.dtype == (dtype or plain[0].dtype)]


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


def torch_operator(
    summary: OperatorsSummary, dataset: Dataset, name: str, findings: Mapping[str, tuple[str, ...]] | None = None
) -> Answers[OperatorPlace]:
    """What is known of the operators of a name, ``findings`` by operator included.

    Raises :class:`caniexport.model.errors.UnknownName`.
    """
    ops = summary.named(name)
    found = findings or {}
    first = summary.likeness(ops[0], name)
    places = (_place(op, summary.of_operator(op), summary.releases, dataset) for op in ops)
    return Answers(
        replace(place, meant=summary.likeness(place.op, name) == first, findings=found.get(place.op, ()))
        for place in places
    )


def decide_several(places: Sequence[OperatorPlace]) -> str:
    """One sentence on operators of one name: which of them each exporter exports in the newest release; before that
    which are wrong without an error.
    """
    newest = versions.ordered(line.torch for place in places for line in place.told)[-1:]
    lines = [line for place in places for line in place.told]
    words = [_exported([line for line in lines if line.exporter == exporter]) for exporter in _EXPORTERS[::-1]]
    at = f"torch {''.join(newest)}"
    wrong = [
        f"{line.op} by {_speaker(line)}" for line in lines if not line.works and line.status == Status.MISMATCH.value
    ]
    first = f"In {at} {' and '.join(wrong)} differs from eager without an error. " if wrong else ""
    return f"{first}{len(places)} operators of torch have this name. In {at} {'; '.join(filter(None, words))}"


def _exported(lines: Sequence[OperatorHistory]) -> str:
    return f"{_speaker(lines[0])} exports {tell_which([(line.op, line.works) for line in lines])}" if lines else ""


def tell_which(ends: Sequence[tuple[str, bool]]) -> str:
    """Which of several operators work: ``all of them``, ``all but fft.rfft``, ``2 of 8``, ``none of them``."""
    bad = [op for op, works in ends if not works]
    if not bad:
        return "all of them"
    if len(bad) == len(ends):
        return "none of them"
    return f"all but {', '.join(bad)}" if len(bad) <= _FEW else f"{len(ends) - len(bad)} of {len(ends)}"


def _place(op: str, rows: Sequence[OperatorRow], releases: Sequence[str], dataset: Dataset) -> OperatorPlace:
    newest = versions.ordered(row.torch for row in rows)[-1]
    groups: dict[tuple[str, str, str], list[OperatorRow]] = defaultdict(list)
    for row in rows:
        if row.exporter and row.dtype:
            groups[row.dtype, row.form or "", row.exporter].append(row)
    lines = tuple(
        _line(op, *place, own, newest, releases)
        for place, own in sorted(groups.items(), key=lambda item: _rank(*item[0]))
    )
    left_out = {row.dtype or "": row.signature or "" for row in rows if not row.exporter and row.torch == newest}
    told = {line.dtype for line in lines[:1]}
    files = [row for row in rows if row.ops and row.torch == newest and row.dtype in told and not row.form]
    became = tuple(dict.fromkeys(item for row in files for item in _plain_ops(row.ops or "")))
    cases = _cases(dataset, op)
    place = OperatorPlace(
        op,
        "",
        lines,
        left_out,
        became,
        _runs_on(dataset, cases, became),
        _declared(dataset, op),
        cases,
        _fixes(dataset, cases),
        exported=next((row.first for row in files if row.first), ""),
    )
    return replace(
        place, decision=_decision(place, newest, newest == releases[-1]), companions=_companions(dataset, place.told)
    )


def _companions(dataset: Dataset, told: Sequence[OperatorHistory]) -> str:
    """``since torch 2.6.0 with onnxscript 0.7.2, onnx-ir 1.1.0, …``: an older onnxscript has fewer translations.

    Empty where dynamo does not pass, or where the environment of that release is not known.
    """
    since = next((line.since for line in told if line.exporter == Exporter.DYNAMO.value and line.works), "")
    own = (item for item in load(dataset).installed if (item.torch, item.profile) == (since, NEWEST))
    return next((f"since torch {since} with {item.text}" for item in own if item.text), "")


def _line(
    op: str,
    dtype: str,
    form: str,
    exporter: str,
    rows: Sequence[OperatorRow],
    newest: str,
    measured: Sequence[str],
) -> OperatorHistory:
    good = [row for row in rows if row.works and row.opset is not None]
    since, until = last_run({row.torch for row in good}, [row.torch for row in rows if row.calls])
    works = until == newest
    first = min((row.opset for row in good if row.torch == since and row.opset is not None), default=None)
    now = sorted((row for row in rows if row.torch == newest), key=lambda row: row.opset or 0)
    shown = max(now or rows, key=lambda row: (row.passing, row.opset or 0))
    last = [row for row in good if row.torch == until]
    same_calls = last[-1:] and last[-1].arguments == shown.arguments
    return OperatorHistory(
        op=op,
        dtype=dtype,
        form=form,
        exporter=exporter,
        torch=newest,
        since=since if works else "",
        unmeasured=_unmeasured_before(since, measured) if works else "",
        opset=first if works else None,
        passing=versions.opset_text(row.opset for row in now if row.works),
        asked=versions.opset_text(row.opset for row in now),
        counted=f"{shown.passing} of {shown.calls}" if now else "",
        status=shown.status if now else Status.NOT_RUN.value,
        sample=shown.sample or "",
        signature=shown.signature or "",
        most=versions.opset_text(row.opset for row in now if row.passing == shown.passing),
        failing=shown.failing,
        passed=passed_text(since, until, (row.opset for row in last)) if same_calls and not works else "",
        partly=partly_text((row.opset or 0, row.passing, row.calls) for row in now),
    )


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


def _unmeasured_before(release: str, measured: Sequence[str]) -> str:
    """The releases between one and the measured one before it; empty where there are none, or none is older."""
    order = [item.torch for item in table()]
    before = order[: order.index(release)] if release in order else []
    gap = list(takewhile(lambda item: item not in measured, reversed(before)))[::-1]
    if not gap or len(gap) == len(before):
        return ""
    return gap[0] if len(gap) == 1 else f"{gap[0]} to {gap[-1]}"


def _decision(place: OperatorPlace, newest: str, is_there: bool) -> str:
    """One sentence: does it export, since when, and how."""
    if not place.lines:
        return f"{place.op} is not measured: {next(iter(place.left_out.values()), 'nothing of it can be a module')}"
    gone = "" if is_there else f" (torch {newest} was the last release whose database has it)"
    words = "; ".join(_words(line) for line in place.told)
    wrong = [f"{line.dtype} ({_speaker(line)})" for line in place.lines if _is_wrong(line) and line not in place.told]
    others = f"; differs from eager without an error in {names.some(wrong, _FEW)}" if wrong else ""
    return f"{place.op} in {place.told[0].dtype}, torch {newest}{gone}: {words}{others}"


def _is_wrong(line: OperatorHistory) -> bool:
    """Whether no plain call of it passes, and the values are wrong: nothing else tells."""
    return not line.form and not line.works and line.status == Status.MISMATCH.value and line.counted.startswith("0 ")


def _words(line: OperatorHistory) -> str:
    who = _speaker(line)
    if line.works:
        gap = f"; {line.unmeasured} not measured" if line.unmeasured else ""
        partly = f", and {line.partly}" if line.partly else ""
        return f"{who} exports it at opset {line.passing}, since torch {line.since} (opset {line.opset}{gap}){partly}"
    wrong = tell_wrong(line.signature)
    ends = f", which {wrong}" if wrong else f" ({line.status})"
    if not line.counted or line.counted.startswith("0 "):
        before = f"; {'it was right' if wrong else 'it did'} on torch {line.passed}" if line.passed else ""
        return f"{who} {f'exports it, but {wrong}' if wrong else f'does not ({line.status})'}{before}"
    before = f"; all of them on torch {line.passed}" if line.passed else ""
    given = f", not with {line.failing}" if line.failing else ", not with another"
    return f"{who} exports {line.counted} calls at opset {line.most}{given}{ends}{before}"


def _speaker(line: OperatorHistory) -> str:
    return "dynamo" if line.exporter == Exporter.DYNAMO.value else "TorchScript"


def _declared(dataset: Dataset, op: str) -> dict[str, str]:
    """The opsets with a rule in the newest measured release, by exporter."""
    newest, keys = load(dataset).torch[-1], name_keys(op)
    found: dict[str, list[str]] = defaultdict(list)
    for exporter, key, opsets in declared_rules(dataset, newest):
        if key in keys:
            found[exporter].append(opsets)
    return {exporter: ", ".join(dict.fromkeys(opsets)) for exporter, opsets in found.items()}


def declared_rules(dataset: Dataset, release: str) -> Sequence[tuple[str, str, str]]:
    """Exporter, operator's key and opsets of every rule in a release's own tables; read once."""
    if f"rules {release}" not in dataset.beside:
        by = {tables.TABLE_OF[exporter]: exporter for exporter in _EXPORTERS}
        rows = dataset.records("declared", {"release": {release}, "by": set(by)})
        found = [(by[row["by"]], operator_key(row["op"].split(".")[0]), row["opsets"]) for row in rows]
        dataset.beside[f"rules {release}"] = found
    rules: list[tuple[str, str, str]] = dataset.beside[f"rules {release}"]
    return rules


def _runs_on(dataset: Dataset, cases: Sequence[str], became: Sequence[str]) -> dict[str, str]:
    """Of each ONNX operator from which onnxruntime on files with it run: those of the documented cases."""
    known = ends_on_onnxruntime(dataset, cases) if became else {}
    ended: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        for (op, version), ends in known.get(case, {}).items():
            ended[op][version].extend(ends)
    return {op: words for op in became if (words := _since_runtime(ended.get(op, {})))}


def ends_on_onnxruntime(
    dataset: Dataset, cases: Sequence[str]
) -> Mapping[str, Mapping[tuple[str, str], Collection[bool]]]:
    """By case, then by ONNX operator and release of onnxruntime: whether files that work run there, each answer once.

    A case is read once for a dataset.
    """
    known: dict[str, dict[tuple[str, str], set[bool]]] = dataset.beside.setdefault("ends on onnxruntime", {})
    wanted = [case for case in cases if case not in known]
    found: dict[str, dict[tuple[str, str], set[bool]]] = {case: {} for case in wanted}
    where = {"case": wanted, "status": tuple(_WORKS)}
    files: dict[str, tuple[set[str], set[str]]] = {}
    for case, bundle, ops in dataset.select(("case", "bundle", "ops"), where) if wanted else ():
        if bundle and ops:
            if bundle not in files:
                files[bundle] = (set(), set(_plain_ops(ops)))
            files[bundle][0].add(case)
    for bundle, runtime, version, provider, status, _ in dataset.replays(files, _REPLAY) if files else ():
        own, ops = files[bundle] if (runtime, provider) == _ONNXRUNTIME else ((), ())
        for place in product(own, ops):
            found[place[0]].setdefault((place[1], version), set()).add(status in _WORKS)
    # whole at once: other sessions read it meanwhile
    known.update(found)
    return known


def _since_runtime(ended: Mapping[str, Sequence[bool]]) -> str:
    """``1.11.1 runs some, 1.23.2 all files``, from the ends of files by release; empty where none runs."""
    order = versions.ordered(ended)
    some = next((version for version in order if any(ended[version])), "")
    whole = list(takewhile(lambda version: all(ended[version]), reversed(order)))
    if not some or (whole and whole[-1] == some):
        return some and f"all files from {some} on"
    return f"some files from {some} on" + (f", all from {whole[-1]}" if whole else "")


def _cases(dataset: Dataset, op: str) -> tuple[str, ...]:
    """Documented failures about the operator."""
    keys = name_keys(op)
    entries = [entry for (_, variant), entry in load(dataset).catalogue.items() if variant == PLAIN]
    about = (entry.case for entry in entries if keys & {operator_key(item) for item in entry.ops})
    return tuple(case for case in about if not is_canary(case))


def _fixes(dataset: Dataset, cases: Sequence[str]) -> tuple[str, ...]:
    known = load(dataset).catalogue
    mine = [entry for (case, variant), entry in known.items() if case in cases and variant != PLAIN]
    mine.sort(key=lambda entry: entry.changes_values)
    return tuple(f"{entry.case}/{entry.variant}{f', which {entry.changed}' * entry.changes_values}" for entry in mine)


def _rank(dtype: str, form: str, exporter: str) -> tuple[Any, ...]:
    return form != "", TOLD.index(dtype) if dtype in TOLD else len(TOLD), dtype, form, exporter


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
