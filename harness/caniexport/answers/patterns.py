"""Graphs as patterns of operators, edges and types; and whether one pattern is part of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from caniexport.store.onnx_graph import Graph, Node

#: nodes that are tried before a pattern counts as found: a needless warning costs less than a missing one
_MOST_TRIED = 20_000
#: operators that move values and compute none
_MOVES = frozenset({"Concat", "Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
_SIZES = frozenset({"Shape", "Size"})
#: operators whose result has the type of what they read first
_SAME_TYPE = _MOVES | {"Add", "Div", "Gather", "Mod", "Mul", "Neg", "Slice", "Sub"}


@dataclass(frozen=True)
class Pattern:
    """A graph without names: operators by number, who reads from whom, the types each reads (empty: not known).

    ``reads`` counts the values that each reads and that are no constants: a computed size differs from a fixed one.
    ``is_dynamic``: whether a graph's input has an axis without a fixed size. ``shape`` is the same for equal graphs.
    """

    ops: tuple[str, ...]
    edges: frozenset[tuple[int, int]]
    types: tuple[frozenset[str], ...]
    reads: tuple[int, ...]
    is_dynamic: bool
    shape: tuple[object, ...]

    @cached_property
    def places(self) -> Mapping[str, tuple[int, ...]]:
        """By operator: its nodes."""
        found: dict[str, list[int]] = defaultdict(list)
        for node, op in enumerate(self.ops):
            found[op].append(node)
        return {op: tuple(nodes) for op, nodes in found.items()}

    @cached_property
    def before(self) -> Mapping[int, frozenset[int]]:
        """By node: those it reads from."""
        return _group_pairs((after, before) for before, after in self.edges)

    @cached_property
    def after(self) -> Mapping[int, frozenset[int]]:
        """By node: those that read from it."""
        return _group_pairs(self.edges)


def _group_pairs(pairs: Iterable[tuple[int, int]]) -> Mapping[int, frozenset[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
    return {node: frozenset(others) for node, others in found.items()}


def make_pattern(graph: Graph) -> Pattern:
    """Return the pattern of a graph."""
    writers = {name: place for place, node in enumerate(graph.nodes) for name in node.outputs}
    return Pattern(
        tuple(node.op for node in graph.nodes),
        frozenset(
            (writers[name], place) for place, node in enumerate(graph.nodes) for name in node.inputs if name in writers
        ),
        tuple(_read_types(graph.types, node.inputs) for node in graph.nodes),
        tuple(len(node.inputs) for node in graph.nodes),
        any(not size.isdigit() for name in graph.inputs for size in _axis_sizes(graph.types.get(name, ""))),
        _describe_shape(graph),
    )


def make_value_pattern(graph: Graph) -> Pattern:
    """Return the pattern of operators that compute values, without arithmetic of sizes and moves of values.

    Whether an operand is computed or constant makes no difference to it, nor whether an axis varies.
    """
    sized = _find_size_values(graph)
    nodes: list[Node] = []
    edges: set[tuple[int, int]] = set()
    writers: dict[str, frozenset[int]] = {}
    for node in graph.nodes:
        if sized.issuperset(node.outputs):
            continue
        before = frozenset[int]().union(*(writers.get(name, ()) for name in node.inputs))
        if node.op not in _MOVES:
            edges |= {(writer, len(nodes)) for writer in before}
            before = frozenset({len(nodes)})
            nodes.append(node)
        writers |= dict.fromkeys(node.outputs, before)
    known = _infer_types(graph)
    types = tuple(_read_types(known, filter(known.get, node.inputs)) for node in nodes)
    return Pattern(tuple(node.op for node in nodes), frozenset(edges), types, (0,) * len(nodes), False, ())


def _infer_types(graph: Graph) -> dict[str, str]:
    """Return the types in the file and those that follow from them: some exporters write none within a graph."""
    known = dict(graph.types)
    for node in graph.nodes:
        if node.op in _SAME_TYPE and node.inputs and node.inputs[0] in known:
            known |= {name: known[node.inputs[0]] for name in node.outputs if name not in known}
    return known


def _find_size_values(graph: Graph) -> set[str]:
    """The values that follow from sizes and constants alone."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.op in _SIZES or found.issuperset(node.inputs):
            found.update(node.outputs)
    return found


def _read_types(types: Mapping[str, str], inputs: Iterable[str]) -> frozenset[str]:
    """The element types that a node reads; none where one of them is not known."""
    found = [types.get(name, "").partition("[")[0] for name in inputs]
    return frozenset(found) if all(found) else frozenset()


def _axis_sizes(kind: str) -> list[str]:
    inner = kind.partition("[")[2].removesuffix("]")
    return inner.split(",") if inner else []


def _describe_shape(graph: Graph) -> tuple[object, ...]:
    """The same for graphs that differ in the names of values and axes alone."""
    numbers: dict[str, int] = {}

    def number(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(numbers.setdefault(name, len(numbers)) for name in names)

    kinds = [graph.types.get(name, "") for name in graph.inputs]
    inputs = [
        (kind.partition("[")[0], *(size if size.isdigit() else "?" for size in _axis_sizes(kind))) for kind in kinds
    ]
    places = number(graph.inputs)
    nodes = [(node.op, number(node.inputs), number(node.outputs), node.constants) for node in graph.nodes]
    return (places, *inputs, *nodes, number(graph.outputs))


def is_part_of(part: Pattern, whole: Pattern) -> bool:
    """Return whether all of a pattern is found in another, with its types and, if it has one, an axis that varies."""
    if part.is_dynamic and not whole.is_dynamic:
        return False
    if any(len(places) > len(whole.places.get(op, ())) for op, places in part.places.items()):
        return False
    return _Search(part, whole).found()


class _Search:
    """One pattern, placed into another node by node, the rarest first and then its neighbors."""

    def __init__(self, part: Pattern, whole: Pattern) -> None:
        self._part, self._whole = part, whole
        self._order_nodes = _order_nodes(part, whole)
        self._placed: dict[int, int] = {}
        self._tried = 0

    def found(self) -> bool:
        if len(self._placed) == len(self._order_nodes):
            return True
        node = self._order_nodes[len(self._placed)]
        for place in self._candidates(node):
            self._tried += 1
            if self._tried > _MOST_TRIED:
                return True
            if place in self._placed.values() or not self._fits(node, place):
                continue
            self._placed[node] = place
            if self.found():
                return True
            del self._placed[node]
        return False

    def _candidates(self, node: int) -> Iterable[int]:
        """The places that are joined as the node is with those that have a place."""
        nothing: frozenset[int] = frozenset()
        neighbors = [
            self._whole.after.get(self._placed[other], nothing)
            for other in self._part.before.get(node, nothing)
            if other in self._placed
        ] + [
            self._whole.before.get(self._placed[other], nothing)
            for other in self._part.after.get(node, nothing)
            if other in self._placed
        ]
        return sorted(frozenset.intersection(*neighbors)) if neighbors else self._whole.places[self._part.ops[node]]

    def _fits(self, node: int, place: int) -> bool:
        if self._part.ops[node] != self._whole.ops[place] or self._part.reads[node] > self._whole.reads[place]:
            return False
        wanted, there = self._part.types[node], self._whole.types[place]
        return not wanted or not there or bool(wanted & there)


def _order_nodes(part: Pattern, whole: Pattern) -> list[int]:
    """The nodes of a pattern: those with the fewest places first, and joined ones behind each other."""
    rank = {node: (len(whole.places[op]), node) for node, op in enumerate(part.ops)}
    left, order, neighbors = set(rank), [], set[int]()
    while left:
        node = min(left & neighbors or left, key=rank.__getitem__)
        order.append(node)
        left.discard(node)
        neighbors |= part.before.get(node, frozenset()) | part.after.get(node, frozenset())
    return order
