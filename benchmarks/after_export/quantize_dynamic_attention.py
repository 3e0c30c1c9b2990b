"""onnxruntime 1.32.0: quantize_dynamic takes the Attention of ONNX (opset 23) for onnxruntime's own, and breaks it."""

import onnx
import onnxruntime
from onnxruntime.quantization import quantize_dynamic

MODEL = """<ir_version: 10, opset_import: ["" : 23]>
g (float[1, 2, 4, 8] q, float[1, 2, 4, 8] k, float[1, 2, 4, 8] v) => (float[1, 2, 4, 8] y)
{ y = Attention (q, k, v) }"""
model = onnx.parser.parse_model(MODEL)
onnxruntime.InferenceSession(model.SerializeToString())  # loads
quantize_dynamic(model, "quantized.onnx")
print([(node.domain, node.op_type) for node in onnx.load("quantized.onnx").graph.node])
onnxruntime.InferenceSession("quantized.onnx")  # InvalidGraph
