"""What a model file is made of: its opset and its operators, read without the onnx package."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple

from caniexport.runner import wire

#: field numbers of ``onnx.proto``
_GRAPH, _OPSET_IMPORT, _FUNCTIONS = 7, 8, 25
_DOMAIN, _VERSION = 1, 2
_GRAPH_NODE, _FUNCTION_NODE = 1, 7
_OP_TYPE, _ATTRIBUTE = 4, 5
_SUBGRAPH, _SUBGRAPHS = 6, 11
_OWN_DOMAINS = ("", "ai.onnx")


class Contents(NamedTuple):
    """``opset`` is that of the standard operators, 0 where a file names none; ``ops`` are sorted, each once."""

    opset: int
    ops: List[str]


def read_contents(model: bytes) -> Contents:
    """What a serialised model has, subgraphs and functions included; nothing of bytes that are no model."""
    try:
        found = wire.group_fields(model)
        nodes = [node for _, graph in found.get(_GRAPH, []) for node in _walk_nodes(graph, _GRAPH_NODE)]
        nodes += [node for _, function in found.get(_FUNCTIONS, []) for node in _walk_nodes(function, _FUNCTION_NODE)]
        return Contents(max(_read_opsets(found.get(_OPSET_IMPORT, [])), default=0), sorted(set(nodes)))
    except wire.Malformed:
        return Contents(0, [])


def _walk_nodes(message: wire.Value, field: int) -> Iterator[str]:
    """The operators of a graph or of a function, by its field of nodes."""
    for _, data in wire.group_fields(_require_bytes(message)).get(field, []):
        node = wire.group_fields(_require_bytes(data))
        yield _decode(node.get(_OP_TYPE, []))
        for _, attribute in node.get(_ATTRIBUTE, []):
            parts = wire.group_fields(_require_bytes(attribute))
            for _, graph in [*parts.get(_SUBGRAPH, []), *parts.get(_SUBGRAPHS, [])]:
                for name in _walk_nodes(graph, _GRAPH_NODE):
                    yield name


def _read_opsets(imports: List[Tuple[int, wire.Value]]) -> Iterator[int]:
    for _, data in imports:
        fields = wire.group_fields(_require_bytes(data))
        if _decode(fields.get(_DOMAIN, [])) in _OWN_DOMAINS:
            for number in wire.read_integers(fields.get(_VERSION, [])):
                yield number


def _require_bytes(value: wire.Value) -> bytes:
    if isinstance(value, int):
        raise wire.Malformed("a number where a message is wanted")
    return bytes(value)


def _decode(found: List[Tuple[int, wire.Value]]) -> str:
    return wire.join_parts(found).decode("utf-8", "replace")
