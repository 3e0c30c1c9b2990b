"""A stand-in for onnxruntime: numpy kernels, one operator without a kernel (Cos) and one wrong one (Round)."""

# ruff: noqa: F901  # onnxruntime's own names

import enum

import numpy as np
import onnx

from onnxruntime._version import __version__


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_ALL = 99


class NotImplemented(Exception):
    """No kernel for an operator."""


class InvalidArgument(Exception):
    """A feed does not fit the model's input."""


class SessionOptions:
    def __init__(self):
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL


class NodeArg:
    def __init__(self, value):
        self.name = value.name
        self.type = f"tensor({value.data_type})"
        self.shape = [int(size) if size.isdigit() else size for size in value.dims]


def _round_half_away(x):
    return np.sign(x) * np.floor(np.abs(x) + x.dtype.type(0.5))


KERNELS = {
    "Abs": np.abs,
    "Add": np.add,
    "Gather": lambda x, index: x[int(index)],
    "Identity": lambda x: x,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Relu": lambda x: np.maximum(x, x.dtype.type(0)),
    # ONNX says half to even; only the optimised kernel is wrong
    "Round": _round_half_away,
    "Sign": np.sign,
}
UNOPTIMISED = dict(KERNELS, Round=np.round)


def get_available_providers():
    return ["CPUExecutionProvider"]


def get_device():
    return "CPU"


class InferenceSession:
    def __init__(self, model, sess_options=None, providers=None):
        options = sess_options or SessionOptions()
        self._kernels = KERNELS if options.graph_optimization_level else UNOPTIMISED
        self._graph = onnx.load_model_from_string(model).graph
        for node in self._graph.node:
            if node.op_type not in self._kernels:
                raise NotImplemented(
                    "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for "
                    f"{node.op_type}(7) node with name '{node.name}'"
                )

    def get_providers(self):
        return ["CPUExecutionProvider"]

    def get_inputs(self):
        return [NodeArg(value) for value in self._graph.input]

    def get_outputs(self):
        return [NodeArg(value) for value in self._graph.output]

    def run(self, output_names, feeds):
        for argument in self.get_inputs():
            _check_shape(argument, feeds[argument.name])
        values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in self._graph.initializer}
        values.update(feeds)
        for node in self._graph.node:
            values[node.output[0]] = self._kernels[node.op_type](*[values[name] for name in node.input])
        return [np.asarray(values[name]) for name in output_names or [item.name for item in self._graph.output]]


def _check_shape(argument, array):
    fixed = [(want, got) for want, got in zip(argument.shape, array.shape, strict=False) if isinstance(want, int)]
    if len(argument.shape) != array.ndim or any(want != got for want, got in fixed):
        raise InvalidArgument(
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: "
            f"{argument.name} for the following indices"
        )


__all__ = ["GraphOptimizationLevel", "InferenceSession", "SessionOptions", "__version__", "get_available_providers"]
