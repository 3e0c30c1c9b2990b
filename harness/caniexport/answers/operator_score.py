"""What a release's exporters come to over all operators: the share of their calls that pass.

Operators count alike, or by the number of models that call them (``cases/operators/used.json``).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from caniexport import versions
from caniexport.answers.operator_grid import OF_TOLD
from caniexport.answers.torch_operators import TOLD, OperatorsSummary
from caniexport.operators import operator_key

#: written by ``benchmarks/models/count_operators.py``
_USED = "used.json"
#: of each operator in the dtype that it is told by, the calls at the newest opset that was asked
_NEWEST = (
    f"{OF_TOLD} SELECT torch, exporter, op, max(opset), arg_max(passing, opset), arg_max(calls, opset) "
    "FROM plain JOIN told USING (op, place) WHERE calls > 0 GROUP BY torch, exporter, op"
)
#: operators whose calls some release writes as their input alone: in a model they are never the whole file
_NOTHING = "SELECT DISTINCT op FROM {} WHERE form IS NULL AND calls = passing AND ops IN ('', 'Identity')"


class UsedOperators(NamedTuple):
    """In how many of some models each operator is called, by the key of its name."""

    models: int
    operators: dict[str, int]

    def key(self, op: str) -> str:
        """The operator that an entry of torch's database is about; empty for one that no model calls."""
        keys = (operator_key(name) for name in (op, op.rpartition(".")[0]))
        return next((key for key in keys if key in self.operators), "")


class OperatorShare(NamedTuple):
    """Which share of an operator's calls passes at an opset; ``key`` as models call it, empty where none does."""

    key: str
    opset: int
    share: float


@dataclass(frozen=True)
class ReleaseScore:
    """The calls of a release by an exporter, of each operator at the newest opset that was asked.

    opset     the newest of these
    share     the mean of the operators' shares of calls that pass, in per cent
    used      the operators among them that models call, without those that give back their input
    by_use    the mean of their shares, each as often as models call it, in per cent; ``None`` where none was measured
    """

    torch: str
    exporter: str
    opset: int
    operators: int
    share: float
    used: int
    by_use: float | None


def read_used(cases: Path) -> UsedOperators:
    """How many models call each operator, from a corpus's folder."""
    told = json.loads((cases / _USED).read_text(encoding="utf-8"))
    return UsedOperators(told["models"], told["operators"])


def scores(summary: OperatorsSummary, used: UsedOperators) -> list[ReleaseScore]:
    """The scores of each release and exporter, oldest release first."""
    nothing = {op for (op,) in summary.fetch(_NOTHING)}
    found: dict[tuple[str, str], list[OperatorShare]] = defaultdict(list)
    for torch, exporter, op, opset, passing, calls in summary.fetch(_NEWEST, [list(TOLD)]):
        key = "" if op in nothing else used.key(op)
        found[torch, exporter].append(OperatorShare(key, opset, passing / calls))
    made = [_score(*place, own, used) for place, own in found.items()]
    return sorted(made, key=lambda score: (versions.parse(score.torch), score.exporter))


def _score(torch: str, exporter: str, ends: Sequence[OperatorShare], used: UsedOperators) -> ReleaseScore:
    of_models: dict[str, list[float]] = defaultdict(list)
    for end in ends:
        if end.key:
            of_models[end.key].append(end.share)
    weights = {key: used.operators[key] for key in of_models}
    weighted = sum(weights[key] * mean(shares) for key, shares in of_models.items())
    return ReleaseScore(
        torch,
        exporter,
        opset=max(end.opset for end in ends),
        operators=len(ends),
        share=round(100 * mean(end.share for end in ends), 1),
        used=len(weights),
        by_use=round(100 * weighted / sum(weights.values()), 1) if weights else None,
    )
