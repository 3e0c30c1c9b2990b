"""Where a measuring process is: a small file that it writes and its supervisor reads when it has died or is late.

Written before each stage begins. A file and not a message: most cells end well, and then nobody asks.
"""

from __future__ import annotations

import os
from typing import Optional

from caniexport.model.status import Stage
from caniexport.worker.channel import NOT_THE_OWNER

_WIDTH = 64
_STAGES = frozenset(stage.value for stage in Stage)
# taken before any case has run, since one may replace them in their module
_pwrite, _getpid, _exit = os.pwrite, os.getpid, os._exit


class Stages:
    """The file, by its descriptor; forked children share it with the supervisor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = _getpid()

    def take(self) -> None:
        """It is this process that notes from now on; a fork of it ends where it would."""
        self._owner = _getpid()

    def note(self, batch: int, cell: int, stage: Stage) -> None:
        """This process begins ``stage`` of a cell of a batch."""
        if _getpid() != self._owner:
            _exit(NOT_THE_OWNER)
        text = "{} {} {}\n".format(batch, cell, stage.value)
        _pwrite(self._descriptor, text.ljust(_WIDTH).encode("ascii"), 0)

    def at(self, batch: int, cell: int) -> Optional[Stage]:
        """The last stage begun of this cell; ``None`` where it was not begun."""
        words = os.pread(self._descriptor, _WIDTH, 0).decode("ascii", "replace").split()
        if len(words) != 3 or words[:2] != [str(batch), str(cell)] or words[2] not in _STAGES:
            return None  # also what a case has written there itself
        return Stage(words[2])
