"""Is a model ever said to be untouched by known failures, and fails? And how often is it warned of in vain?

``python benchmarks/models/all_clears.py [--models 600] [--parts 1] [--seed 20]``

The models are files of the corpus: the graph of a variant as one release and exporter wrote it, of variants that work
there. Each is asked about at a release that is drawn, with an exporter that is drawn, at the same opset where that was
measured. The row at the target tells the truth. ``--parts 4`` puts the graphs of four variants into one model, which
fails where one of them does: no case has the whole graph, so that only patterns can tell. What fails by how export is
called, and not by its model, is left out.

Each model is asked about twice: as the dataset is, and with every row of its own cases hidden, as for a model that the
corpus does not know. What fails only there for a reason that no other case shows can then not be told.

all clear  said to work, or that no known failure touches it; those that fail at the target are false
warned     known failures touch it, or may, or a case with the same graph fails
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers.inventory import Inventory
from caniexport.answers.moves import Moves
from caniexport.answers.point import Point, Points
from caniexport.answers.samples import Samples
from caniexport.answers.scope import Scope
from caniexport.answers.touching import TouchJudge, TouchVerdict, find_failing_by_call, read_graphs
from caniexport.corpus.verdicts import is_working
from caniexport.model.status import Exporter, Status
from caniexport.store import Dataset
from caniexport.store.onnx_graph import Graph, Node

ROOT = Path(__file__).resolve().parents[2]
_EXPORTERS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_CLEAR = (TouchVerdict.WORKS, TouchVerdict.NOT_TOUCHED)
#: older releases know few opsets, and nobody comes from there
_OLDEST = "1.8"


@dataclass(frozen=True)
class Model:
    """Variants whose graphs make a model, where it comes from and goes to, and whether it fails there."""

    keys: tuple[tuple[str, str], ...]
    graph: Graph
    source: Point
    target: Point
    fails: bool


def joined(graphs: Iterable[Graph]) -> Graph:
    """Several graphs beside each other as one."""
    parts = [_renamed(graph, f"{number}/") for number, graph in enumerate(graphs)]
    return Graph(
        tuple(node for part in parts for node in part.nodes),
        tuple(name for part in parts for name in part.inputs),
        tuple(name for part in parts for name in part.outputs),
        {name: kind for part in parts for name, kind in part.types.items()},
    )


def _renamed(graph: Graph, prefix: str) -> Graph:
    def names(found: Iterable[str]) -> tuple[str, ...]:
        return tuple(prefix + name for name in found)

    nodes = (Node(node.op, names(node.inputs), names(node.outputs), node.constants) for node in graph.nodes)
    types = {prefix + name: kind for name, kind in graph.types.items()}
    return Graph(tuple(nodes), names(graph.inputs), names(graph.outputs), types)


class Drawer:
    """Draws models of the corpus and targets for them."""

    def __init__(self, known: Inventory, points: Points, statuses: Moves, seed: int) -> None:
        self._known = known
        self._points = points
        self._statuses = statuses
        self._random = random.Random(seed)
        self._sources = [torch for torch in known.torch if versions.parse(torch) >= versions.parse(_OLDEST)]

    def draw(self, parts: int) -> Model | None:
        """A model; ``None`` where what was drawn was not measured at the target."""
        source = self._place(self._random.choice(self._sources), self._random.choice(_EXPORTERS))
        graphs = read_graphs(self._known, source.torch, source.exporter)
        working = [key for key in graphs if is_working(self._statuses.status(*key, source))]
        if len(working) < parts:
            return None
        keys = tuple(self._random.sample(working, parts))
        newer = [torch for torch in self._known.torch if versions.parse(torch) >= versions.parse(source.torch)]
        target = self._place(self._random.choice(newer), self._random.choice(_EXPORTERS), source.opset)
        ends = [self._ended(key, target) for key in keys]
        if None in ends or find_failing_by_call(self._known.views, {case for case, _ in keys}, target):
            return None
        return Model(keys, joined(graphs[key] for key in keys), source, target, not all(ends))

    def _place(self, torch: str, exporter: str, opset: int | None = None) -> Point:
        query = "SELECT opset FROM call WHERE (profile, torch, exporter) = ($1, $2, $3)"
        rows = self._known.views.fetch(query, [self._known.dataset.profile, torch, exporter])
        offered = [number for (number,) in rows]
        if not offered:
            return self._place(torch, Exporter.TRACE.value, opset)
        asked = opset if opset in offered else self._random.choice(offered)
        return self._points.find({"torch": torch, "exporter": exporter, "opset": str(asked)})[0]

    def _ended(self, key: tuple[str, str], target: Point) -> bool | None:
        status = self._statuses.status(*key, target)
        return None if status is Status.UNSUPPORTED else is_working(status)


def judged(known: Inventory, statuses: Moves, model: Model, samples: Samples, *, hidden: bool) -> TouchVerdict:
    """What is said of a model, with the rows of its own cases or without; an operator of which nothing is known is told
    in the first line, and so is another exporter than the file's: no all-clear.
    """
    own = {case for case, _ in model.keys} if hidden else set()

    def status(case: str, variant: str, place: Point) -> Status | None:
        return None if case in own else statuses.status(case, variant, place)

    found = TouchJudge(known, model.graph, model.source, status, samples).at(model.target)
    return TouchVerdict.NOT_KNOWN if found.word in _CLEAR and not found.is_seen else found.word


def told(words: Counter[tuple[TouchVerdict, bool]]) -> Iterable[str]:
    """The counts, and what they come to."""
    for word in TouchVerdict:
        if words[word, True] or words[word, False]:
            yield f"  {word.value:30} {words[word, False]:5} work {words[word, True]:5} fail"
    clear = sum(words[word, fails] for word in _CLEAR for fails in (True, False))
    false = sum(words[word, True] for word in _CLEAR)
    yield f"  all clears: {clear}, false: {false} ({false / max(clear, 1):.1%})"
    for name, taken in (
        ("touched", (TouchVerdict.TOUCHED, TouchVerdict.FAILS)),
        ("may be", (TouchVerdict.MAY_BE_TOUCHED,)),
    ):
        right, vain = (sum(words[word, fails] for word in taken) for fails in (True, False))
        yield f"  warned, {name}: {right + vain}, in vain: {vain} ({vain / max(right + vain, 1):.0%})"


def measured(models: int, parts: int, seed: int) -> dict[bool, Counter[tuple[TouchVerdict, bool]]]:
    """By whether own rows are hidden: how often each word was said of models that fail and that do not."""
    dataset = Dataset.open(ROOT / "results", None)
    known, samples = Inventory.of(dataset), Samples.of(dataset)
    points = Points(dataset)
    statuses = Moves(points.views, points.find({})[0], [], Scope())
    drawer = Drawer(known, points, statuses, seed)
    found: dict[bool, Counter[tuple[TouchVerdict, bool]]] = defaultdict(Counter)
    while sum(found[False].values()) < models:
        model = drawer.draw(parts)
        if model is None:
            continue
        for hidden in (False, True):
            word = judged(known, statuses, model, samples, hidden=hidden)
            found[hidden][word, model.fails] += 1
            if model.fails and word in _CLEAR:
                print("false, hidden:" if hidden else "false:", model.keys, model.source.text, "→", model.target.text)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts. 1 where a model that the corpus has is given a false all-clear."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=600)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20)
    asked = parser.parse_args(arguments)
    begun = time.perf_counter()
    found = measured(asked.models, asked.parts, asked.seed)
    for hidden, words in found.items():
        print(f"{asked.models} models of {asked.parts}, {'own rows hidden' if hidden else 'the dataset as it is'}:")
        print("\n".join(told(words)))
    print(f"{time.perf_counter() - begun:.0f} s")
    return int(any(found[False][word, True] for word in _CLEAR))


if __name__ == "__main__":
    raise SystemExit(main())
