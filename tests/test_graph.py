"""The graph of an exported file: read from its bytes, kept as text, drawn as a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from onnx_bytes import MODEL, bundled, model, node

from caniexport.model.errors import StoreError
from caniexport.pages.graph import draw_graph
from caniexport.store import graphs
from caniexport.store.onnx_graph import MOST_NODES, Graph, parse_model
from caniexport.worker import onnx_file


def test_the_operators_values_and_types_of_a_file_are_read():
    graph = parse_model(MODEL)

    assert [(item.op, item.inputs, item.outputs, item.constants) for item in graph.nodes] == [
        ("Conv", ("x",), ("a",), 2),
        ("com.example::Softmax", ("a",), ("b",), 0),
        ("Gather", ("b",), ("y",), 1),
    ]
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    assert graph.types == {"x": "f32[batch,3,300]", "y": "i64[3]"}


def test_a_graph_comes_back_from_its_text():
    graph = parse_model(MODEL)

    assert Graph.from_json(graph.to_json()) == graph
    for text in ("", "{}", '{"nodes": 3}', "[1]"):
        with pytest.raises(StoreError):
            Graph.from_json(text)


def test_a_graph_with_many_nodes_is_not_drawn():
    assert parse_model(model([node("Add", ["x"], [f"v{index}"]) for index in range(MOST_NODES + 1)])) is None


def test_a_file_cut_off_anywhere_is_said_to_be_no_file_of_this_kind():
    whole = parse_model(MODEL)
    for end in range(1, len(MODEL)):
        try:
            assert parse_model(MODEL[:end]) != whole
        except StoreError as error:
            assert "not an ONNX file" in str(error)


def test_the_name_of_a_bundle_is_that_of_the_measuring_code(tmp_path):
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("onnx")
    values = [[numpy.ones(2, numpy.float32)]]
    name = onnx_file.write_bundle(onnx_file.Bundle(MODEL, values, values), tmp_path / "bundles")

    assert parse_model(graphs.read_model(graphs.locate_bundle(tmp_path, name), name)) == parse_model(MODEL)


def test_a_bundle_that_is_cut_off_or_was_changed_is_named_and_not_drawn(tmp_path):
    cut, other, good = (
        bundled(tmp_path, content) for content in (MODEL, model([]), model([node("Relu", ["x"], ["y"])]))
    )
    path = graphs.locate_bundle(tmp_path, cut)
    path.write_bytes(path.read_bytes()[:40])
    graphs.locate_bundle(tmp_path, other).write_bytes(graphs.locate_bundle(tmp_path, good).read_bytes())

    rows, problems = graphs.read_new_graphs(tmp_path, [cut, other, good, "0" * 24])

    assert [row["bundle"] for row in rows] == [good]
    assert len(problems) == 2
    assert any(cut in said and "cannot be read" in said for said in problems)
    assert any(other in said and "changed or damaged" in said for said in problems)


def test_the_picture_has_every_operator_below_what_it_reads_and_escapes_names():
    hostile = model([node("<script>", ["x"], ["m"]), node("Relu", ["m"], ["y"])])

    graph = parse_model(hostile)
    made = draw_graph(graph)
    drawn = made.svg

    ElementTree.fromstring(drawn)
    assert "<script>" not in drawn
    tops = {name: float(top) for top, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)">([^<]*)</text>', drawn)}
    assert tops["x"] < tops["&lt;script&gt;"] < tops["Relu"] < tops["y"]
    assert made.description == "2 operators: <script>, Relu"
    assert drawn.count("<path") == 3
