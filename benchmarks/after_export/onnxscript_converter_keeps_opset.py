"""onnxscript 0.7.2: of a ModelProto the version converter changes the graph and leaves the opset as it was."""

import onnx
from onnxscript import version_converter

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (float[2] x) => (float[2] y) { y = Relu (x) }"""
model = onnx.parser.parse_model(MODEL)
version_converter.convert_version(model, 21)
print(model.opset_import[0].version)  # 18
