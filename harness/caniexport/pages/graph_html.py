"""A small ONNX graph as a picture (SVG): operators as boxes in layers, values as lines, types where the file tells."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from caniexport.pages.markup import escape, plural
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


#: the picture stands in a document of its own, so it brings its colours along, for light and dark
_STYLE = """text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1d2429}.kind{font-size:11px;fill:#5b666d}
rect{stroke:#8b969c;fill:#eef1f0}.op rect{fill:#d7e8f7;stroke:#6f9fc4}path{fill:none;stroke:#8b969c;stroke-width:1.3}
@media (prefers-color-scheme:dark){text{fill:#e4e8e9}.kind{fill:#a0abb1}rect{stroke:#68747b;fill:#1d2429}
.op rect{fill:#15354f;stroke:#3d6f95}path{stroke:#68747b}}"""


def picture(graph: Graph) -> str:
    """The graph drawn from top to bottom, as an image; its operators are also said in words."""
    content = base64.b64encode(drawing(graph).encode("utf-8")).decode("ascii")
    return (
        '<div class="scroll whole graph" tabindex="0" role="region" aria-label="The exported graph">'
        f'<img src="data:image/svg+xml;base64,{content}" alt="{escape(said(graph))}"></div>'
    )


def said(graph: Graph) -> str:
    """A graph in words, for who does not see its picture."""
    return f"{plural(len(graph.nodes), 'operator')}: {', '.join(node.op for node in graph.nodes)}"


def drawing(graph: Graph) -> str:
    """The graph as an SVG document."""
    layers = _layers(graph)
    boxes, width, height = _placed(graph, layers)
    by_name = {box.name: box for box in boxes}
    lines = "".join(_line(by_name[source], by_name[target]) for source, target in _edges(graph))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>{lines}{"".join(map(_drawn, boxes))}</svg>'
    )


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
    widths = {name: _width(texts[name]) for layer in layers for name in layer}
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


def _width(lines: tuple[str, str]) -> float:
    return max(64.0, max(len(lines[0]) * _LETTER * 1.05, len(lines[1]) * _LETTER * 0.85) + _PAD)


def _line(source: _Box, target: _Box) -> str:
    top, bottom = source.y + _HEIGHT / 2, target.y - _HEIGHT / 2
    middle = (top + bottom) / 2
    bend = f"{source.x:.1f} {middle:.1f} {target.x:.1f} {middle:.1f}"
    return f'<path d="M{source.x:.1f} {top:.1f} C{bend} {target.x:.1f} {bottom:.1f}"></path>'


def _drawn(box: _Box) -> str:
    first, second = box.lines
    left, top = box.x - box.width / 2, box.y - _HEIGHT / 2
    shift = -3 if second else 5
    below = f'<text class="kind" x="{box.x:.1f}" y="{box.y + 13:.1f}">{escape(second)}</text>' if second else ""
    return (
        f'<g class="{"edge" if box.edge else "op"}"><rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="{_HEIGHT / 2 if box.edge else 5}"></rect>'
        f'<text x="{box.x:.1f}" y="{box.y + shift:.1f}">{escape(first)}</text>{below}</g>'
    )
