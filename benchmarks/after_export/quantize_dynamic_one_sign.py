"""onnxruntime 1.32.0: quantize_dynamic is wrong at opset 10 for an input whose values are all of one sign, or zero."""

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import quantize_dynamic

MODEL = """<ir_version: 5, opset_import: ["" : 10]>
g (float[1, 2] x) => (float[1, 1] y) <float[2, 1] w = {1.0, 0.5}> { y = MatMul (x, w) }"""
model = onnx.parser.parse_model(MODEL)
quantize_dynamic(model, "quantized.onnx")
for file in (model.SerializeToString(), "quantized.onnx"):
    session = onnxruntime.InferenceSession(file)
    print([session.run(None, {"x": np.array([row], "float32")})[0].item() for row in ([-1, 1], [5, 6], [0, 0])])
