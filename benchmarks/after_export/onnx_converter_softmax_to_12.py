"""onnx 1.23.2: the version converter takes a Softmax of opset 13 to 12 as it is, where axis 1 means another thing."""

import numpy as np
import onnx
import onnxruntime
from onnx import version_converter

MODEL = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 2, 2] x) => (float[1, 2, 2] y) { y = Softmax <axis = 1> (x) }"""
model = onnx.parser.parse_model(MODEL)
for changed in (model, version_converter.convert_version(model, 12)):
    session = onnxruntime.InferenceSession(changed.SerializeToString())
    print(session.run(None, {"x": np.zeros((1, 2, 2), "float32")})[0].ravel())  # 0.5, then 0.25
