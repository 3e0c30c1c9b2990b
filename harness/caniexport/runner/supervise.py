"""Watching over the serving process: a bundle that kills or hangs it gets its own row, and the next one goes on.

The supervisor never imports the runtime. What ended a process is confirmed by running that bundle once more, as the
first of a new one: memory that an earlier bundle has spoilt must not be charged to a later one. The new process then
goes on with the rest, so that a row of bundles that crash costs one start each.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from caniexport.model.messages import describe
from caniexport.model.status import Stage, Status
from caniexport.runner import beside
from caniexport.runner.adapters.base import Running, Unavailable
from caniexport.runner.one import ReplayOutcome, ended
from caniexport.worker.process_tree import Memory, kill_group

_TAIL = 16 * 1024
#: bytes that a pipe holds, and seconds in which it may fill: a hundred rows need half of either
_PIPE, _COLLECT = 64 * 1024, 0.01
#: seconds between two looks at the memory of a process that says nothing
_POLL_SECONDS = 0.25
_SIGNALS = {-member.value: member.name for member in signal.Signals}


class ReplaySettings(NamedTuple):
    """What to run on, and what one bundle may take: seconds of wall time, MiB beyond the started runtime (0: any).

    ``command`` starts this package: ``python -m caniexport.runner``, or ``python ARCHIVE``.
    """

    command: Sequence[str]
    archive: Path
    runtime: str
    provider: str
    seconds: float = 60.0
    memory_mb: int = 4096
    start_seconds: float = 300.0


class _Died(Exception):
    """The serving process is gone, or had to be ended: how, and what it last said."""

    def __init__(self, status: Status, kind: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind


class ReplaySupervisor:
    """Runs bundles one after the other. Use as a context manager."""

    def __init__(self, settings: ReplaySettings) -> None:
        self._settings = settings
        self._child: Optional[_ServingProcess] = None

    def __enter__(self) -> ReplaySupervisor:
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()

    def start(self) -> Running:
        """Start the runtime once, to see whether it does. Raises :class:`Unavailable`."""
        with _ServingProcess(self._settings, []) as child:
            return child.running

    def run(self, places: Sequence[int]) -> Iterator[Tuple[int, ReplayOutcome]]:
        """(place in the archive, outcome) for each of these entries, in their order.

        Raises :class:`Unavailable` where the runtime cannot be started.
        """
        left = list(places)
        left.reverse()
        again: Optional[_Died] = None
        while left:
            if self._child is None:
                self._child = _ServingProcess(self._settings, left[::-1])
            try:
                # late once may be a busy machine: the second time it gets twice as long
                seconds = self._settings.seconds * (2 if again and again.status is Status.TIMEOUT else 1)
                outcome = self._child.outcome(left[-1], seconds)
            except _Died as died:
                stage, so_far = self._child.stage, self._child.so_far
                self._end()
                if again is None:
                    # it may be an earlier bundle's doing, a busy machine's or a kill from outside: once more, alone
                    again = died
                    continue
                text = str(died)
                if so_far is None:
                    outcome = ended(stage, died.status, describe(stage.value, died.kind, text, text[:200]))
                else:
                    outcome = beside.lost(so_far, died.status, text)
            again = None
            yield left.pop(), outcome

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class _ServingProcess:
    """One serving process. Raises :class:`Unavailable` where it does not come up."""

    def __init__(self, settings: ReplaySettings, places: Sequence[int]) -> None:
        self._output = tempfile.TemporaryFile()
        arguments = ["serve", str(settings.archive), settings.runtime, settings.provider, str(settings.memory_mb)]
        self._process = subprocess.Popen(
            [*settings.command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            env=_environment(),
            start_new_session=True,
        )
        self._lines: "queue.SimpleQueue[Optional[bytes]]" = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.stage = Stage.LOAD
        #: the bundle's row, where only the CPU provider is still to be asked
        self.so_far: Optional[ReplayOutcome] = None
        self._memory: Optional[Memory] = None
        self._memory_mb = settings.memory_mb
        try:
            self._send(places)
            self.running = self._started(settings.start_seconds)
            if settings.memory_mb and settings.provider == "cpu":
                # what its processes gain together from here on, shared memory too; one's own it is limited in itself
                self._memory = Memory(self._process.pid)
                self._memory.exceeds(0)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> _ServingProcess:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def outcome(self, place: int, seconds: float) -> ReplayOutcome:
        """The next bundle's row, which is that of ``place``. Raises :class:`_Died`."""
        self.stage, self.so_far = Stage.LOAD, None
        deadline = time.monotonic() + seconds
        while True:
            word, rest = self._line(deadline, seconds)
            if word == "at":
                self.stage = Stage(rest)
                continue
            number, _, text = rest.partition(" ")
            assert int(number) == place, (number, place)
            outcome = ReplayOutcome(**json.loads(text))
            if word == "row":
                return outcome
            self.so_far, deadline = outcome, time.monotonic() + seconds

    def close(self) -> None:
        """End the process, whatever it does, and what a runtime has started beside it."""
        kill_group(self._process.pid)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._output):
            if file is not None:
                file.close()

    def _send(self, places: Sequence[int]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join("{}\n".format(place) for place in places).encode("ascii"))
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it died at once; the first line that does not come says how

    def _started(self, seconds: float) -> Running:
        try:
            word, rest = self._line(time.monotonic() + seconds, seconds)
        except _Died as died:
            raise Unavailable(Stage.IMPORT, "the runtime does not start: {}".format(died)) from died
        found: Dict[str, Any] = json.loads(rest)
        if word == "unavailable":
            raise Unavailable(Stage(found["stage"]), found["text"])
        return Running(**found)

    def _line(self, deadline: float, seconds: float) -> Tuple[str, str]:
        line = self._next(deadline, seconds)
        if line is None:
            raise self._how_it_ended()
        word, _, rest = line.decode("utf-8").partition(" ")
        return word, rest

    def _next(self, deadline: float, seconds: float) -> Optional[bytes]:
        """The next line, ``None`` at their end. Raises :class:`_Died` where it takes too long or too much memory."""
        while True:
            left = deadline - time.monotonic()
            try:
                return self._lines.get(timeout=max(0.0, min(left, _POLL_SECONDS)))
            except queue.Empty:
                if left <= 0:
                    self._process.kill()
                    raise _Died(Status.TIMEOUT, "Timeout", "still running after {:g} s".format(seconds)) from None
                if self._memory is not None and self._memory.exceeds(self._memory_mb * 1024):
                    self._process.kill()
                    raise _Died(Status.OOM, "OutOfMemory", "more than {} MiB".format(self._memory_mb)) from None

    def _read(self) -> None:
        """Lines into the queue; a line that has no end was cut off by the process's death.

        The pipe is left to fill for a moment between two readings: two processes that wake each other for every line
        pay more for that than for the lines.
        """
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            begun = b""
            while True:
                data = os.read(pipe.fileno(), _PIPE)
                if not data:
                    break
                *lines, begun = (begun + data).split(b"\n")
                for line in lines:
                    self._lines.put(line)
                time.sleep(_COLLECT)
        self._lines.put(None)

    def _how_it_ended(self) -> _Died:
        code = self._process.wait()
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _TAIL))
        said = self._output.read().decode("utf-8", "replace").strip()
        name = _SIGNALS.get(code, "exit code {}".format(code))
        if name == "SIGKILL":
            # no limit of ours: those kills are told where they are sent
            return _Died(Status.INVALID, "Killed", "killed from outside")
        return _Died(Status.CRASH, name, "\n".join(filter(None, ["ended by " + name, said])))


def _environment() -> Dict[str, str]:
    """Nothing is written beside the code; no thread of a mathematics library but the one."""
    settings: Dict[str, Union[str, int]] = {"PYTHONDONTWRITEBYTECODE": 1, "OMP_NUM_THREADS": 1, "PYTHONUNBUFFERED": 1}
    return {**os.environ, **{name: str(value) for name, value in settings.items()}}


def shares(places: Sequence[int], workers: int) -> List[List[int]]:
    """The places dealt to so many workers; neighbours, which are alike in size, to different ones."""
    return [list(places[worker::workers]) for worker in range(min(workers, len(places)) or 1)]
