"""What the opsets of one variant share."""

from __future__ import annotations

import warnings

import pytest

from caniexport.worker import sharing


def test_a_shared_step_is_done_once_and_its_warnings_are_given_every_time():
    kept, calls = sharing._Shared(), []
    kept.is_active = True

    def capture():
        calls.append(1)
        warnings.warn("sizes are baked in", UserWarning, stacklevel=1)
        return "program"

    for _ in range(3):
        with pytest.warns(UserWarning, match="sizes are baked in"):
            assert kept.once("capture", capture) == "program"
    assert len(calls) == 1


def test_a_variant_that_patches_or_prepares_shares_nothing():
    results = iter(["first", "second"])

    with sharing.share_steps(False):
        assert sharing._shared.once("capture", lambda: next(results)) == "first"
        assert sharing._shared.once("capture", lambda: next(results)) == "second"
