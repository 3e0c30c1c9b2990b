"""ONNX files and bundles written byte by byte, for tests that have no onnx package to write them with."""

from __future__ import annotations

import hashlib
import zipfile

from caniexport.model.rows import BUNDLE_DIGITS
from caniexport.store import graphs


def varint(number):
    found = b""
    while number > 127:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def field(number, value):
    """One protobuf field: text, nested bytes, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(name, kind, *sizes):
    """A ValueInfoProto."""
    shape = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(op, inputs, outputs, domain=""):
    """A NodeProto."""
    names = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
    return names + field(4, op) + (field(7, domain) if domain else b"")


def model(nodes, initializers=()):
    """A ModelProto of nodes that read x of type f32[batch,3,300]."""
    graph = b"".join(field(1, item) for item in nodes)
    graph += b"".join(field(5, field(1, 3) + field(8, name)) for name in initializers)
    graph += field(11, value("x", 1, "batch", 3, 300)) + field(12, value("y", 7, 3))
    return field(1, 8) + field(2, "pytorch") + field(7, graph)


MODEL = model(
    [
        node("Constant", [], ["axis"]),
        node("Conv", ["x", "weight", "bias"], ["a"]),
        node("Softmax", ["a"], ["b"], "com.example"),
        node("Gather", ["b", "axis"], ["y"]),
    ],
    ["weight", "bias"],
)


def bundled(folder, content):
    """A bundle of a model, kept as a measurement keeps it; its name."""
    files = [("model.onnx", content), ("test_data_set_0/input_0.pb", b"1")]
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(f"{name}:{len(data)}\n".encode() + data)
    bundle = digest.hexdigest()[:BUNDLE_DIGITS]
    path = graphs.locate_bundle(folder, bundle)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return bundle
