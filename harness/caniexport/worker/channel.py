"""Lines between the processes that measure: written by one process alone, whole, whatever a case does to the pipe."""

from __future__ import annotations

import json
import os
import select
from typing import Any, Dict, Iterator, List

#: exit code of a process that a case forked and that went on as if it were the one that measures
NOT_THE_OWNER = 73
# taken before any case has run: one that replaces them in their modules must not speak for the next
_write, _getpid, _exit, _select = os.write, os.getpid, os._exit, select.select
_encode = json.JSONEncoder().encode


def encoded(message: Dict[str, Any]) -> bytes:
    """A message as one line of JSON, without its end."""
    return _encode(message).encode("utf-8")


class Channel:
    """The writing end of a pipe. Only the process that made the object writes: a fork of it ends where it would."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = _getpid()

    def send(self, message: Dict[str, Any]) -> None:
        """Write a message as one line."""
        self.write(encoded(message) + b"\n")

    def close(self) -> None:
        """Give the pipe up in this process."""
        os.close(self._descriptor)

    def write(self, data: bytes) -> None:
        """Write all of it, also where a case has told the pipe not to wait."""
        if _getpid() != self._owner:
            # a case forked, and both sides went on: the other one tells what happened
            _exit(NOT_THE_OWNER)
        while data:
            try:
                data = data[_write(self._descriptor, data) :]
            except BlockingIOError:
                _select([], [self._descriptor], [])


class Lines:
    """Whole lines out of pieces as they arrive; a line that is cut off is never one."""

    def __init__(self) -> None:
        self._begun = b""

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self._begun += data

    def whole(self) -> Iterator[bytes]:
        """The lines that have their end now."""
        lines: List[bytes]
        *lines, self._begun = self._begun.split(b"\n")
        return iter(lines)
