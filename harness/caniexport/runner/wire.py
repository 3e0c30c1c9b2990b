"""Protocol buffers' wire format: enough to read ONNX's messages where the onnx package is not installed.

Field numbers are those of ``onnx.proto``; they never change.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Tuple, TypeVar, Union

Value = Union[int, bytes]
#: a message's bytes; the parts of a memoryview are memoryviews, so that a file of gigabytes is not copied
Data = TypeVar("Data", bytes, memoryview)

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """Bytes that are no protocol buffer: cut off, or something else."""


def read_fields(data: Data) -> Iterator[Tuple[int, int, Union[int, Data]]]:
    """Yield field number, wire type and value of each field, in the order of the bytes.

    The value is a number for a varint, else bytes: a fixed-width value is not decoded. Raises :class:`Malformed` where
    the bytes end within a field, or a wire type or a field number does not exist.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = read_varint(data, position)
        kind = tag & 7
        if not tag >> 3:
            raise Malformed("a field without a number at byte {}".format(position))
        value: Union[int, Data]
        if kind == VARINT:
            value, position = read_varint(data, position)
        else:
            if kind == BYTES:
                width, position = read_varint(data, position)
            elif kind in (FIXED64, FIXED32):
                width = 8 if kind == FIXED64 else 4
            else:
                raise Malformed("wire type {} at byte {}".format(kind, position))
            value = data[position : position + width]
            position += width
            if position > end:
                raise Malformed("cut off within field {}".format(tag >> 3))
        yield tag >> 3, kind, value


def group_fields(data: bytes) -> Dict[int, List[Tuple[int, Value]]]:
    """Every field of a message as (wire type, value), by its number."""
    found: Dict[int, List[Tuple[int, Value]]] = {}
    for number, kind, value in read_fields(data):
        found.setdefault(number, []).append((kind, value))
    return found


def read_integers(found: List[Tuple[int, Value]]) -> List[int]:
    """Return the values of a repeated integer field, packed or not, as signed 64-bit numbers.

    Raises :class:`Malformed`.
    """
    values: List[int] = []
    for _, value in found:
        if isinstance(value, int):
            values.append(to_signed(value))
            continue
        position = 0
        while position < len(value):
            number, position = read_varint(value, position)
            values.append(to_signed(number))
    return values


def join_parts(found: List[Tuple[int, Value]]) -> bytes:
    """A repeated fixed-width field's bytes, packed or not."""
    return b"".join(value for _, value in found if isinstance(value, bytes))


def to_signed(number: int) -> int:
    """A varint as the signed 64-bit integer it stands for."""
    return number - (1 << 64) if number >= 1 << 63 else number


def read_varint(data: Union[bytes, memoryview], position: int) -> Tuple[int, int]:
    """The number that begins at ``position``, and where it ends. Raises :class:`Malformed`."""
    value, shift = 0, 0
    while True:
        if position >= len(data):
            raise Malformed("cut off within a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise Malformed("a number of more than 64 bits at byte {}".format(position))
