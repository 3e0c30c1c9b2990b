"""Cells that break their process, or try to break their neighbours. The file's name sorts before the other cases'."""

import ctypes
import os
import signal
import sys
import time
from contextlib import contextmanager

import torch

from harness.worker.case import Case, fix
from harness.worker.tensors import f32


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


class FaultClosesDescriptors(_Fault):
    """Closes every descriptor that is not its own."""

    def forward(self, x):
        os.closerange(3, 256)
        return x + 1


class FaultLeavesProcess(_Fault):
    """Starts a process that outlives it, and is right."""

    def forward(self, x):
        # not subprocess: its warning of a running process would name the process id
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000003")
        return x + 1


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
