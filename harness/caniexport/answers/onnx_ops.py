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
        found.add_model(data)
        graph = found.build_graph()
    except (ValueError, IndexError, RecursionError) as error:
        whole = "is truncated or damaged" if found.ir_version is not None else "is not an ONNX file"
        raise BadModel(f"{name} {whole} ({error})") from error
    if found.ir_version is None or not found.has_graph:
        raise BadModel(f"{name} is not an ONNX file (no {'IR version' if found.ir_version is None else 'graph'} in it)")
    by = Exporter.DYNAMO if found.by_dynamo else Exporter.TRACE
    return ModelOps(
        tuple(sorted(found.onnx)),
        tuple(sorted(found.torch)),
        found.opset,
        found.producer,
        tuple(sorted(item for item in found.external if folder is None or not (folder / item).is_file())),
        found.written_by,
        by.value if found.producer == "pytorch" else "",
        graph,
        found.ir_version,
    )


class _SeenOps:
    """What has been seen so far."""

    def __init__(self) -> None:
        self.onnx: set[str] = set()
        self.torch: set[str] = set()
        self.external: set[str] = set()
        self.producer = self.written_by = ""
        self.opset: int | None = None
        self.ir_version: int | None = None
        self.has_graph = self.by_dynamo = False
        self._functions = 0
        self._nodes: list[tuple[str, list[str], list[str]]] = []
        self._constants: set[str] = set()
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._types: dict[str, str] = {}

    def build_graph(self) -> Graph:
        """Everything as one graph."""
        known = self._constants
        nodes = tuple(
            Node(
                op,
                tuple(name for name in inputs if name and name not in known),
                tuple(filter(None, outputs)),
                sum(name in known for name in inputs),
            )
            for op, inputs, outputs in self._nodes
        )
        inputs = tuple(name for name in self._inputs if name not in known)
        return Graph(nodes, inputs, tuple(self._outputs), self._types)

    def add_model(self, data: memoryview) -> None:
        for field, value in _read_fields(data):
            if isinstance(value, int):
                self.ir_version = value if field == _IR else self.ir_version
            elif field == _PRODUCER:
                self.producer = _decode(value[:200])
            elif field == _PRODUCER_VERSION:
                self.written_by = _decode(value[:200])
            elif field == _OPSETS:
                domain = "".join(_read_texts(value, _KEY))
                if domain in ("", "ai.onnx"):
                    self.opset = next(
                        (at for key, at in _read_fields(value) if key == _VALUE and isinstance(at, int)), 0
                    )
                self.by_dynamo |= domain.startswith(_DYNAMO)
            elif field == _GRAPH:
                self.has_graph = True
                self._add_graph(value, 0)
            elif field == _FUNCTIONS:
                self._functions += 1
                self._add_nodes(value, _FUNCTION_NODE, 0)

    def _add_graph(self, data: memoryview, depth: int) -> None:
        if depth > _DEEPEST:
            raise wire.Malformed(f"subgraphs lie more than {_DEEPEST} deep")
        self._add_nodes(data, _NODE, depth)
        for field, value in _read_parts(data):
            if field == _INITIALIZER:
                self.external |= _find_external_files(value)
                self._constants |= _read_texts(value, _TENSOR_NAME)
            elif field in (_GRAPH_INPUT, _GRAPH_OUTPUT, _VALUE_INFO):
                name, kind = named_type(bytes(value))
                self._types[name] = kind
                if depth == 0 and field != _VALUE_INFO:
                    (self._inputs if field == _GRAPH_INPUT else self._outputs).append(name)

    def _add_nodes(self, data: memoryview, number: int, depth: int) -> None:
        for field, value in _read_parts(data):
            if field == number:
                self._add_node(value, depth)

    def _add_node(self, data: memoryview, depth: int) -> None:
        op, domain = "", ""
        names: dict[int, list[str]] = {_INPUT: [], _OUTPUT: []}
        for field, value in _read_parts(data):
            if field in names:
                # the values of a function have names of their own
                name = _decode(value)
                names[field].append(f"{self._functions}:{name}" if name and self._functions else name)
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
        for field, value in _read_parts(attribute):
            if field in (_SUBGRAPH, _SUBGRAPHS):
                self._add_graph(value, depth + 1)

    def _add_operator(self, op: str, domain: str, names: dict[int, list[str]]) -> None:
        is_own = domain in ("", "ai.onnx")
        if is_own:
            self.onnx.add(op)
        if op == "Constant":
            self._constants.update(names[_OUTPUT])
        else:
            self._nodes.append((op if is_own else f"{domain}::{op}", names[_INPUT], names[_OUTPUT]))


def _decode(data: memoryview | bytes) -> str:
    return bytes(data).decode("utf-8", "replace")


def _read_texts(data: memoryview, number: int) -> set[str]:
    """The texts of a field."""
    return {_decode(value) for field, value in _read_parts(data) if field == number}


def _find_external_files(data: memoryview) -> set[str]:
    """Names of the files that hold a tensor's values."""
    pairs = [dict(_read_parts(value)) for field, value in _read_parts(data) if field == _EXTERNAL_DATA]
    return {_decode(pair[_VALUE]) for pair in pairs if _VALUE in pair and bytes(pair.get(_KEY, b"")) == b"location"}


def _read_parts(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and bytes of each field that is a text or a message; the bytes are not copied."""
    return ((number, value) for number, value in _read_fields(data) if isinstance(value, memoryview))


def _read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a message: whole numbers, or bytes that are not copied."""
    return ((number, value) for number, kind, value in wire.read_fields(data) if kind in (wire.VARINT, wire.BYTES))
