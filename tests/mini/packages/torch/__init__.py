"""A stand-in for torch: enough to define a module, run it and export it. ``_era`` says what this release has."""

import contextlib

import numpy as np

from torch import nn
from torch._version import __version__
from torch.tensor import Tensor, apply, autocast

float32 = Tensor(np.float32(0)).dtype


def from_numpy(array):
    return Tensor(array)


def is_tensor(item):
    return isinstance(item, Tensor)


def manual_seed(seed):
    np.random.seed(seed)


@contextlib.contextmanager
def no_grad():
    yield


def set_num_threads(count):
    pass


def set_autocast_enabled(device, enabled):
    autocast["enabled"] = enabled


def set_autocast_dtype(device, name):
    autocast["dtype"] = name


def get_autocast_dtype(device):
    return autocast["dtype"]


def zeros(*shape):
    return Tensor(np.zeros(shape, dtype="float32"))


def abs(x):
    return apply("abs", x)


def bessel(x):
    return apply("bessel", x)


def cos(x):
    return apply("cos", x)


def cube(x):
    return apply("cube", x)


def relu(x):
    return apply("relu", x)


def round(x):
    return apply("round", x)


def sign(x):
    return apply("sign", x)


from torch import export, jit, library, onnx  # noqa: E402  # they need the names above

__all__ = ["Tensor", "__version__", "export", "from_numpy", "jit", "library", "nn", "onnx"]
