"""Run work in a forked process, watch it, and say how it ended: for cells, replays and lists of operators.

The parent is warm (it has imported what the work needs) and has one thread. It forks a :class:`Child` for each batch
of cells, each operator, each archive of files. No state passes from one child to another. A child has its own process
group and memory limit, ends with its parent, and adopts orphans of its descendants. :func:`follow_children` yields the
messages of children, kills a child that exceeds its limits, and notes how each ended.

The measured code does not forge an outcome. It may crash, hang, exhaust memory, flood its output, fork, close every
descriptor, or write nonsense to each.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import select
import signal
import time
from typing import Any, Callable, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from caniexport.model.status import Status
from caniexport.worker.failures import Ending, classify_ending
from caniexport.worker.process_tree import Memory, adopt_orphans, die_with_parent, kill_group

#: exit code of a child whose work raised an exception, and of a fork of a child that uses its report
_RAISED, _IS_A_FORK = 70, 73
_POLL_SECONDS, _MEMORY_SECONDS = 0.05, 0.25
#: bytes of output to keep, of a stage's name, of one read; reads from the pipe of a dead child
_TAIL, _STAGE_WIDTH, _READ, _DRAINED = 16 * 1024, 32, 1 << 16, 16
#: bound before any work runs, which may replace them in their modules
_write, _getpid, _exit, _select = os.write, os.getpid, os._exit, select.select
_encode = json.JSONEncoder().encode


class Limits(NamedTuple):
    """Limits of a child: seconds between two messages, MiB beyond its size when ready (0: any), seconds until ready."""

    seconds: float = 60.0
    memory_mb: int = 2048
    start_seconds: float = 300.0


class Report:
    """Sends a child's messages to its parent. A fork of the child ends when it tries to."""

    def __init__(self, descriptor: int, stage: mmap.mmap, memory_mb: int) -> None:
        self._descriptor, self._stage, self._memory_mb = descriptor, stage, memory_mb
        self._owner = _getpid()

    def ready(self, message: Any = None) -> None:
        """Send the first message and apply the memory limit."""
        if self._memory_mb:
            limit_memory(self._memory_mb)
        self.send(message or {"ready": True})

    def begin(self, stage: str) -> None:
        """Note the stage that begins; the parent reads it if the process ends."""
        self._check_owner()
        self._stage[:] = stage.encode("ascii").ljust(_STAGE_WIDTH)

    def send(self, message: Any) -> None:
        """Send a JSON value."""
        self._check_owner()
        data = _encode(message).encode("utf-8") + b"\n"
        while data:
            try:
                data = data[_write(self._descriptor, data) :]
            except BlockingIOError:  # the work has made its pipes non-blocking
                _select([], [self._descriptor], [])

    def _check_owner(self) -> None:
        if _getpid() != self._owner:
            _exit(_IS_A_FORK)


class Child:
    """A process forked for ``work``, seen from its parent; ``ending`` is set when it has ended."""

    def __init__(self, work: Callable[[Report], None], limits: Limits) -> None:
        self.limits = limits
        self.ending: Optional[Ending] = None
        self._stage = mmap.mmap(-1, _STAGE_WIDTH)
        self._pipes: List[int] = []
        self._messages, messages = os.pipe()
        self._output, output = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._messages)
            os.close(self._output)
            _run_work(work, Report(messages, self._stage, limits.memory_mb), output)
        os.close(messages)
        os.close(output)
        self._pipes = [self._messages, self._output]
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            pass  # it has ended
        self._begun, self._tail = b"", b""
        self._killed: Optional[Status] = None
        self._memory: Optional[Memory] = None
        self._looked = time.monotonic()
        self._deadline = self._looked + limits.start_seconds

    @property
    def stage(self) -> str:
        """The stage that began last, empty before the first."""
        return self._stage[:].strip(b" \0").decode("ascii", "replace")

    @property
    def pipes(self) -> Sequence[int]:
        """The open descriptors to read from."""
        return self._pipes

    @property
    def is_killed(self) -> bool:
        """Whether the parent has killed it."""
        return self._killed is not None

    def kill(self, why: Optional[Status] = None) -> None:
        """Kill it with its group; ``why`` is the exceeded limit, ``CRASH`` for an invalid message."""
        self._killed = why
        kill_group(self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass  # it has just ended

    def receive(self) -> Iterator[bytes]:
        """Yield the lines that have arrived, note how it ended, and enforce its limits."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            kill_group(self.pid)
        # a grandchild may hold the pipe of a dead child open: read only what has arrived
        for pipe in list(self._pipes):
            for data in self._read(pipe, _DRAINED if pid else 1):
                if pipe == self._output:
                    self._tail = (self._tail + data)[-_TAIL:]
                    continue
                *lines, self._begun = (self._begun + data).split(b"\n")
                for line in lines:
                    self._deadline = time.monotonic() + self.limits.seconds
                    if self._memory is None and self.limits.memory_mb:
                        self._memory = Memory(self.pid)
                    yield line
        if pid:
            self._end(status)
        else:
            self._enforce()

    def _read(self, pipe: int, pieces: int) -> Iterator[bytes]:
        for _ in range(pieces):
            try:
                data = os.read(pipe, _READ)
            except BlockingIOError:
                return
            if not data:
                self._pipes.remove(pipe)
                os.close(pipe)
                return
            yield data

    def _enforce(self) -> None:
        now = time.monotonic()
        if self._killed is not None:
            return
        if now > self._deadline:
            self.kill(Status.TIMEOUT)
        elif self._memory is not None and now - self._looked >= _MEMORY_SECONDS:
            self._looked = now
            if self._memory.exceeds(self.limits.memory_mb * 1024):
                self.kill(Status.OOM)

    def _end(self, status: int) -> None:
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = []
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        self.ending = classify_ending(code, self._killed, self._tail.decode("utf-8", "replace").strip())


def follow_children(children: List[Child]) -> Iterator[Tuple[Child, Optional[bytes]]]:
    """Yield each child with each line that it sends, and with ``None`` when it has ended.

    The caller may append to ``children`` meanwhile.
    """
    followed = [child for child in children if child.ending is None]
    while followed:
        pipes = [pipe for child in followed for pipe in child.pipes]
        # one that has closed its pipes is about to end
        _select(pipes, [], [], _POLL_SECONDS if all(child.pipes for child in followed) else _POLL_SECONDS / 25)
        for child in followed:
            for line in child.receive():
                yield child, line
            if child.ending is not None:
                yield child, None
        followed = [child for child in children if child.ending is None]


def run_in_child(work: Callable[[Report], None], limits: Limits) -> Tuple[List[Any], Child]:
    """Run ``work`` in a child to its end; return its messages and the child."""
    child = Child(work, limits)
    return [json.loads(line.decode("utf-8")) for _, line in follow_children([child]) if line is not None], child


def limit_memory(megabytes: int) -> None:
    """Limit what this process may allocate from now on; an allocation beyond raises ``MemoryError``."""
    have = 0
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            have = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData"))
    except (OSError, StopIteration):
        pass
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (have + megabytes * 1024 * 1024, hard))
    except (ValueError, OSError):
        pass  # a platform without this limit; the parent watches the resident size too


def _run_work(work: Callable[[Report], None], report: Report, output: int) -> NoReturn:
    """Run the work in a process that was just forked, and end the process."""
    code = _RAISED
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, number in ((null, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, number)
        os.close(null)
        os.close(output)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        adopt_orphans()
        os.register_at_fork(after_in_child=die_with_parent)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        work(report)
        code = 0
    finally:
        # nothing may unwind into the parent's code; no atexit handlers, no flush of the parent's buffers
        _exit(code)
