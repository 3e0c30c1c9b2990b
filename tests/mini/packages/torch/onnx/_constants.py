"""The opset of a call that names none."""

from torch import _era

ONNX_DEFAULT_OPSET = _era.OPSETS[1]
