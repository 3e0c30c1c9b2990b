"""The graph of an exported file: read from its bytes, kept as text, drawn as a picture."""

from __future__ import annotations

import re
import zipfile
from xml.etree import ElementTree

import pytest

from dashboard import evidence_html, graph_html
from harness.answers.on_runtimes import RuntimeOutcome
from harness.store.onnx_graph import MOST_NODES, Graph, of_bundle, of_model
from harness.worker.errors import StoreError


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


def test_the_operators_values_and_types_of_a_file_are_read():
    graph = of_model(MODEL)

    assert [(item.op, item.inputs, item.outputs, item.constants) for item in graph.nodes] == [
        ("Conv", ("x",), ("a",), 2),
        ("com.example::Softmax", ("a",), ("b",), 0),
        ("Gather", ("b",), ("y",), 1),
    ]
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    assert graph.types == {"x": "f32[batch,3,300]", "y": "i64[3]"}


def test_a_graph_comes_back_from_its_text():
    graph = of_model(MODEL)

    assert Graph.from_json(graph.to_json()) == graph
    for text in ("", "{}", '{"nodes": 3}', "[1]"):
        with pytest.raises(StoreError):
            Graph.from_json(text)


def test_a_graph_with_many_nodes_is_not_drawn():
    assert of_model(model([node("Add", ["x"], [f"v{index}"]) for index in range(MOST_NODES + 1)])) is None


def test_a_file_cut_off_anywhere_is_said_to_be_no_file_of_this_kind():
    whole = of_model(MODEL)
    for end in range(1, len(MODEL)):
        try:
            assert of_model(MODEL[:end]) != whole
        except StoreError as error:
            assert "not an ONNX file" in str(error)


def test_a_bundle_that_is_damaged_is_named(tmp_path):
    good, bad = tmp_path / "a.zip", tmp_path / "b.zip"
    with zipfile.ZipFile(good, "w") as archive:
        archive.writestr("model.onnx", MODEL)
    bad.write_bytes(good.read_bytes()[:40])

    assert of_bundle(good) == of_model(MODEL)
    with pytest.raises(StoreError, match=r"b\.zip"):
        of_bundle(bad)


def test_runtimes_stand_side_by_side_with_what_stops_each():
    found = (
        RuntimeOutcome("onnxruntime 1.14.1", "cpu", {"fail": 2}, {"opset too new": 2}),
        RuntimeOutcome("onnxruntime 1.31.1", "cpu", {"pass": 1, "mismatch": 1}, {"compare: <b>": 1}),
    )

    shown = evidence_html.runtimes(found)

    assert shown.index("1.14.1") < shown.index("opset too new (2)") < shown.index("1.31.1")
    assert shown.index("✓ pass") < shown.index("≠ mismatch"), "best first"
    assert "&lt;b&gt;" in shown
    assert evidence_html.runtimes(()) == ""


def test_the_picture_has_every_operator_below_what_it_reads_and_escapes_names():
    hostile = model([node("<script>", ["x"], ["m"]), node("Relu", ["m"], ["y"])])

    graph = of_model(hostile)
    drawn = graph_html.drawing(graph)

    ElementTree.fromstring(drawn)
    assert "<script>" not in drawn
    tops = {name: float(top) for top, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)">([^<]*)</text>', drawn)}
    assert tops["x"] < tops["&lt;script&gt;"] < tops["Relu"] < tops["y"]
    assert 'alt="2 operators: &lt;script&gt;, Relu"' in graph_html.picture(graph)
    assert drawn.count("<path") == 3
