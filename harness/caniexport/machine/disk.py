"""The disk that an environment needs."""

from __future__ import annotations

import shutil
from pathlib import Path

from caniexport.model.errors import CaniexportError

GIGABYTE = 10**9
#: what the largest environment takes (torch 2.x with its CUDA libraries: 4.5 to 7 GB), its download included
ENVIRONMENT = 8 * GIGABYTE


class DiskTooSmallError(CaniexportError):
    """Not even one environment fits onto the disk."""


def require_room(place: Path) -> None:
    """Raise :class:`DiskTooSmallError` where an environment might not fit."""
    free = shutil.disk_usage(place).free
    if free < ENVIRONMENT:
        raise DiskTooSmallError(
            f"{free / GIGABYTE:.1f} GB are free at {place}, an environment may take {ENVIRONMENT / GIGABYTE:g} GB"
        )
