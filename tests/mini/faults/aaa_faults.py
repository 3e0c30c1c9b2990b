"""Cells that break their process, or try to break their neighbours. The file's name sorts before the other cases'."""

import contextlib
import ctypes
import gc
import mmap
import os
import signal
import sys
import time
import weakref
from contextlib import contextmanager

import torch

from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32


class _Fault(Case):
    sources = ("mini:fault",)
    exporters = ("default",)
    inputs = ((f32(2),), (f32(2),))


def _exporting():
    return torch.onnx.is_in_onnx_export()


class FaultSegfault(_Fault):
    """Reads address 0 while exporting."""

    def forward(self, x):
        if _exporting():
            ctypes.string_at(0)
        return x + 1


class FaultCrashesChecker(_Fault):
    """onnx's checker reads address 0, whatever the file."""

    @staticmethod
    def facts(_model):
        import onnx.checker

        onnx.checker.check_model = lambda *_, **__: ctypes.string_at(0)
        return {}

    def forward(self, x):
        return x + 1


class FaultFacts(_Fault):
    """Cannot note what it wants to of the file."""

    @staticmethod
    def facts(_model):
        return {"smallest": min([])}

    def forward(self, x):
        return x + 1


class FaultFactsWithoutEnd(_Fault):
    """Notes what is no JSON value."""

    @staticmethod
    def facts(_model):
        found = {}
        found["self"] = found
        return found

    def forward(self, x):
        return x + 1


class FaultExit(_Fault):
    """Ends the process as if all were well."""

    def forward(self, x):
        os._exit(0)


class FaultSystemExit(_Fault):
    """Raises SystemExit while exporting."""

    def forward(self, x):
        if _exporting():
            sys.exit(0)
        return x + 1


class FaultEndlessLoop(_Fault):
    """Never returns from Python."""

    def forward(self, x):
        while _exporting():
            pass
        return x + 1


class FaultEndlessNative(_Fault):
    """Refuses signals, and never returns from a native call that holds the interpreter lock."""

    def forward(self, x):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ctypes.PyDLL(None).sleep(1000000)
        return x + 1


class FaultMemory(_Fault):
    """Takes memory without bound."""

    def forward(self, x):
        kept = []
        while True:
            kept.append(bytearray(b"x" * (8 << 20)))


class FaultMemoryQuiet(_Fault):
    """Takes memory without bound and swallows the refusal."""

    def forward(self, x):
        kept = []
        while True:
            try:
                kept.append(bytearray(b"x" * (8 << 20)))
            except MemoryError:
                time.sleep(0.01)


class FaultFloodFinite(_Fault):
    """Prints a lot, also past Python, and is right."""

    def forward(self, x):
        for _ in range(64):
            print("flood " * 10000)
            sys.stderr.write("flood " * 10000)
            os.write(1, b"\xff\x00" * 30000)
        return x + 1


class FaultFloodEndless(_Fault):
    """Prints without end."""

    def forward(self, x):
        while True:
            os.write(1, b"flood " * 10000)


class FaultKillsParent(_Fault):
    """Kills the process it was forked from."""

    def forward(self, x):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000000)
        return x + 1


class FaultStopsParent(_Fault):
    """Stops the process it was forked from: it will never tell that this one has ended."""

    def forward(self, x):
        os.kill(os.getppid(), signal.SIGSTOP)
        return x + 1


class FaultClosesDescriptors(_Fault):
    """Closes every descriptor that is not its own: it cannot tell how its cell ends."""

    def forward(self, x):
        os.closerange(3, 256)
        return x + 1


class FaultLeavesProcess(_Fault):
    """Starts a process that outlives it, and is right."""

    def forward(self, x):
        # not subprocess: its warning of a running process would name the process id
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000003")
        return x + 1


class FaultForkBothGoOn(_Fault):
    """Forks, and both processes go on as if nothing had happened."""

    def forward(self, x):
        if not _exporting():
            os.fork()
        return x + 1


class FaultForkExitsHere(_Fault):
    """Forks; the one that measures ends well, the other goes on."""

    def forward(self, x):
        if os.fork():
            os._exit(0)
        return x + 1


class FaultSession(_Fault):
    """Starts a process in a session of its own, whose parent has ended, and is right."""

    def forward(self, x):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execlp("sleep", "sleep", "1000003")
            os._exit(0)
        return x + 1


class FaultWritesEverywhere(_Fault):
    """Writes to every pipe that is open."""

    def forward(self, x):
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(descriptor, b'{"batch": 1, "cell": 0, "row": {"status": "pass"}, "messages": {}}\n')
        return x + 1


class FaultForeignStage(_Fault):
    """Notes a stage that there is none of, in whatever file is open, and dies."""

    def forward(self, x):
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError, ValueError):
                batch, cell, _ = os.pread(descriptor, 64, 0).split()
                os.pwrite(descriptor, b"%s %s garbage".ljust(64) % (batch, cell), 0)
        os._exit(3)


class FaultForeignRow(_Fault):
    """Tells a row of its own for whatever is measured, on every pipe, line after line."""

    def forward(self, x):
        while True:
            for descriptor in range(3, 64):
                with contextlib.suppress(OSError):
                    os.write(descriptor, b'{"batch": 1, "ended": 0}\n')


class FaultDoesNotWait(_Fault):
    """Tells every open pipe not to wait, and prints more than one holds."""

    def forward(self, x):
        for descriptor in range(64):
            with contextlib.suppress(OSError):
                os.set_blocking(descriptor, False)
        for _ in range(64):
            with contextlib.suppress(BlockingIOError):
                os.write(1, b"flood " * 10000)
        return x + 1


class FaultSharedMemory(_Fault):
    """Takes memory without bound that it shares with another process."""

    def forward(self, x):
        kept = []
        os.fork()
        while True:
            kept.append(mmap.mmap(-1, 8 << 20))
            kept[-1].write(b"x" * (8 << 20))
            time.sleep(0.005)


class FaultMemoryOfChildren(_Fault):
    """Has a few processes take more memory than it may, each of them less."""

    def forward(self, x):
        for _ in range(8):
            if os.fork() == 0:
                self.kept = bytearray(b"x" * (100 << 20))
                time.sleep(1000000)
        time.sleep(1000000)
        return x + 1


class _Ring:
    """What only the garbage collector finds."""

    def __init__(self):
        self.me = self


LEFT = weakref.WeakSet()


class FaultGarbage(_Fault):
    """Leaves an old ring of objects to the collector, and fails where that of another cell is still there."""

    def setup(self):
        self.left = len(LEFT)

    def forward(self, x):
        if self.left:
            raise RuntimeError("left behind by another cell")
        if _exporting():
            ring = _Ring()
            LEFT.add(ring)
            gc.collect()
        return x + 1

    again = fix("rewrite", "the same once more")


class FaultMonkeypatch(_Fault):
    """Replaces torch.onnx.export, a numpy function and the addition of tensors."""

    def forward(self, x):
        import numpy

        def refuse(*args, **kwargs):
            raise RuntimeError("left behind by another cell")

        torch.onnx.export = torch.onnx.Writer.model = numpy.add = refuse
        torch.Tensor.__add__ = refuse
        os.environ["OMP_NUM_THREADS"] = "left behind by another cell"
        os.chdir("/")
        return x * 2


@contextmanager
def register_and_forget(opset):
    def cube(graph, x):
        return graph.op("Neg", x)

    torch.onnx.register_custom_op_symbolic("mini::cube", cube, 7)
    yield


class FaultSymbolic(Case):
    """Registers a rule, a wrong one, and leaves it there."""

    sources = ("mini:fault",)
    exporters = ("torchscript-trace",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        return torch.cube(x)

    registered = fix("custom-symbolic", "a wrong rule", patch=register_and_forget)
