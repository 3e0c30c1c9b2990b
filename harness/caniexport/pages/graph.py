"""A small ONNX graph as a picture (SVG): operators as boxes in layers, values as lines, types if the file has them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from caniexport.names import plural
from caniexport.pages.render import render
from caniexport.store.onnx_graph import Graph

_HEIGHT, _GAP_X, _GAP_Y, _LETTER, _PAD = 40, 26, 34, 7.4, 22
#: longest text in a box
_WIDEST = 34


@dataclass(frozen=True)
class _Box:
    """A place of the picture: its two lines, whether it is an input or output of the file, its centre and width."""

    name: str
    lines: tuple[str, str]
    edge: bool
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Drawing:
    """A graph as an SVG document, its size, and its operators in words."""

    svg: str
    width: int
    height: int
    description: str

    @property
    def encoded(self) -> str:
        """The document as a part of an address of its own."""
        return b64encode(self.svg.encode()).decode()


def draw_graph(graph: Graph) -> Drawing:
    """The graph drawn from top to bottom."""
    boxes, width, height = _placed(graph, _layers(graph))
    by_name = {box.name: box for box in boxes}
    lines = [(by_name[source], by_name[target]) for source, target in _edges(graph)]
    size = round(width), round(height)
    svg = render("graph.svg", boxes=boxes, lines=lines, width=size[0], height=size[1], box_height=_HEIGHT)
    description = f"{plural(len(graph.nodes), 'operator')}: {', '.join(node.op for node in graph.nodes)}"
    return Drawing(svg, *size, description)


def _producers(graph: Graph) -> dict[str, str]:
    """By value: the place that writes it."""
    found = {name: f"in {name}" for name in graph.inputs}
    for index, node in enumerate(graph.nodes):
        found.update(dict.fromkeys(node.outputs, f"node {index}"))
    return found


def _edges(graph: Graph) -> list[tuple[str, str]]:
    written = _producers(graph)
    found = [
        (written[name], f"node {index}")
        for index, node in enumerate(graph.nodes)
        for name in node.inputs
        if name in written
    ]
    found += [(written[name], f"out {name}") for name in graph.outputs if name in written]
    return list(dict.fromkeys(found))


def _layers(graph: Graph) -> list[list[str]]:
    """Places by depth: each below everything that it reads. The nodes of a file stand in an order that allows it."""
    written = _producers(graph)
    depth = {f"in {name}": 0 for name in graph.inputs}
    for index, node in enumerate(graph.nodes):
        above = [depth.get(written[name], 0) for name in node.inputs if name in written]
        depth[f"node {index}"] = 1 + max(above, default=0)
    last = max(depth.values(), default=0) + 1
    depth.update({f"out {name}": last for name in graph.outputs})
    found: list[list[str]] = [[] for _ in range(last + 1)]
    for name, level in depth.items():
        found[level].append(name)
    return _untangled([layer for layer in found if layer], _edges(graph))


def _untangled(layers: Sequence[list[str]], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Each layer in the order of the middle of what it reads: fewer lines cross."""
    place: dict[str, float] = {}
    found = []
    for layer in layers:

        def middle(name: str) -> float:
            above = [place[source] for source, target in edges if target == name and source in place]
            return sum(above) / len(above) if above else 0.5

        ordered = sorted(layer, key=middle)
        place.update({name: (index + 0.5) / len(ordered) for index, name in enumerate(ordered)})
        found.append(ordered)
    return found


def _placed(graph: Graph, layers: Sequence[Sequence[str]]) -> tuple[list[_Box], float, float]:
    texts = _texts(graph)
    widths = {
        name: max(64.0, max(len(top) * _LETTER * 1.05, len(kind) * _LETTER * 0.85) + _PAD)
        for name, (top, kind) in texts.items()
    }
    spans = [sum(widths[name] for name in layer) + _GAP_X * (len(layer) - 1) for layer in layers]
    whole = max(spans, default=0) + 2 * _GAP_X
    boxes = []
    for level, (layer, span) in enumerate(zip(layers, spans, strict=True)):
        left = (whole - span) / 2
        y = _GAP_Y / 2 + level * (_HEIGHT + _GAP_Y) + _HEIGHT / 2
        for name in layer:
            edge = not name.startswith("node ")
            boxes.append(_Box(name, texts[name], edge, left + widths[name] / 2, y, widths[name]))
            left += widths[name] + _GAP_X
    return boxes, whole, len(layers) * (_HEIGHT + _GAP_Y)


def _texts(graph: Graph) -> dict[str, tuple[str, str]]:
    """By place: the operator or the value's name, and the type of what it writes."""
    found: dict[str, tuple[str, str]] = {}
    for prefix, names in (("in", graph.inputs), ("out", graph.outputs)):
        found.update({f"{prefix} {name}": (_cut(name), _cut(graph.types.get(name, ""))) for name in names})
    for index, node in enumerate(graph.nodes):
        kinds = ", ".join(graph.types[name] for name in node.outputs if name in graph.types)
        constants = f"+ {plural(node.constants, 'constant')}" if node.constants else ""
        found[f"node {index}"] = (_cut(node.op), _cut(kinds or constants))
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
