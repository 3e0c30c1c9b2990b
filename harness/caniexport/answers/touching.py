"""Known failures that touch a model: graphs of the corpus, written at the model's point, that are part of it.

A variant that works where the model comes from has a file there, and so a graph (``graphs`` in the dataset). Where it
fails at a target, a model with this graph in it (the same operators, joined in the same way, of the same types, with an
axis that varies where it has one) may fail too. The corpus itself measures how likely: of the other cases with the
pattern, how many fail there? A multiplication is in hundreds that work and is no warning; a pattern of cases that
mostly fail is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from caniexport.answers.inventory import CatalogueEntry, Inventory, Key
from caniexport.answers.patterns import Pattern, is_part_of, make_pattern, make_value_pattern
from caniexport.answers.point import Point
from caniexport.answers.runtime_limits import find_refusal, read_written_versions
from caniexport.answers.samples import Samples
from caniexport.corpus.verdicts import is_working
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind, Status
from caniexport.store import sql
from caniexport.store.onnx_graph import Graph
from caniexport.store.views import Views

#: shares of failing cases from which a pattern touches a model, and may touch it
_TOUCHES, _MAY = 0.5, 0.2
#: measured cases with operators joined as in a model, from which on none failing is an answer
ENOUGH = 5
#: kinds of workarounds whose files are written at another point
_OTHER_POINT = {
    kind.value for kind in (FixKind.EXPORT_OPTION, FixKind.RAISE_OPSET, FixKind.RUNTIME_OPTION, FixKind.VERSION_UPGRADE)
}

_SUMS = frozenset({"Add", "Mul", "Sub"})
_OPTION = FixKind.EXPORT_OPTION.value
#: the status of a variant at a point, ``None`` where it was not measured
StatusAt = Callable[[str, str, Point], Status | None]


class TouchVerdict(StrEnum):
    """What is known of a model at a target."""

    WORKS = "measured: works"
    FAILS = "measured: fails"
    TOUCHED = "known failures touch it"
    MAY_BE_TOUCHED = "known failures may touch it"
    NOT_TOUCHED = "no known failure touches it"
    NOT_ENOUGH = "not enough measured"
    NOTHING_WORKS = "no such file works there"
    NOT_KNOWN = "not measured there"


@dataclass(frozen=True)
class Touch:
    """A variant whose graph is in a model. ``beside`` are the other cases with this pattern that were measured at the
    target, ``failing`` those of them that fail there.
    """

    case: str
    variant: str
    title: str
    status: Status
    beside: int
    failing: int

    @property
    def share(self) -> float:
        """Of the cases with the pattern, this one among them, the share that fails."""
        return (self.failing + 1) / (self.beside + 1)


@dataclass(frozen=True)
class ModelStanding:
    """The verdict on a model at a target and its evidence.

    ``equal`` are variants with the same graph and their status there; ``touches`` and ``may_touch`` known failures
    whose pattern is in the model.
    ``compared`` counts the graphs that were measured at both points; ``may_be_wrong`` are cases that give wrong values
    for some inputs at both, and whose operators on values are in the model. ``refused`` is why the runtime there loads
    no file that is written there, empty where it does. ``unseen`` are operators of the model that none of the graphs
    compared has, and of which operator samples are not measured to pass. ``written_by`` is the exporter that wrote the
    model's file where the target has another one, which reads what no file has: the program, gradients, numbers that
    are read off tensors.
    """

    word: TouchVerdict
    equal: Mapping[str, Status]
    touches: tuple[Touch, ...]
    may_touch: tuple[Touch, ...]
    compared: int
    may_be_wrong: tuple[Touch, ...]
    unseen: tuple[str, ...] = ()
    written_by: str = ""
    refused: str = ""

    @property
    def is_seen(self) -> bool:
        """Whether its file has all that is known to matter at the target."""
        return not (self.unseen or self.written_by)

    @property
    def text(self) -> str:
        """The verdict for people."""
        if self.word in (TouchVerdict.WORKS, TouchVerdict.FAILS):
            text = f"a case with the same graph {'works' if self.word is TouchVerdict.WORKS else 'fails'}"
        else:
            text = self.word.value
        if self.may_be_wrong:
            return f"{text}; its values may be wrong"
        is_clear = self.word in (TouchVerdict.WORKS, TouchVerdict.NOT_TOUCHED)
        return f"{text}, as far as its file shows" if is_clear and not self.is_seen else text


class TouchJudge:
    """Compares a model with the files of the corpus that were written at its point."""

    def __init__(
        self,
        known: Inventory,
        graph: Graph,
        source: Point,
        status: StatusAt,
        samples: Samples | None = None,
    ) -> None:
        self._known = known
        self._model, self._values = make_pattern(graph), make_value_pattern(graph)
        self._source = source
        self._status = status
        self._samples = samples
        self._others: dict[tuple[str, str], list[tuple[str, str]]] = {}

    def at(self, target: Point) -> ModelStanding:
        """Return the verdict on the model at a target."""
        ended = {key: self._status(*key, target) for key in self._working}
        measured = {key: status for key, status in ended.items() if status and is_working(status) is not None}
        failing = {case for (case, _), status in measured.items() if not is_working(status)}
        calls = find_failing_by_call(self._known.views, failing, target)
        of_models = {key: status for key, status in measured.items() if key[0] not in calls}
        refused = self._find_refusal(target)
        equal = {key: status for key, status in measured.items() if self._working[key].shape == self._model.shape}
        if refused or (measured and not equal and not any(map(is_working, measured.values()))):
            return ModelStanding(TouchVerdict.NOTHING_WORKS, {}, (), (), len(measured), (), refused=refused)
        found = [self._judge_touch(key, of_models) for key in self._inside if is_working(of_models.get(key)) is False]
        touches = _rank_touches(touch for touch in found if touch.share >= _TOUCHES)
        may = _rank_touches(touch for touch in found if _MAY <= touch.share < _TOUCHES)
        return ModelStanding(
            _choose_verdict(list(equal.values()), touches, may, len(measured), self._count_joined(measured)),
            {f"{case}/{variant}": status for (case, variant), status in equal.items()},
            touches,
            may,
            len(measured),
            self._find_wrong(target),
            unseen=self._find_unseen(measured, target),
            written_by=self._source.exporter if target.exporter != self._source.exporter else "",
        )

    def _count_joined(self, measured: Iterable[tuple[str, str]]) -> int:
        """Count the measured cases whose graphs lie in the model and join operators on values."""
        parts = _read_patterns(self._known, self._source, make_value_pattern)
        return len({key[0] for key in {*measured}.intersection(self._inside) if _is_telling(parts[key])})

    def _find_refusal(self, target: Point) -> str:
        """Return why the runtime of a target loads no file that is written there."""
        written = read_written_versions(self._known.views, target)
        runtime = target.runtime or self._known.own_runtime(target.torch, target.profile)
        refusal = find_refusal(self._known.views, runtime, written) if runtime else ""
        return f"{refusal}, and a file written there has {written.text}" if refusal else ""

    def _find_unseen(self, measured: Iterable[tuple[str, str]], target: Point) -> tuple[str, ...]:
        """The operators of the model that are in none of the graphs that were measured, and whose samples do not all
        pass there.
        """
        seen = {op for key in measured for op in self._working[key].ops}
        point = (target.torch, target.exporter, target.opset)
        left = sorted(set(self._model.ops) - seen) if seen else []
        return tuple(op for op in left if not (self._samples and self._samples.pass_at(op, *point)))

    def _find_wrong(self, target: Point) -> tuple[Touch, ...]:
        """Cases that give wrong values at both points, and whose operators on values lie in the model; without those
        whose operators are right in as many other cases.
        """
        found = [
            Touch(case, PLAIN, self._known.catalogue[case, PLAIN].title, status, len(others), sum(others.values()))
            for case, others in self._wrong_inside.items()
            if (status := self._status(case, PLAIN, target)) is Status.MISMATCH
        ]
        return _rank_touches(touch for touch in found if touch.share >= _TOUCHES)

    @cached_property
    def _wrong_inside(self) -> dict[str, dict[str, bool]]:
        """By case that gives wrong values where the model comes from, and whose operators on values lie in it: the
        other cases with these operators, and whether theirs are wrong.
        """
        parts = _read_patterns(self._known, self._source, make_value_pattern)
        ended = {key: self._status(*key, self._source) for key in parts}
        wrong = [key for key, status in ended.items() if key[1] == PLAIN and status is Status.MISMATCH]
        inside = [key for key in wrong if _is_telling(parts[key]) and is_part_of(parts[key], self._values)]
        return {key[0]: _find_other_wrong(key[0], parts[key], parts, ended) for key in inside}

    def _judge_touch(self, key: tuple[str, str], measured: Mapping[tuple[str, str], Status]) -> Touch:
        by_case: dict[str, bool] = {}
        for other in self._find_others(key, self._working[key]):
            if other in measured:
                by_case[other[0]] = by_case.get(other[0], False) or is_working(measured[other]) is False
        entry = self._known.catalogue[key]
        return Touch(*key, entry.title, measured[key], len(by_case), sum(by_case.values()))

    def _find_others(self, key: tuple[str, str], part: Pattern) -> list[tuple[str, str]]:
        """The variants of other cases whose graphs have the pattern."""
        if key not in self._others:
            self._others[key] = [
                other for other, whole in self._working.items() if other[0] != key[0] and is_part_of(part, whole)
            ]
        return self._others[key]

    @cached_property
    def _inside(self) -> list[tuple[str, str]]:
        """The variants whose graphs lie in the model."""
        return [key for key, part in self._working.items() if part.ops and is_part_of(part, self._model)]

    @cached_property
    def _working(self) -> dict[Key, Pattern]:
        """The graphs of what works where the model comes from; on the runtime installed there, where nothing does on
        the one that is named: the model was written all the same.
        """
        return self._working_at(self._source) or self._working_at(replace(self._source, on=None))

    def _working_at(self, source: Point) -> dict[Key, Pattern]:
        return {key: part for key, part in self._written.items() if is_working(self._status(*key, source))}

    @cached_property
    def _written(self) -> dict[Key, Pattern]:
        """The graphs that the release and exporter of the model wrote, of each variant that at the highest opset."""
        return _read_patterns(self._known, self._source, make_pattern)


def _is_telling(part: Pattern) -> bool:
    """Return whether operators are evidence of wrong values.

    A single one is none: its attributes are in no published graph. Sums and products are none: they are in every model.
    """
    return len(part.ops) > 1 and not _SUMS.issuperset(part.ops)


def _find_other_wrong(
    case: str,
    part: Pattern,
    parts: Mapping[tuple[str, str], Pattern],
    ended: Mapping[tuple[str, str], Status | None],
) -> dict[str, bool]:
    """The other cases with a pattern whose files run: whether one of a case's files gives wrong values."""
    found: dict[str, bool] = {}
    for key, status in ended.items():
        runs = status is Status.MISMATCH or is_working(status)
        if key[0] != case and runs and is_part_of(part, parts[key]):
            found[key[0]] = found.get(key[0], False) or status is Status.MISMATCH
    return found


def find_failing_by_call(views: Views, failing: set[str], target: Point) -> set[str]:
    """Return the cases that fail by how export is called: an export option works with the same exporter and opset."""
    rows = views.fetch(
        f"""SELECT DISTINCT "case" FROM cells JOIN variants v USING ("case", variant)
            WHERE v.kind = $1 AND "case" IN {sql.listed(sorted(failing))} AND works(status)
                AND (profile, torch, exporter) = ($2, $3, $4) AND opset IS NOT DISTINCT FROM $5
                AND (exporter_effective, opset_effective) IS NOT DISTINCT FROM ($4, $5)""",
        [_OPTION, views.dataset.profile, target.torch, target.exporter, target.opset],
    )
    return {case for (case,) in rows}


def _read_patterns(known: Inventory, source: Point, read: Callable[[Graph], Pattern]) -> dict[Key, Pattern]:
    """By case and variant: the pattern of its file, as far as it was kept and is small enough to draw; read once."""
    key = f"{read.__name__} {source.torch} {source.exporter}"
    if key not in known.dataset.cache:
        found = read_graphs(known, source.torch, source.exporter)
        known.dataset.cache[key] = {name: read(graph) for name, graph in found.items()}
    kept: dict[Key, Pattern] = known.dataset.cache[key]
    return kept


def read_graphs(known: Inventory, torch: str, exporter: str) -> dict[Key, Graph]:
    """By case and variant: the graph of its file, of each variant that at the highest opset."""
    files = known.views.fetch(
        """SELECT "case", variant, arg_max(bundle, (coalesce(opset, 0), bundle)) FROM cells
            WHERE (profile, torch, exporter) = ($1, $2, $3) AND bundle IS NOT NULL GROUP BY ALL""",
        [known.dataset.profile, torch, exporter],
    )
    rows = known.dataset.records("graphs", {"bundle": {bundle for _, _, bundle in files}})
    drawn = {row["bundle"]: Graph.from_json(row["graph"]) for row in rows}
    return {
        (case, variant): drawn[bundle]
        for case, variant, bundle in files
        if bundle in drawn and _has_model_graph(known.catalogue.get((case, variant)))
    }


def _has_model_graph(entry: CatalogueEntry | None) -> bool:
    return entry is not None and entry.corpus != CANARY and entry.kind not in _OTHER_POINT


def _choose_verdict(
    equal: list[Status], touches: tuple[Touch, ...], may: tuple[Touch, ...], compared: int, inside: int
) -> TouchVerdict:
    """Return the verdict: rows of the same graph come first; few cases without a failure are no answer."""
    failing = [status for status in equal if not is_working(status)]
    if not compared:
        return TouchVerdict.NOT_KNOWN
    if equal and len(failing) == len(equal):
        return TouchVerdict.FAILS
    if touches or (failing and len(failing) >= _TOUCHES * len(equal)):
        return TouchVerdict.TOUCHED
    if failing or (may and not equal):
        return TouchVerdict.MAY_BE_TOUCHED
    if equal:
        return TouchVerdict.WORKS
    return TouchVerdict.NOT_TOUCHED if inside >= ENOUGH else TouchVerdict.NOT_ENOUGH


def _rank_touches(found: Iterable[Touch]) -> tuple[Touch, ...]:
    """Return one for each case, its original before its workarounds; the strongest evidence first."""
    ranked = sorted(found, key=lambda touch: (touch.variant != PLAIN, -touch.share, touch.case))
    first = {touch.case: touch for touch in reversed(ranked)}
    return tuple(sorted(first.values(), key=lambda touch: (-touch.share, -touch.beside, touch.case)))
