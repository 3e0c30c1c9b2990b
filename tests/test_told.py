"""What errors say is read once and kept: nothing rests on what is kept."""

from __future__ import annotations

import pytest

from caniexport.match import told
from caniexport.store import summary

TEXTS = [
    "RuntimeError: Exporting the operator aten::cross to ONNX opset version 11 is not supported.",
    "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Node (Slice_3) has input size 1",
    "ein Text mit Ümlauten und einem halben Zeichen \udce4",
]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """The texts that are read, not taken from what is kept."""
    found: list[str] = []
    tell = told.tell
    monkeypatch.setattr(told, "tell", lambda text: found.append(text) or tell(text))
    return found


def test_a_text_is_read_once_and_says_the_same_when_it_is_kept(cache, read):
    first = told.read_told(TEXTS)
    assert read == TEXTS
    assert told.read_told(TEXTS) == first == [told.tell(text) for text in TEXTS]
    assert read == [*TEXTS, *TEXTS]  # the three of this test's own
    assert first[0].operator == "aten::cross" and "unsupported" not in first[0].words
    assert len(list(cache.iterdir())) == 1


def test_a_new_text_is_read_alone(cache, read):
    told.read_told(TEXTS[:2])
    told.read_told(TEXTS)
    assert read == TEXTS


def test_what_is_asked_for_stays_kept_where_much_else_is(cache, read):
    told.read_told([f"ValueError: text number {'x' * number}" for number in range(20)])
    for texts in (TEXTS[:1], TEXTS[:2], TEXTS[:2]):
        told.read_told(texts)
    assert read[20:] == TEXTS[:2]


@pytest.mark.parametrize("damage", [b"", b"\x00" * 40, b"not what was written"])
def test_what_was_kept_and_has_changed_is_read_again(cache, read, damage):
    first = told.read_told(TEXTS)
    (kept,) = cache.iterdir()
    kept.write_bytes(damage)
    assert told.read_told(TEXTS) == first
    assert read == [*TEXTS, *TEXTS]


def test_without_a_folder_to_keep_in_every_text_is_read(tmp_path, monkeypatch, read):
    monkeypatch.setenv(summary.VARIABLE, "")
    assert told.read_told(TEXTS) == told.read_told(TEXTS)
    (tmp_path / "a file").touch()
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path / "a file"))
    assert told.read_told(TEXTS)
    assert read == [*TEXTS, *TEXTS, *TEXTS]


def test_other_code_reads_anew(cache, read, monkeypatch):
    told.read_told(TEXTS)
    monkeypatch.setattr(told, "_key", lambda: "0" * 32)
    told.read_told(TEXTS)
    assert read == [*TEXTS, *TEXTS]
