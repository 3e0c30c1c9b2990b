"""Tensors in the forms that libraries write, and archives of which a byte is damaged."""

from __future__ import annotations

import numpy as np
import pytest
from stand_in_runtime import archive
from test_runner import field

from caniexport.runner import tensors, wire
from caniexport.runner.archive import Archive, UnusableArchive, UnusableBundle


def test_a_tensor_as_libraries_write_it_is_read_as_any_other():
    for kind, name in tensors.DTYPES.items():
        values = np.array([[1, 0, 3]]).astype(name)
        dims, about = field(1, 0, b"\x01") + field(1, 0, b"\x03"), field(2, 0, bytes([kind])) + field(8, 2, b"\x01x")
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
        usual = dims + about + field(9, 2, bytes([len(raw)]) + raw)
        found = tensors.read_tensor(usual)

        assert found.dtype == np.dtype(name)
        assert found.tolist() == values.tolist()
        assert found.flags.writeable and found.dtype.isnative


WHOLE = field(1, 2, b"\x01\x02") + field(2, 0, b"\x01") + field(9, 2, b"\x08" + bytes(8))
FOUR, TYPE = field(9, 2, b"\x04" + bytes(4)), field(2, 0, b"\x01")
OTHERS = [
    field(1, 0, b"\x04") + TYPE + FOUR,
    field(1, 0, b"\xff" * 9 + b"\x01") + TYPE + FOUR,
    field(2, 0, b"\x7f") + FOUR,
]


@pytest.mark.parametrize("wrong", [*OTHERS, WHOLE[:1], WHOLE[:5], WHOLE[:12]])
def test_what_is_cut_off_or_of_another_shape_or_type_than_its_values_is_no_tensor(wrong):
    assert tensors.read_tensor(WHOLE).tolist() == [0.0, 0.0]
    with pytest.raises(wire.Malformed):
        tensors.read_tensor(wrong)


def test_whichever_byte_is_damaged_the_bundle_is_whole_or_said_to_be_damaged(tmp_path):
    (entry,) = archive(tmp_path / "b.zip", "relu")
    whole = (tmp_path / "b.zip").read_bytes()
    sound = Archive(tmp_path / "b.zip").read(entry.bundle)
    begin = whole.index(b"bundles/") - 30
    damaged = 0
    for position in range(begin, len(whole), 3):
        data = bytearray(whole)
        data[position] ^= 0x41
        (tmp_path / "c.zip").write_bytes(bytes(data))
        try:
            assert Archive(tmp_path / "c.zip").read(entry.bundle) == sound
        except (UnusableArchive, UnusableBundle):
            damaged += 1
    assert damaged > 100
