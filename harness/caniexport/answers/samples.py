"""Operator samples: torch's own test inputs of its operators, found by any name of an operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from caniexport import names, versions
from caniexport.answers.answer import Cell, Mark, Message, Table
from caniexport.answers.point import Point
from caniexport.model.errors import UnknownName
from caniexport.model.status import WORKS, Exporter, Status
from caniexport.operators import operator_key, operator_name
from caniexport.store import Dataset
from caniexport.store.views import Views

#: the exporters that samples are measured by
EXPORTERS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
#: parts of torch whose name begins that of an operator: after any other prefix comes the name of its test
_PARTS = frozenset("fft linalg special masked sparse nn.functional signal.windows torch.ops.aten".split())
#: what begins the names of operators that take a mask as well
_MASKED = "masked."
_ORDER = list(Status)


class SampleOutcome(NamedTuple):
    """The outcome of the samples of a line at an opset."""

    opset: int
    status: Status
    passing: int
    samples: int

    @property
    def works(self) -> bool:
        """Whether all of them pass."""
        return self.status in WORKS


class Sampled(NamedTuple):
    """The outcomes of the samples of an operator, dtype and form with an exporter in a release, opset by opset."""

    op: str
    dtype: str
    form: str | None
    exporter: str
    torch: str
    ends: tuple[SampleOutcome, ...]
    error: str | None
    #: the same number where the samples are the same
    given: int

    @property
    def opsets(self) -> list[int]:
        """Those at which all of them pass."""
        return [end.opset for end in self.ends if end.works]

    @property
    def best(self) -> SampleOutcome:
        """The opset at which most of them pass."""
        return max(self.ends, key=lambda end: (end.passing, end.opset))

    @property
    def range(self) -> str:
        """The passing opsets in a few words: ``16+``."""
        return opset_range(self.opsets, [end.opset for end in self.ends])

    @property
    def statuses(self) -> set[Status]:
        """The best outcome, and what is worse than an error at any opset."""
        worse = {end.status for end in self.ends if _ORDER.index(end.status) > _ORDER.index(Status.FAIL)}
        return worse | {Status.PASS if self.opsets else self.best.status}

    @property
    def mark(self) -> Mark:
        """``16+``, ``8-17``, ``2 of 3``, or the sign of the best outcome."""
        at: dict[str, list[int]] = defaultdict(list)
        for end in self.ends:
            at[end.status.value].append(end.opset)
        where = {status: versions.opset_text(opsets) for status, opsets in at.items()}
        if self.opsets:
            return Mark(Status.PASS, self.range, where)
        best = self.best
        return Mark(best.status, f"{best.passing} of {best.samples}" if best.passing else "", where)

    def at(self, opset: int) -> Sampled | None:
        """Return the same at one of the opsets that were tried."""
        ends = tuple(end for end in self.ends if end.opset == opset)
        return self._replace(ends=ends) if ends else None


def _read_outcome(end: Mapping[str, Any]) -> SampleOutcome:
    return SampleOutcome(end["opset"], Status(end["status"]), end["passing"], end["samples"])


def error_message(signature: str | None) -> Message:
    """Return the error of a signature without its stage and kind; of a comparison without the number of the output."""
    line = (signature or "").split("|", 2)[-1]
    return Message(line.removeprefix("input set N, output N: "), signature or "")


def opset_range(passing: Sequence[int], asked: Collection[int]) -> str:
    """Return ``16+`` where all from the first on pass; else the runs of neighbors, ``8-14, 20``."""
    if not passing:
        return ""
    found = versions.spans(passing, asked)
    first, last = found[-1]
    if len(found) == 1 and last == max(asked):
        return f"{first}+"
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


def read_sampled(views: Views, where: str, values: Sequence[object] = ()) -> list[Sampled]:
    """Read the lines that a condition on the view ``sampled`` takes, newest release first."""
    rows = views.fetch(
        f"""SELECT op, dtype, form, exporter, torch, ends, error, given FROM sampled JOIN judged USING (op)
            WHERE {where} ORDER BY n DESC, dtype_rank(dtype), dtype, form NULLS FIRST""",
        values,
    )
    return [
        Sampled(op, dtype, form, exporter, torch, tuple(map(_read_outcome, ends)), error, given)
        for op, dtype, form, exporter, torch, ends, error, given in rows
    ]


class Samples:
    """The operators that have samples, and which of them a name means."""

    def __init__(self, dataset: Dataset) -> None:
        self.views = Views.of(dataset)
        has = dict(self.views.fetch("SELECT torch, list(DISTINCT op) FROM samples GROUP BY torch"))
        self.releases = versions.ordered(has)
        self.operators = sorted({op for ops in has.values() for op in ops})
        self._newest = frozenset(has[self.releases[-1]] if has else ())

    @classmethod
    def of(cls, dataset: Dataset) -> Samples:
        """Return the samples of a dataset, read once; empty where it has none."""
        if "samples" not in dataset.cache:
            dataset.cache["samples"] = cls(dataset)
        made: Samples = dataset.cache["samples"]
        return made

    def release(self, asked: str = "") -> str:
        """Return the release that is asked for, else the newest. Raises :class:`UnknownName`."""
        if not self.releases:
            raise UnknownName("no operator samples were measured here: run `caniexport measure --corpus operators`")
        return versions.resolve(asked or "latest", self.releases)

    def named(self, name: str) -> list[str]:
        """Return the operators of a name in any spelling, else those whose files have this ONNX operator.

        First those that the newest release has, of them those that are called so, and those that people call.
        Raises :class:`UnknownName` with the nearest.
        """
        if name in self._newest:
            return [name]
        found = self.called(name) or sorted(self._by_onnx.get(name.lower(), ()), key=lambda op: self.likeness(op, name))
        if not found:
            raise names.unknown_name("operator", name, self.operators)
        return found

    def called(self, name: str) -> list[str]:
        """Return the operators of a name in any spelling; none where there is none.

        First what the newest release has, and of that what has this very name.
        """
        key = operator_key(name)
        # a name of another namespace (torch.cond, a higher-order operator) is no function of a part of torch
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
    def documented(self) -> list[tuple[str, str, list[str], int]]:
        """Name, title, operators and number of workarounds of each documented case."""
        return self.views.fetch(
            """SELECT o."case", o.title, coalesce(list_concat(o.aten_ops, o.onnx_ops), []), count(w.variant)
                FROM original o LEFT JOIN workaround w ON w."case" = o."case" GROUP BY ALL ORDER BY o."case\""""
        )

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
        called = _fold_name(name.rpartition(".")[2].rpartition("::")[2])
        return op not in self._newest, called not in map(_fold_name, (*op.split("."), _base_name(op))), is_internal(op)

    @cached_property
    def _by_onnx(self) -> dict[str, list[str]]:
        """By ONNX operator: the operators of whose files it is one of at most three."""
        query = """SELECT DISTINCT split_part(item, '*', 1) AS became, op
            FROM (SELECT DISTINCT op, unnest(string_split(lower(ops), ' ')) AS item FROM samples
                WHERE len(string_split(ops, ' ')) <= 3) ORDER BY op"""
        found: dict[str, list[str]] = defaultdict(list)
        for became, op in self.views.fetch(query):
            found[became].append(op)
        return dict(found)

    def at(self, name: str, torch: str, exporter: str) -> tuple[SampleOutcome, ...]:
        """Return the outcome of the plain samples of an operator by opset, in the dtype that it is judged by."""
        where = "op = $1 AND torch = $2 AND exporter = $3 AND form IS NULL AND dtype = first_dtype"
        found = read_sampled(self.views, where, [name, torch, exporter])
        return found[0].ends if found else ()

    def pass_at(self, name: str, torch: str, exporter: str, opset: int | None) -> bool | None:
        """Return whether all samples of an operator pass at an opset, or at the nearest tried ones below and above it.

        Without an opset: whether they pass at any. ``None`` where none was measured."""
        called = self.called(name)
        ends = self.at(called[0], torch, exporter) if called else ()
        if not ends:
            return None
        if opset is None:
            return any(end.works for end in ends)
        below = [end for end in ends if end.opset <= opset]
        above = [end for end in ends if end.opset >= opset]
        return all(end.works for end in (*below[-1:], *above[:1]))


def find_outcomes(dataset: Dataset, op: str, points: Sequence[Point]) -> list[SampleOutcome | None]:
    """Return the outcome of an operator at each point, at the nearest measured opset; ``None``: not measured."""
    samples = Samples.of(dataset)
    found = samples.meant(op)[:1]
    ends: list[SampleOutcome | None] = []
    for point in points:
        here = samples.at(found[0], point.torch, point.exporter) if found else ()
        ends.append(min(here, key=lambda end: (abs(end.opset - (point.opset or 0)), end.opset), default=None))
    return ends


def has_lost_samples(dataset: Dataset, ops: Sequence[str], before: Point, after: Point) -> bool:
    """Return whether an operator whose samples all pass before does not pass afterwards."""
    pairs = (find_outcomes(dataset, op, (before, after)) for op in ops)
    return any(one is not None and other is not None and one.works and not other.works for one, other in pairs)


def samples_table(dataset: Dataset, ops: Sequence[str], points: Sequence[Point]) -> Table:
    """Return the table of operators with their outcome at each point; empty where the dataset has no samples at all."""
    samples = Samples.of(dataset)
    rows = []
    for op in ops if samples.operators else ():
        missing = "not measured" if samples.meant(op) else "no samples"
        rows.append((op, *(_outcome_cell(end, missing) for end in find_outcomes(dataset, op, points))))
    columns = ("operator samples", *(f"{point.torch} {point.call}" for point in points))
    return Table("", columns, tuple(rows))


def _outcome_cell(end: SampleOutcome | None, missing: str) -> Cell:
    if end is None:
        return Mark(Status.NOT_RUN, missing)
    return Mark(end.status, f"{end.passing} of {end.samples} pass")


def find_last_run(along: Mapping[str, tuple[bool, int]]) -> tuple[str, str]:
    """The first and the last of the newest releases in a row on which samples pass, of those measured, oldest first,
    with the samples of each; empty where they pass on none, or no longer and were others then.
    """
    passing = [torch for torch, (works, _) in along.items() if works]
    first, last = next(reversed(versions.runs(passing, list(along))), ("", ""))
    is_alike = bool(last) and along[last][1] == along[list(along)[-1]][1]
    return (first, last) if is_alike else ("", "")


def is_internal(op: str) -> bool:
    """Whether an operator is called by others of torch, not by people."""
    return any(part.startswith(("_", "native_")) for part in op.split("."))


def _fold_name(name: str) -> str:
    return name.lower().replace("_", "")


def _base_name(op: str) -> str:
    """The operator's own name: without its part of torch and the name of its test."""
    part, _, rest = op.rpartition(".")
    if not part:
        return op
    return f"{part}_{rest}" if part in ("fft", "linalg", "special") else rest if part in _PARTS else _base_name(part)


@lru_cache(maxsize=8192)
def name_keys(op: str) -> frozenset[str]:
    """The keys of an operator's name, with and without that of its test."""
    return frozenset({operator_key(op), operator_key(_base_name(op))})
