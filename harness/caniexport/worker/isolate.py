"""One isolation for whatever is measured: a process is forked for one piece of work, and watched until it has ended.

The parent is warm (it has imported what the work needs) and has one thread. It forks a :class:`Child` for each batch
of cells, each operator, each archive of files; nothing that the work leaves in its process reaches another's. A child
has a group of its own, ends with its parent, adopts what its descendants leave behind, and may allocate no more than
its limit. :func:`follow` hands on what children send, kills one that is late or too large, and says how each ended.

The code that is measured is trusted not to forge an outcome. It may crash, hang, exhaust memory, flood its output,
fork, close every descriptor, or write nonsense to each.
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
from caniexport.worker.failures import Ending, ending_of
from caniexport.worker.process_tree import Memory, adopt_orphans, die_with_parent, kill_group

#: exit code of a child whose work raised something, and of a fork of it that went on as if it were the child
_RAISED, _IS_A_FORK = 70, 73
_POLL_SECONDS, _MEMORY_SECONDS = 0.05, 0.25
#: bytes of output that are kept, of a stage's name, and that one read takes; reads from a pipe whose child is dead
_TAIL, _STAGE_WIDTH, _READ, _DRAINED = 16 * 1024, 32, 1 << 16, 16
#: taken before any work runs, which may replace them in their modules
_write, _getpid, _exit, _select = os.write, os.getpid, os._exit, select.select
_encode = json.JSONEncoder().encode


class Limits(NamedTuple):
    """What a child may take: seconds between two messages, MiB beyond what it had when it was ready (0: any).

    ``start_seconds`` is the time until it is ready (:meth:`Report.ready`).
    """

    seconds: float = 60.0
    memory_mb: int = 2048
    start_seconds: float = 300.0


class Report:
    """What a child tells its parent. Only the forked process itself does: a fork of it ends where it would."""

    def __init__(self, descriptor: int, stage: mmap.mmap, memory_mb: int) -> None:
        self._descriptor, self._stage, self._memory_mb = descriptor, stage, memory_mb
        self._owner = _getpid()

    def ready(self, message: Any = None) -> None:
        """Send the first message: from here on the limits hold."""
        if self._memory_mb:
            limit_memory(self._memory_mb)
        self.send(message or {"ready": True})

    def begin(self, stage: str) -> None:
        """Note the stage that begins, for a parent that finds the process dead or late."""
        self._check_owner()
        self._stage[:] = stage.encode("ascii").ljust(_STAGE_WIDTH)

    def send(self, message: Any) -> None:
        """Send a message, anything that JSON has."""
        self._check_owner()
        data = _encode(message).encode("utf-8") + b"\n"
        while data:
            try:
                data = data[_write(self._descriptor, data) :]
            except BlockingIOError:  # the work has told its pipes not to wait
                _select([], [self._descriptor], [])

    def _check_owner(self) -> None:
        if _getpid() != self._owner:
            _exit(_IS_A_FORK)


class Child:
    """A process forked for ``work``, as its parent sees it.

    ``ending`` is there once it has ended. Its work is done where its exit code is 0 and it has sent all it was to send.
    """

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
            _work(work, Report(messages, self._stage, limits.memory_mb), output)
        os.close(messages)
        os.close(output)
        self._pipes = [self._messages, self._output]
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            pass  # it is gone already
        self._begun, self._tail = b"", b""
        self._killed: Optional[Status] = None
        self._memory: Optional[Memory] = None
        self._looked = time.monotonic()
        self._deadline = self._looked + limits.start_seconds

    @property
    def stage(self) -> str:
        """The stage that it began last, empty where it began none."""
        return self._stage[:].strip(b" \0").decode("ascii", "replace")

    @property
    def pipes(self) -> Sequence[int]:
        """Descriptors on which something may arrive."""
        return self._pipes

    @property
    def is_killed(self) -> bool:
        """Whether its parent has ended it."""
        return self._killed is not None

    def kill(self, why: Optional[Status] = None) -> None:
        """End it with its group; ``why`` is the limit that it passed, ``CRASH`` for nonsense that it sent."""
        self._killed = why
        kill_group(self.pid)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass  # it ended by itself in this moment

    def receive(self) -> Iterator[bytes]:
        """Give the lines that have arrived; notes how it ended, and enforces its limits."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            kill_group(self.pid)
        # a grandchild may hold the pipe of a dead child open: what is there is all that is taken
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
        self.ending = ending_of(code, self._killed, self._tail.decode("utf-8", "replace").strip())


def follow(children: List[Child]) -> Iterator[Tuple[Child, Optional[bytes]]]:
    """Give each child with each line that it sends, and ``None`` once it has ended. The caller may add children."""
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


def call(work: Callable[[Report], None], limits: Limits) -> Tuple[List[Any], Child]:
    """Do one piece of work in a child; return the messages that it sent, and the child, which has ended."""
    child = Child(work, limits)
    return [json.loads(line.decode("utf-8")) for _, line in follow([child]) if line is not None], child


def limit_memory(megabytes: int) -> None:
    """Limit what this process may allocate beyond what it has; an allocation above fails like a full machine's."""
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
        pass  # a platform without this limit; the parent watches the resident size as well


def _work(work: Callable[[Report], None], report: Report, output: int) -> NoReturn:
    """Do the work in a process that was just forked, and end it."""
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
        # nothing may unwind into the parent's code; no atexit handlers, no flushing of what the parent had buffered
        _exit(code)
