"""Probe models: the smallest file of each opset and of each IR version, to measure what a runtime takes.

A runtime's highest opset and IR version are read from the rows of these, not from its documentation. The models are
written by hand, byte by byte: a file of opset 30 must exist before a library knows opset 30.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

CORPUS = "probe"
OPSET, IR = "probe-opset", "probe-ir"

#: IR version of the opset probes: every runtime measured takes it
_PLAIN_IR = 4
#: opset of the IR probes
_PLAIN_OPSET = 9
OPSETS = range(7, 33)
IR_VERSIONS = range(3, 17)

_VALUES = (-1.0, 0.0, 2.5)

#: names and contents of a bundle's files, in their order
Files = list[tuple[str, bytes]]


def make_probes() -> Iterator[tuple[str, str, Files]]:
    """(case, variant, files) of every probe: ``probe-opset/opset_17``, ``probe-ir/ir_9``."""
    for opset in OPSETS:
        yield OPSET, f"opset_{opset}", _files(_PLAIN_IR, opset)
    for version in IR_VERSIONS:
        yield IR, f"ir_{version}", _files(version, _PLAIN_OPSET)


def _files(ir_version: int, opset: int) -> Files:
    return [
        ("model.onnx", _model(ir_version, opset)),
        ("test_data_set_0/input_0.pb", _tensor(_VALUES)),
        ("test_data_set_0/output_0.pb", _tensor([max(0.0, value) for value in _VALUES])),
    ]


def _model(ir_version: int, opset: int) -> bytes:
    """``ModelProto``: y = Relu(x), three floats; field numbers are those of ``onnx.proto``."""
    node = _text(1, "x") + _text(2, "y") + _text(3, "relu") + _text(4, "Relu")
    graph = _bytes(1, node) + _text(2, "relu") + _bytes(11, _value("x")) + _bytes(12, _value("y"))
    return _int(1, ir_version) + _bytes(7, graph) + _bytes(8, _text(1, "") + _int(2, opset))


def _value(name: str) -> bytes:
    """``ValueInfoProto`` of a float32 tensor of shape [3]."""
    shape = _bytes(1, _int(1, len(_VALUES)))
    return _text(1, name) + _bytes(2, _bytes(1, _int(1, 1) + _bytes(2, shape)))


def _tensor(values: list[float] | tuple[float, ...]) -> bytes:
    """``TensorProto`` of float32 values."""
    return _int(1, len(values)) + _int(2, 1) + _bytes(9, struct.pack(f"<{len(values)}f", *values))


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode("ascii"))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
