"""onnxconverter-common 1.16.0: with keep_io_types the output of an operator that stays in float32 becomes float16."""

import onnx
from onnxconverter_common import float16

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { zero = Constant <value = int64 {0}> ()  y = CumSum (x, zero) }"""
changed = float16.convert_float_to_float16(onnx.parser.parse_model(MODEL), keep_io_types=True)
print(changed.graph.output[0].type.tensor_type.elem_type, [node.op_type for node in changed.graph.node])
