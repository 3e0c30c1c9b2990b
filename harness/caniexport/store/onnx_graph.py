"""The main graph of an ONNX file, small enough to draw, read from the protobuf bytes of a bundle.

Only the fields that a picture needs are read (onnx.proto3: ModelProto.graph = 7; GraphProto.node = 1, initializer = 5,
input = 11, output = 12, value_info = 13), so that answering questions needs no onnx package of some version.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from caniexport.model.errors import StoreError
from caniexport.runner import wire

#: graphs with more nodes than these are not drawn
MOST_NODES = 40
_TYPES = {
    **{1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "str", 9: "bool", 10: "f16", 11: "f64"},
    **{12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16"},
}
#: a message by field number: wire types and values
_Fields = dict[int, list[tuple[int, wire.Value]]]


@dataclass(frozen=True)
class Node:
    """One operator with the values that it reads and writes, by name; constants are counted, not named."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: int


@dataclass(frozen=True)
class Graph:
    """A main graph. ``types`` are like ``f32[2,batch,4]``, by value, as far as the file says them."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: dict[str, str]

    def to_json(self) -> str:
        """As one line of text."""
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """What :meth:`to_json` wrote. Raises :class:`StoreError` for anything else."""
        try:
            data = json.loads(text)
            nodes = [
                Node(str(item["op"]), tuple(item["inputs"]), tuple(item["outputs"]), int(item["constants"]))
                for item in data["nodes"]
            ]
            return cls(tuple(nodes), tuple(data["inputs"]), tuple(data["outputs"]), dict(data["types"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"not the text of a graph: {error}") from error


def parse_model(content: bytes) -> Graph | None:
    """The graph of an ONNX file's bytes; ``None`` where it has more than :data:`MOST_NODES` nodes.

    Raises :class:`StoreError` where they are no such file.
    """
    try:
        graph = wire.group_fields(_one(wire.group_fields(content), 7))
        nodes = [wire.group_fields(item) for item in _nested(graph, 1)]
        constants = {_text(tensor, 8) for tensor in map(wire.group_fields, _nested(graph, 5))}
        written = [node for node in nodes if _text(node, 4) != "Constant"]
        constants |= {_string(name) for node in nodes if _text(node, 4) == "Constant" for name in _nested(node, 2)}
        if len(written) > MOST_NODES:
            return None
        values = [named_type(item) for number in (11, 13, 12) for item in _nested(graph, number)]
        return Graph(
            tuple(_node(node, constants) for node in written),
            tuple(name for name, _ in map(named_type, _nested(graph, 11)) if name not in constants),
            tuple(name for name, _ in map(named_type, _nested(graph, 12))),
            {name: kind for name, kind in values if kind and name not in constants},
        )
    except ValueError as error:
        raise StoreError(f"not an ONNX file: {error}") from error


def _node(node: _Fields, constants: set[str]) -> Node:
    domain, op = _text(node, 7), _text(node, 4)
    inputs = [_string(name) for name in _nested(node, 1)]
    name = op if domain in ("", "ai.onnx") else f"{domain}::{op}"
    read = tuple(item for item in inputs if item and item not in constants)
    outputs = tuple(filter(None, (_string(item) for item in _nested(node, 2))))
    return Node(name, read, outputs, sum(item in constants for item in inputs))


def named_type(content: bytes) -> tuple[str, str]:
    """Name and type of a ValueInfoProto; the type is empty where it is none that a picture names."""
    value = wire.group_fields(content)
    kind = wire.group_fields(_one(wire.group_fields(_one(value, 2)), 1))
    number = kind.get(1, [(0, 0)])[0][1]
    if not isinstance(number, int) or number not in _TYPES:
        return _text(value, 1), ""
    if 2 not in kind:
        return _text(value, 1), _TYPES[number]
    sizes = [_size(wire.group_fields(item)) for item in _nested(wire.group_fields(_one(kind, 2)), 1)]
    return _text(value, 1), f"{_TYPES[number]}[{','.join(sizes)}]"


def _size(dimension: _Fields) -> str:
    value = dimension.get(1, [(0, b"")])[0][1]
    return str(value) if isinstance(value, int) else _text(dimension, 2) or "?"


def _nested(fields: _Fields, number: int) -> list[bytes]:
    return [item for _, item in fields.get(number, ()) if isinstance(item, bytes)]


def _one(fields: _Fields, number: int) -> bytes:
    found = _nested(fields, number)
    return found[-1] if found else b""


def _string(content: bytes) -> str:
    return content.decode("utf-8")


def _text(fields: _Fields, number: int) -> str:
    return _string(_one(fields, number))
