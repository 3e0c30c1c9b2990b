"""The disk of a rolling measurement."""

from __future__ import annotations

import pytest

from caniexport.machine.disk import DiskTooSmallError, require_room


def test_a_full_disk_is_said_with_its_numbers(small_disk):
    with pytest.raises(DiskTooSmallError, match=r"0\.0 GB are free at .*small-disk"):
        require_room(small_disk)
