"""onnxscript 0.7.2: the optimizer gives a Reshape of opset 9 an attribute that it does not have."""

import onnx
import onnxruntime
from onnxscript import optimizer

MODEL = """<ir_version: 4, opset_import: ["" : 9]>
g (float[batch, one, 4] x) => (float[batch, 4] y) {
    s = Shape (x)  zero = Constant <value = int64 {0}> ()  b = Gather <axis = 0> (s, zero)
    u = Unsqueeze <axes = [0]> (b)  four = Constant <value = int64[1] {4}> ()
    shape = Concat <axis = 0> (u, four)  y = Reshape (x, shape)
}"""
model = onnx.parser.parse_model(MODEL)
onnxruntime.InferenceSession(model.SerializeToString())  # loads
changed = optimizer.optimize(model)
print(onnx.printer.to_text(changed))
onnxruntime.InferenceSession(changed.SerializeToString())  # InvalidGraph
