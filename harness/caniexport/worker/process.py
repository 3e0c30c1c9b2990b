"""What a process may allocate, and what it has gained."""

from __future__ import annotations

import os
from typing import List


def limit_memory(megabytes: int) -> None:
    """Limit what this process may allocate beyond what it has; an allocation above fails like a full machine's."""
    import resource

    have = 0
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            have = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
    except (OSError, StopIteration):
        pass
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        # the soft limit alone: the next batch sets its own
        resource.setrlimit(resource.RLIMIT_DATA, (have + megabytes * 1024 * 1024, hard))
    except (ValueError, OSError):
        pass  # a platform without this limit; the supervisor watches the resident size as well
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


_first_size: List[int] = []


def grown() -> int:
    """MiB of memory this process has gained since it asked first; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[5])
    except (OSError, ValueError, IndexError):
        return 0
    size = pages * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)
    if not _first_size:
        _first_size.append(size)
    return size - _first_size[0]
