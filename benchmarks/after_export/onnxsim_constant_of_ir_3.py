"""onnxsim 0.8.1: a file of IR version 3 with an output that folds to a constant raises an error."""

import onnx
import onnxsim

MODEL = """<ir_version: 3, opset_import: ["" : 7]>
g (float[2] x) => (float[2] y, int64 n) {
    y = Relu (x)  a = Constant <value = double {1}> ()  n = Cast <to = 7> (a)
}"""
onnxsim.simplify(onnx.parser.parse_model(MODEL))  # RuntimeError: n in initializer but not in graph input
