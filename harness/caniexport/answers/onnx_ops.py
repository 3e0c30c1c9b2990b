"""The operators of an ONNX file, read from its bytes, without the onnx package and without its weights in memory.

Only the fields that name operators and their edges are read (onnx.proto: ModelProto, GraphProto, NodeProto);
all others are skipped. The torch operators are those that the dynamo exporter leaves in its nodes' metadata.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from caniexport.model.errors import CaniexportError
from caniexport.model.status import Exporter
from caniexport.runner import wire
from caniexport.store.onnx_graph import Graph, Node, named_type

# field numbers of onnx.proto
_IR, _PRODUCER, _PRODUCER_VERSION, _GRAPH, _OPSETS, _FUNCTIONS = 1, 2, 3, 7, 8, 25
_NODE, _INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13
_FUNCTION_NODE = 7
_INPUT, _OUTPUT, _OP_TYPE, _ATTRIBUTE, _DOMAIN, _METADATA = 1, 2, 4, 5, 7, 9
_TENSOR_NAME = 8
_SUBGRAPH, _SUBGRAPHS = 6, 11
_EXTERNAL_DATA = 13
_KEY, _VALUE = 1, 2
_TORCH = re.compile(rb"torch\.ops\.aten\.(\w+)")
#: what only the dynamo exporter writes: domains of operators, and keys of nodes' metadata, that begin so
_DYNAMO = "pkg."
#: how deep subgraphs may lie in each other: a deeper file is refused
_DEEPEST = 100


class BadModel(CaniexportError):
    """A file that is no readable ONNX model."""


@dataclass(frozen=True)
class ModelOps:
    """What a model uses: ONNX operators (``GridSample``), torch operators (``aten::grid_sampler``) as far as the file
    names them, the opset of the ai.onnx domain, its IR version, who wrote it, and external data that is not in its
    folder.

    ``written_by`` is the version of ``producer``; ``exporter`` is torch's, empty where torch did not write the file (a
    scripted model's file looks like a traced one's); ``graph`` has the nodes of all subgraphs and functions too.
    """

    onnx: tuple[str, ...]
    torch: tuple[str, ...]
    opset: int | None
    producer: str
    missing: tuple[str, ...]
    written_by: str
    exporter: str
    graph: Graph
    ir_version: int | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Both kinds."""
        return (*self.onnx, *self.torch)


def read(path: Path) -> ModelOps:
    """Read the operators of a model. Raises :class:`BadModel` naming the file and what is wrong with it."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise BadModel(f"{path} is empty")
            # closed when nothing refers to it: an error that is being raised still does
            return _model(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), str(path), path.parent)
    except (OSError, ValueError) as error:
        raise BadModel(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error


def read_bytes(content: bytes, name: str) -> ModelOps:
    """Read the operators of a model in memory, called ``name``; external data is not looked for.

    Raises :class:`BadModel` as :func:`read` does.
    """
    if not content:
        raise BadModel(f"{name} is empty")
    return _model(memoryview(content), name, None)


def _model(data: memoryview, name: str, folder: Path | None) -> ModelOps:
    found = _SeenOps()
    try:
        return _walk(data, name, folder, found)
    except (ValueError, IndexError, RecursionError) as error:
        whole = "is truncated or damaged" if found.looks_like_onnx else "is not an ONNX file"
        raise BadModel(f"{name} {whole} ({error})") from error


def _walk(data: memoryview, name: str, folder: Path | None, found: _SeenOps) -> ModelOps:
    producer, written_by, opset, ir_version = "", "", None, None
    for field, value in _read_fields(data):
        if field == _IR and isinstance(value, int):
            found.looks_like_onnx, ir_version = True, value
        elif field == _PRODUCER and isinstance(value, memoryview):
            producer = bytes(value[:200]).decode("utf-8", "replace")
        elif field == _PRODUCER_VERSION and isinstance(value, memoryview):
            written_by = bytes(value[:200]).decode("utf-8", "replace")
        elif field == _OPSETS and isinstance(value, memoryview):
            domain, version = _read_opset(value)
            opset = version if domain in ("", "ai.onnx") else opset
            found.by_dynamo |= domain.startswith(_DYNAMO)
        elif field == _GRAPH and isinstance(value, memoryview):
            found.graphs += 1
            found.add_graph(value, 0)
        elif field == _FUNCTIONS and isinstance(value, memoryview):
            found.functions += 1
            found.add_nodes(value, _FUNCTION_NODE, 0)
    if not found.looks_like_onnx or not found.graphs:
        raise BadModel(f"{name} is not an ONNX file (no {'graph' if found.looks_like_onnx else 'IR version'} in it)")
    missing = sorted(item for item in found.external if folder is None or not (folder / item).is_file())
    by = Exporter.DYNAMO if found.by_dynamo else Exporter.TRACE
    return ModelOps(
        tuple(sorted(found.onnx)),
        tuple(sorted(found.torch)),
        opset,
        producer,
        tuple(missing),
        written_by,
        by.value if producer == "pytorch" else "",
        found.build_graph(),
        ir_version,
    )


class _SeenOps:
    """What has been seen so far."""

    def __init__(self) -> None:
        self.onnx: set[str] = set()
        self.torch: set[str] = set()
        self.external: set[str] = set()
        self.graphs = 0
        self.functions = 0
        self.looks_like_onnx = False
        self.by_dynamo = False
        self._nodes: list[tuple[str, list[str], list[str]]] = []
        self._constants: set[str] = set()
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._types: dict[str, str] = {}

    def build_graph(self) -> Graph:
        """Everything as one graph."""
        nodes = [_node(op, inputs, outputs, self._constants) for op, inputs, outputs in self._nodes]
        inputs = tuple(name for name in self._inputs if name not in self._constants)
        return Graph(tuple(nodes), inputs, tuple(self._outputs), self._types)

    def add_graph(self, data: memoryview, depth: int) -> None:
        if depth > _DEEPEST:
            raise wire.Malformed(f"subgraphs lie more than {_DEEPEST} deep")
        self.add_nodes(data, _NODE, depth)
        for field, value in _read_fields(data):
            if field == _INITIALIZER and isinstance(value, memoryview):
                self.external |= _find_external_files(value)
                self._constants |= _read_texts(value, _TENSOR_NAME)
            elif field in (_GRAPH_INPUT, _GRAPH_OUTPUT, _VALUE_INFO) and isinstance(value, memoryview):
                self._add_value(field, value, depth)

    def _add_value(self, field: int, data: memoryview, depth: int) -> None:
        name, kind = named_type(bytes(data))
        self._types[name] = kind
        if depth == 0 and field != _VALUE_INFO:
            (self._inputs if field == _GRAPH_INPUT else self._outputs).append(name)

    def add_nodes(self, data: memoryview, number: int, depth: int) -> None:
        for field, value in _read_fields(data):
            if field == number and isinstance(value, memoryview):
                self._node(value, depth)

    def _node(self, data: memoryview, depth: int) -> None:
        op, domain = "", ""
        names: dict[int, list[str]] = {_INPUT: [], _OUTPUT: []}
        for field, value in _read_fields(data):
            if not isinstance(value, memoryview):
                continue
            if field in names:
                names[field].append(self._scope_name(_decode(value)))
            elif field == _OP_TYPE:
                op = _decode(value)
            elif field == _DOMAIN:
                domain = _decode(value)
            elif field == _METADATA:
                self.torch |= {f"aten::{name.decode()}" for name in _TORCH.findall(bytes(value))}
                self.by_dynamo |= any(key.startswith(_DYNAMO) for key in _read_texts(value, _KEY))
            elif field == _ATTRIBUTE:
                self._add_subgraphs(value, depth)
        if op:
            self._add_operator(op, domain, names)

    def _add_subgraphs(self, attribute: memoryview, depth: int) -> None:
        for field, value in _read_fields(attribute):
            if field in (_SUBGRAPH, _SUBGRAPHS) and isinstance(value, memoryview):
                self.add_graph(value, depth + 1)

    def _add_operator(self, op: str, domain: str, names: dict[int, list[str]]) -> None:
        own = domain in ("", "ai.onnx")
        if own:
            self.onnx.add(op)
        if op == "Constant":
            self._constants.update(names[_OUTPUT])
        else:
            self._nodes.append((op if own else f"{domain}::{op}", names[_INPUT], names[_OUTPUT]))

    def _scope_name(self, name: str) -> str:
        """The values of a function have names of their own."""
        return f"{self.functions}:{name}" if name and self.functions else name


def _node(op: str, inputs: list[str], outputs: list[str], constants: set[str]) -> Node:
    read = tuple(name for name in inputs if name and name not in constants)
    return Node(op, read, tuple(filter(None, outputs)), sum(name in constants for name in inputs))


def _decode(data: memoryview) -> str:
    return bytes(data).decode("utf-8", "replace")


def _read_texts(data: memoryview, number: int) -> set[str]:
    """The texts of a field."""
    found = (value for field, value in _read_fields(data) if field == number and isinstance(value, memoryview))
    return {_decode(value) for value in found}


def _read_opset(data: memoryview) -> tuple[str, int]:
    domain, version = "", 0
    for field, value in _read_fields(data):
        if field == _KEY and isinstance(value, memoryview):
            domain = bytes(value).decode("utf-8", "replace")
        elif field == _VALUE and isinstance(value, int):
            version = value
    return domain, version


def _find_external_files(data: memoryview) -> set[str]:
    """Names of the files that hold a tensor's values."""
    found = set()
    for field, value in _read_fields(data):
        if field == _EXTERNAL_DATA and isinstance(value, memoryview):
            pair = dict(_read_fields(value))
            key, name = pair.get(_KEY), pair.get(_VALUE)
            if isinstance(key, memoryview) and isinstance(name, memoryview) and bytes(key) == b"location":
                found.add(bytes(name).decode("utf-8", "replace"))
    return found


def _read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a message: whole numbers, or bytes that are not copied."""
    return ((number, value) for number, kind, value in wire.read_fields(data) if kind in (wire.VARINT, wire.BYTES))
