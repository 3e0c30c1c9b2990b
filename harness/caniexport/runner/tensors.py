"""A tensor's file (``input_0.pb``, ONNX's ``TensorProto``) as a numpy array, without the onnx package."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

import numpy as np

from caniexport.runner import wire

#: TensorProto.DataType -> numpy's name
DTYPES: Dict[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
}
STRING = 8
#: TensorProto.DataType of the types that numpy has not
OTHERS: Dict[int, str] = {
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}

_DIMS, _TYPE, _FLOAT, _INT32, _STRING, _INT64, _RAW, _DOUBLE, _UINT64 = 1, 2, 4, 5, 6, 7, 9, 10, 11
#: a ``TensorProto``'s segment, which nobody writes; a ``SequenceProto``'s tensors, an ``OptionalProto``'s value
_ELEMENTS = 3
#: of ``ModelProto``; of ``GraphProto``; of ``ValueInfoProto``; of ``TypeProto``; of ``TensorProto``
_GRAPH, _INPUTS, _OUTPUTS, _INITIALIZERS, _VALUE_NAME, _VALUE_TYPE, _TENSOR, _NAME = 7, 11, 12, 5, 1, 2, 1, 8


class NoNumpyType(ValueError):
    """A tensor of a type that numpy has not (bfloat16, float8, int4), or a sequence or an optional value."""


def read_tensor(data: bytes) -> Any:
    """Return the array of a serialised ``TensorProto``, with its shape and type; texts are an array of objects.

    Raises :class:`NoNumpyType`, and :class:`~caniexport.runner.wire.Malformed` for bytes that are no tensor or hold
    another number of values than its shape has.
    """
    found = wire.group_fields(data)
    if _ELEMENTS in found or not found.keys() - {_TYPE}:
        # the latter is an empty one: a tensor has its values, or a dimension that is 0
        raise NoNumpyType("a sequence or an optional value is no tensor")
    shape = tuple(wire.read_integers(found.get(_DIMS, [])))
    (kind,) = wire.read_integers(found.get(_TYPE, [])[-1:]) or [0]
    values = _read_values(kind, found)
    if values.size != int(np.prod(shape, dtype=np.int64)):
        raise wire.Malformed("{} values for the shape {}".format(values.size, list(shape)))
    return values.reshape(shape)


def _read_values(kind: int, found: Dict[int, List[Tuple[int, wire.Value]]]) -> Any:
    if kind == STRING:
        texts = [bytes(value).decode("utf-8", "replace") for _, value in found.get(_STRING, [])]
        return np.array(texts, dtype=object)
    if kind in OTHERS:
        raise NoNumpyType("{} has no numpy type".format(OTHERS[kind]))
    if kind not in DTYPES:
        raise wire.Malformed("tensor of the unknown type {}".format(kind))
    dtype = np.dtype(DTYPES[kind])
    if _RAW in found:
        # little-endian by ONNX's definition; a copy, because some runtimes refuse an array they may not write
        return np.frombuffer(wire.join_parts(found[_RAW]), dtype.newbyteorder("<")).astype(dtype)
    return _read_typed(dtype, found)


def _read_typed(dtype: Any, found: Dict[int, List[Tuple[int, wire.Value]]]) -> Any:
    """Values in the field of their type; complex numbers are pairs, 16-bit floats the bits of integers."""
    if dtype.name in ("float32", "complex64"):
        return np.frombuffer(wire.join_parts(found.get(_FLOAT, [])), "<f4").view("<c8" if dtype.kind == "c" else "<f4")
    if dtype.name in ("float64", "complex128"):
        return np.frombuffer(wire.join_parts(found.get(_DOUBLE, [])), "<f8").view(
            "<c16" if dtype.kind == "c" else "<f8"
        )
    field = _INT64 if dtype.name == "int64" else _UINT64 if dtype.name in ("uint32", "uint64") else _INT32
    numbers = np.array(wire.read_integers(found.get(field, [])), dtype="int64")
    if dtype.name == "float16":
        return numbers.astype("uint16").view("float16")
    return numbers.astype(dtype)


def has_only_tensors(model: bytes) -> bool:
    """Whether every input and output that a serialised model declares is a tensor, as far as the model can be read.

    The others are sequences and optional values.
    """
    try:
        return all(_TENSOR in wire.group_fields(kind) for kind in _walk_types(model))
    except wire.Malformed:
        return True


def read_input_names(model: bytes) -> List[str]:
    """Names of a serialised model's inputs in their order; initializers are none.

    Raises :class:`~caniexport.runner.wire.Malformed`.
    """
    found: List[str] = []
    for _, graph in wire.group_fields(model).get(_GRAPH, []):
        fields = wire.group_fields(bytes(graph))
        names, constants = (
            [_read_text(value, field) for _, value in fields.get(part, [])]
            for part, field in ((_INPUTS, _VALUE_NAME), (_INITIALIZERS, _NAME))
        )
        found += [name for name in names if name not in constants]
    return found


def _read_text(message: wire.Value, field: int) -> str:
    parts = wire.group_fields(bytes(message)).get(field, [])
    return wire.join_parts(parts).decode("utf-8", "replace")


def _walk_types(model: bytes) -> Iterator[bytes]:
    """The ``TypeProto`` of every input and output of a model's graph."""
    for _, graph in wire.group_fields(model).get(_GRAPH, []):
        found = wire.group_fields(bytes(graph))
        for _, value in [*found.get(_INPUTS, []), *found.get(_OUTPUTS, [])]:
            for _, kind in wire.group_fields(bytes(value)).get(_VALUE_TYPE, []):
                yield bytes(kind)
