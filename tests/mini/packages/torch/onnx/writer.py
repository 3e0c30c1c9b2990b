"""From a tape to a model file."""

import numpy as np
import onnx

from torch._version import __version__
from torch.onnx import symbolic


class Writer:
    """Applies the rules to a tape; also the ``graph`` that a rule is handed."""

    def __init__(self, tape, opset, dynamic):
        self._tape = tape
        self._opset = opset
        self._dynamic = dynamic
        self._graph = onnx.GraphProto(name="main_graph")
        self._names = dict(tape.names)

    def op(self, operator, *operands):
        """Add a node; returns the name of its result."""
        name = f"{operator}_{len(self._graph.node)}"
        self._graph.node.append(
            onnx.NodeProto(op_type=operator, name=name, input=list(operands), output=[name + "_output"])
        )
        return name + "_output"

    def model(self, names, args, outputs, output_names):
        self._graph.input = [self._value(name, tensor) for name, tensor in zip(names, args, strict=False)]
        for operator, operands, result in self._tape.steps:
            rule = symbolic.rule(operator, self._tape.mode, self._opset)
            self._names[id(result)] = rule(self, *[self._operand(item) for item in operands])
        for index, tensor in enumerate(outputs):
            name = output_names[index] if index < len(output_names) else f"output_{index}"
            node = onnx.NodeProto(op_type="Identity", name=name, input=[self._operand(tensor)], output=[name])
            self._graph.node.append(node)
            self._graph.output.append(onnx.ValueInfoProto(name=name, data_type=str(tensor.array.dtype)))
        return self._proto()

    def _operand(self, tensor):
        """The name of a followed tensor, or of the constant it becomes."""
        if id(tensor) not in self._names:
            name = f"constant_{len(self._graph.initializer)}"
            self._names[id(tensor)] = name
            self._graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(tensor.array), name))
            # numpy makes an array of one axis out of a number
            self._graph.initializer[-1].dims = [int(size) for size in tensor.shape]
        return self._names[id(tensor)]

    def _value(self, name, tensor):
        axes = self._dynamic.get(name) or {}
        dims = [str(axes.get(axis, size)) for axis, size in enumerate(tensor.shape)]
        return onnx.ValueInfoProto(name=name, data_type=str(tensor.array.dtype), dims=dims)

    def _proto(self):
        marks = []
        if self._tape.mode == "dynamo":
            marks = [onnx.StringStringEntryProto(key="pkg.torch.export.graph_signature", value="mini")]
        return onnx.ModelProto(
            ir_version=4,
            producer_name="pytorch",
            producer_version=__version__,
            graph=self._graph,
            opset_import=[onnx.OperatorSetIdProto(domain="", version=self._opset)],
            metadata_props=marks,
        )
