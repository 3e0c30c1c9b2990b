"""Arrays to tensors of a file and back."""

import numpy as np

import onnx


def from_array(array, name=""):
    return onnx.TensorProto(
        name=name, data_type=str(array.dtype), dims=[int(size) for size in array.shape], raw_data=array.tobytes()
    )


def to_array(tensor):
    return np.frombuffer(tensor.raw_data, dtype=tensor.data_type).reshape(tensor.dims).copy()
