"""What is read back of an exported file, in an environment that has onnx."""

from __future__ import annotations

from pathlib import Path

import pytest

from caniexport.model import corpus
from caniexport.worker import exporters, onnx_file

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")
CASES = Path(__file__).resolve().parents[1] / "cases"


@pytest.mark.parametrize(("names", "files"), [((), 1), (("model.onnx.data",), 2)])
def test_a_model_says_how_many_files_the_export_call_wrote_and_its_bundle_does_not(tmp_path, names, files):
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "empty", [], [])), str(path))
    for name in names:
        (tmp_path / name).touch()
    model = onnx_file.parse_model(exporters._read_file(str(path)))
    case = corpus.load([CASES], stand_in=True)["default-call-writes-two-files"].cls
    assert case.facts(model) == {"files": files}
    assert onnx_file.normalize(model) == onnx_file.normalize(onnx.load(str(path)))


def quantized(scale, stored):
    """A file that quantizes its input; the scale is stored or the output of a Constant node."""
    scale = onnx.numpy_helper.from_array(np.asarray(scale, np.float32), "scale")
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "scale"], ["q"]),
        onnx.helper.make_node("DequantizeLinear", ["q", "scale"], ["y"]),
        onnx.helper.make_node("Relu", ["y"], ["z"]),
    ]
    if not stored:
        nodes.insert(0, onnx.helper.make_node("Constant", [], ["scale"], value=scale))
    made = [onnx.helper.make_tensor_value_info(name, 1, [None]) for name in "xyz"]
    graph = onnx.helper.make_graph(nodes, "g", made[:1], made[1:], [scale] if stored else [])
    return onnx.helper.make_model(graph)


@pytest.mark.parametrize(
    ("scale", "stored", "quantum"), [(0.002, True, 0.002), (0.002, False, 0.002), ([0.1, 0.2], True, 0.0)]
)
def test_the_quantum_of_an_output_is_the_one_scale_that_it_was_quantized_with(scale, stored, quantum):
    assert onnx_file.find_quanta(quantized(scale, stored)) == pytest.approx([quantum, 0.0])
