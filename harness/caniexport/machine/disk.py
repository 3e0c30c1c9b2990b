"""Disk taken by environments and by the cache they are linked from, and keeping both under a budget."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from caniexport.model.errors import CaniexportError

GIGABYTE = 10**9
#: what the largest environment takes (torch 2.x with its CUDA libraries: 4.5 to 7 GB), its download included
ENVIRONMENT = 8 * GIGABYTE
#: what uv keeps in a cache (archive-v0, wheels-v5); nothing else there is ever removed
_OF_UV = re.compile(r"[a-z-]+-v\d+|CACHEDIR\.TAG|\.gitignore|\.lock")


class BudgetTooSmallError(CaniexportError):
    """Not even one environment fits into the budget, or onto the disk."""


def count_used_bytes(folders: Iterable[Path]) -> int:
    """Bytes on disk below ``folders``; a file with several hard links counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                try:
                    found = (Path(root) / name).lstat()
                except OSError:
                    continue  # removed meanwhile
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * 512
    return total


@dataclass(frozen=True)
class Budget:
    """Bytes that ``environments`` and the ``cache`` of downloads (ours alone) may take together."""

    limit: int
    environments: Path
    cache: Path

    def check(self) -> None:
        """Raise :class:`BudgetTooSmallError` where one environment would not fit."""
        if self.limit < ENVIRONMENT:
            raise BudgetTooSmallError(
                f"--disk-budget {self.limit / GIGABYTE:g} is less than one environment may take: "
                f"at least {ENVIRONMENT / GIGABYTE:g} (GB) is needed"
            )

    def make_room(self, say: Callable[[str], None]) -> None:
        """Before the next environment: where it might not fit, the downloads go (they can be had again)."""
        taken = count_used_bytes([self.environments, self.cache])
        if taken + ENVIRONMENT > self.limit:
            say(
                f"{taken / GIGABYTE:.1f} GB taken: the downloads are removed to stay under {self.limit / GIGABYTE:g} GB"
            )
            self.finish()
        place = self.environments.parent
        if shutil.disk_usage(place).free < ENVIRONMENT:
            self.finish()
        free = shutil.disk_usage(place).free
        if free < ENVIRONMENT:
            raise BudgetTooSmallError(
                f"{free / GIGABYTE:.1f} GB are free at {place}, an environment may take {ENVIRONMENT / GIGABYTE:g} GB"
            )

    def finish(self) -> None:
        """Remove the downloads, and nothing else that lies there."""
        for item in self.cache.iterdir() if self.cache.is_dir() else ():
            if _OF_UV.fullmatch(item.name) and item.is_dir():
                shutil.rmtree(item, ignore_errors=True)
            elif _OF_UV.fullmatch(item.name):
                item.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            self.cache.rmdir()
