"""Tensors over numpy, and the tape on which an export records what is done to them."""

# ruff: noqa: N801  # torch's own names

import warnings

import numpy as np

#: the tape of the export that is going on
_tape = None


class TracerWarning(Warning):
    """A value was written into the trace."""


class GuardOnDataDependentSymNode(RuntimeError):
    """A graph capture met a number that depends on data."""


class Tape:
    """What an export records: (operator, operand tensors, result tensor), by mode trace, script or dynamo."""

    def __init__(self, mode):
        self.mode = mode
        self.names = {}
        self.steps = []
        # a tensor that is freed would give its id to another one
        self._kept = []

    def name(self, tensor, name):
        self.names[id(tensor)] = name
        self._kept.append(tensor)

    def follows(self, tensor):
        return id(tensor) in self.names

    def record(self, operator, operands, result):
        self.name(result, f"{operator}_{len(self.steps)}")
        self.steps.append((operator, operands, result))

    def __enter__(self):
        global _tape
        _tape = self
        return self

    def __exit__(self, *_):
        global _tape
        _tape = None


def recording():
    """Whether an export is going on."""
    return _tape is not None


class dtype:
    def __init__(self, name):
        self.name = name
        self.is_floating_point = name.startswith("float")

    def __eq__(self, other):
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return "torch." + self.name


KERNELS = {
    "abs": np.abs,
    "add": np.add,
    "bessel": np.i0,
    "cos": np.cos,
    "cube": lambda x: x * x * x,
    "mul": np.multiply,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "round": np.round,
    "select": lambda x, index: x[int(index)],
    "sign": np.sign,
}


#: what autocast does to results, and whether it does
autocast = {"enabled": False, "dtype": "float16"}


def apply(operator, *operands):
    """Compute, and record where an operand is followed."""
    first = operands[0]
    tensors = [item if isinstance(item, Tensor) else Tensor(_like(item, first)) for item in operands]
    array = KERNELS[operator](*[item.array for item in tensors])
    result = Tensor(array.astype(autocast["dtype"]) if autocast["enabled"] else array)
    if _tape is not None and any(_tape.follows(item) for item in tensors):
        _tape.record(operator, tensors, result)
    return result


def _like(number, tensor):
    return np.asarray(number, dtype="int64" if isinstance(number, int) else tensor.array.dtype)


class Tensor:
    def __init__(self, array):
        self.array = np.asarray(array)

    @property
    def dtype(self):
        return dtype(str(self.array.dtype))

    @property
    def shape(self):
        return self.array.shape

    def __add__(self, other):
        return apply("add", self, other)

    def __mul__(self, other):
        return apply("mul", self, other)

    def __neg__(self):
        return apply("neg", self)

    def __getitem__(self, index):
        return apply("select", self, index)

    def item(self):
        if _tape is None or not _tape.follows(self):
            return self.array.item()
        if _tape.mode == "script":
            return self
        if _tape.mode == "dynamo":
            raise GuardOnDataDependentSymNode("Could not extract specialized value from data-dependent expression u0")
        text = "Converting a tensor to a Python number might cause the trace to be incorrect"
        warnings.warn(text, TracerWarning, stacklevel=2)
        return self.array.item()

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array

    def copy_(self, other):
        self.array[...] = other.array
        return self
