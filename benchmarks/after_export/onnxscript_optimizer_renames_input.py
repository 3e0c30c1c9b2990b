"""onnxscript 0.7.2: the optimizer renames an input that is handed through."""

import onnx
from onnxscript import optimizer

MODEL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[1] x) => (float[1] x) { }"""
changed = optimizer.optimize(onnx.parser.parse_model(MODEL))
print([item.name for item in changed.graph.input])  # ['x_orig']
