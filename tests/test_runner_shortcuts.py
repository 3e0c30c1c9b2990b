"""The runner's short ways give what the long ones give, and a damaged archive is damaged on both."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from stand_in_runtime import archive
from test_runner import field

from caniexport.runner import tensors, wire
from caniexport.runner.agreement import agreed
from caniexport.runner.archive import Archive, UnusableArchive, UnusableBundle
from caniexport.worker import compare

NUMBERS = [0.0, -0.0, 1.0, 1.00005, -2.5, 1e-7, 6e4, float("inf"), float("-inf"), float("nan")]
DTYPES = ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"]


def pairs(count):
    """Arrays with what is near to them: equal, a bit off, far off, not finite, of another shape or type."""
    chance = random.Random(7)
    for _ in range(count):
        dtype = chance.choice(DTYPES)
        shape = chance.choice([(), (0,), (1,), (3,), (2, 2)])
        size = int(np.prod(shape))
        values = [chance.choice(NUMBERS[:-3] if dtype[0] in "iub" else NUMBERS) for _ in range(size)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = np.array(values).astype(dtype).reshape(shape)
            scale = chance.choice([1, 1, 1 + 1e-6, 1 + 1e-4, 2])
            got = np.array(values).astype("float64").reshape(shape) * scale
            got = np.asarray(got.astype(chance.choice([dtype, dtype, dtype, dtype, "float64"])))
        yield want, got if chance.random() > 0.1 else got.reshape((1, *got.shape))


def test_the_comparisons_short_way_says_exactly_what_the_long_one_says():
    short = 0
    for want, got in pairs(4000):
        for tolerance in ((None, None), (1e-3, 1e-5)):
            found = agreed([want], [got], *tolerance)
            long = compare.compare([want], [got], *tolerance, "x")
            assert found is None or found == long, (want, got)
            short += found is not None
            # what it leaves to the long way is wrong, or not finite, or one of the rare types
            assert found or long.problem or not np.isfinite(want).all() or want.dtype.kind == "c", (want, got)
    assert short > 2000


def test_several_outputs_are_the_worst_of_them_and_a_missing_one_is_left_to_the_long_way():
    ones = np.ones(3, "float32")
    found = agreed([ones, ones], [ones, ones * np.float32(1.00002)], None, None)

    assert found == compare.compare([ones, ones], [ones, ones * np.float32(1.00002)], None, None, "x")
    assert agreed([ones, ones], [ones], None, None) is None
    assert agreed([ones], [[1.0, 1.0, 1.0]], None, None) is None


def test_a_tensor_as_libraries_write_it_is_read_as_any_other():
    for kind, name in tensors.DTYPES.items():
        values = np.array([[1, 0, 3]]).astype(name)
        dims, about = field(1, 0, b"\x01") + field(1, 0, b"\x03"), field(2, 0, bytes([kind])) + field(8, 2, b"\x01x")
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
        usual = dims + about + field(9, 2, bytes([len(raw)]) + raw)
        # a field that the short way does not know (doc_string) sends it the long one
        found, long = tensors.read(usual), tensors.read(usual + field(12, 2, b"\x00"))

        assert found.dtype == long.dtype == np.dtype(name)
        assert found.tolist() == long.tolist() == values.tolist()
        assert found.flags.writeable and found.dtype.isnative


@pytest.mark.parametrize("wrong", [field(1, 0, b"\x04"), field(1, 0, b"\xff" * 9 + b"\x01"), field(2, 0, b"\x7f")])
def test_a_tensor_of_another_shape_or_type_than_its_values_is_none(wrong):
    with pytest.raises(wire.Malformed):
        tensors.read(wrong + field(2, 0, b"\x01") * (wrong[0] == 8) + field(9, 2, b"\x04" + bytes(4)))


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
