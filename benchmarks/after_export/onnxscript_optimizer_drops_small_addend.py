"""onnxscript 0.7.2: the optimizer drops an addend of 1e-12, such as the epsilon of a division."""

import onnx
from onnxscript import optimizer

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (double[2] x) => (double[2] y) {
    tiny = Constant <value = double {0.000000000001}> ()  sum = Add (x, tiny)  y = Div (x, sum)
}"""
changed = optimizer.optimize(onnx.parser.parse_model(MODEL))
print([node.op_type for node in changed.graph.node])  # ['Div']: 0 / 0 is nan
