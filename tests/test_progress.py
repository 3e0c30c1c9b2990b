"""What a person is told while a measurement goes on."""

from __future__ import annotations

import pytest

from caniexport.measure import progress
from caniexport.measure.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """Every line is said, and time goes on by hand."""
    seconds = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    monkeypatch.setattr(progress, "_LINE_SECONDS", -1.0)
    return seconds


def test_installing_is_told_from_measuring_and_no_rate_is_offered_before_there_is_one(clock):
    said = []
    telling = Progress(said.append)
    telling.begin({"torch 2.8.0": 40, "torch 2.9.1": 40})
    telling.update("torch 2.8.0", 0, has_begun=False)
    clock[0] += 100
    telling.update("torch 2.8.0", 0)
    clock[0] += 10
    telling.update("torch 2.8.0", 20)
    assert said[1:] == [
        "torch 2.8.0: installing its environment · release 1/2",
        "torch 2.8.0: 0/40 cells · release 1/2 · measuring",
        "torch 2.8.0: 20/40 cells · release 1/2 · 2 cells/s · 30 s left",
    ]
