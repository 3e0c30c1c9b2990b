"""onnxruntime 1.32.0: the optimized file of IR version 3 with a constant twice asks for one of them as an input."""

import onnx
import onnxruntime

MODEL = """<ir_version: 3, opset_import: ["" : 7]>
g (float[2] x) => (float[2] y) {
    two = Constant <value = float {2}> ()  p = Pow (x, two)
    other = Constant <value = float {2}> ()  y = Pow (p, other)
}"""
options = onnxruntime.SessionOptions()
options.optimized_model_filepath = "saved.onnx"
session = onnxruntime.InferenceSession(onnx.parser.parse_model(MODEL).SerializeToString(), options)
saved = onnxruntime.InferenceSession("saved.onnx")
print([item.name for item in session.get_inputs()], [item.name for item in saved.get_inputs()])
