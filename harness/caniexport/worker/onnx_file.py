"""What an exported file says of itself, and the bundle: the file with its inputs and outputs, named by content."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from caniexport.model.bundlehash import hash_bundle
from caniexport.model.status import Exporter

#: bytes of a file that is put into an archive as it is
_SMALL = 256
_DYNAMO_MARKS = ("pkg.torch.onnx", "pkg.torch.export", "pkg.onnxscript", "pkg.torch")


def parse_model(content: bytes) -> Any:
    """The ``onnx.ModelProto`` of a serialised model."""
    import onnx

    return onnx.load_model_from_string(content)


def read_facts(model: Any) -> Dict[str, Any]:
    """Columns of a row that say what the exporter really wrote; the nodes are those of the main graph."""
    opset = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), None)
    counts = Counter(_name_operator(node) for node in _walk_nodes(model))
    ops = " ".join(name if count == 1 else "{}*{}".format(name, count) for name, count in sorted(counts.items()))
    return {"opset_effective": opset, "ir_version": model.ir_version, "node_count": len(model.graph.node), "ops": ops}


def find_inputs(model: Any) -> List[Any]:
    """The inputs (``onnx.ValueInfoProto``) that have to be fed: those without an initializer."""
    stored = {item.name for item in model.graph.initializer}
    return [item for item in model.graph.input if item.name not in stored]


def find_exporter(model: Any, asked: str) -> str:
    """The exporter that wrote the file. One that was asked for by name has no fallback unless that is asked for too.

    Only the bare call leaves it to the release; dynamo's files then carry its marks (they are lost where ONNX's own
    version converter has rewritten the file, which a bare call never asks for).
    """
    if asked != Exporter.DEFAULT.value:
        return asked
    return Exporter.DYNAMO.value if _has_dynamo_marks(model) else Exporter.TRACE.value


def find_quanta(model: Any) -> List[float]:
    """The quantum of each output: the one scale of the DequantizeLinear that gives it, 0 for any other output."""
    from onnx import numpy_helper

    makers = {name: node for node in model.graph.node for name in node.output}
    stored = {item.name: item for item in model.graph.initializer}
    stored.update(
        (name, item.t)
        for name, node in makers.items()
        if node.op_type == "Constant"
        for item in node.attribute
        if item.name == "value"
    )
    found = []
    for output in model.graph.output:
        node = makers.get(output.name)
        scale = stored.get(node.input[1]) if node is not None and node.op_type == "DequantizeLinear" else None
        array = None if scale is None else numpy_helper.to_array(scale)
        found.append(float(array.item()) if array is not None and array.size == 1 else 0.0)
    return found


def normalize(model: Any) -> bytes:
    """The file without what says only when and where it was written: producer, doc strings, stack traces.

    Two releases that export the same graph then give the same bytes. The order of fields is protobuf's own.
    """
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for field in ("producer_name", "producer_version", "doc_string", "model_version"):
        copy.ClearField(field)
    for message in _walk_messages(copy):
        for field in ("doc_string", "metadata_props"):
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
    return bytes(copy.SerializeToString())


class Bundle(NamedTuple):
    """A file, its input sets (arrays in the order of the file's inputs) and the expected outputs of each."""

    model: bytes
    inputs: Sequence[Sequence[Any]]
    outputs: Sequence[Sequence[Any]]

    def files(self) -> Iterator[Tuple[str, bytes]]:
        """Names and contents in the layout of ONNX's backend tests."""
        yield "model.onnx", self.model
        for index, (inputs, outputs) in enumerate(zip(self.inputs, self.outputs)):
            for kind, arrays in (("input", inputs), ("output", outputs)):
                for position, array in enumerate(arrays):
                    yield "test_data_set_{}/{}_{}.pb".format(index, kind, position), _serialize_tensor(array)


def write_bundle(bundle: Bundle, folder: Optional[Path]) -> str:
    """Keep a bundle as ``folder/ab/NAME.zip`` unless it is there already; returns its name.

    ``folder`` may be ``None``: hash only.
    """
    files = list(bundle.files())
    name = hash_bundle(files)
    if folder is not None:
        _write_archive(folder / name[:2] / (name + ".zip"), files)
    return name


def _write_archive(path: Path, files: List[Tuple[str, bytes]]) -> None:
    if path.exists():
        return
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            # most are a few dozen bytes, for which setting a compression up takes longer than writing them
            small = len(content) < _SMALL
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_STORED if small else zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=str(path.parent), prefix=".")
    with os.fdopen(handle, "wb") as file:
        file.write(buffer.getvalue())
    os.replace(temporary, str(path))


def _serialize_tensor(array: Any) -> bytes:
    import numpy as np
    from onnx import numpy_helper

    return bytes(numpy_helper.from_array(np.ascontiguousarray(array).reshape(np.shape(array))).SerializeToString())


def _name_operator(node: Any) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else "{}::{}".format(node.domain, node.op_type)


def _walk_nodes(model: Any) -> Iterator[Any]:
    """Every node, those of subgraphs and of the file's own functions included."""
    todo = list(model.graph.node)
    for function in getattr(model, "functions", ()):
        todo += list(function.node)
    while todo:
        node = todo.pop()
        yield node
        for attribute in node.attribute:
            todo += list(attribute.g.node)
            for graph in attribute.graphs:
                todo += list(graph.node)


def _has_dynamo_marks(model: Any) -> bool:
    domains = [item.domain for item in model.opset_import]
    domains += [function.domain for function in getattr(model, "functions", ())]
    if any(domain.startswith(_DYNAMO_MARKS) for domain in domains):
        return True
    holders = [model, model.graph] + list(model.graph.node) + list(model.graph.input) + list(model.graph.output)
    return any(
        item.key.startswith(_DYNAMO_MARKS) for holder in holders for item in getattr(holder, "metadata_props", ())
    )


def _walk_messages(message: Any) -> Iterator[Any]:
    """A protobuf message and every message within it."""
    yield message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in value if _is_repeated(value) else [value]:
            for inner in _walk_messages(part):
                yield inner


def _is_repeated(value: Any) -> bool:
    # the field's label went away with protobuf 5's deprecation, a repeated value has a length on every version
    return hasattr(value, "__len__")
