"""A forked process is watched until it has ended: what it sends, how it ends, what it leaves behind."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caniexport.model.status import Status
from caniexport.worker.failures import classify_error
from caniexport.worker.isolate import Child, Limits, follow_children, run_in_child

LIMITS = Limits(seconds=30.0, memory_mb=0, start_seconds=30.0)


def end_by(number):
    return lambda report: os.kill(os.getpid(), number)


def raise_error(report):
    raise ValueError("no")


def take_shared_memory(report):
    report.ready()
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 8 << 20))
        kept[-1].write(b"x" * (8 << 20))
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("work", "limits", "status", "kind"),
    [
        (end_by(signal.SIGUSR2), LIMITS, Status.CRASH, "SIGUSR2"),
        (end_by(signal.SIGKILL), LIMITS, Status.INVALID, "Killed"),
        (raise_error, LIMITS, Status.CRASH, "Exit"),
        (lambda report: time.sleep(600), LIMITS._replace(start_seconds=0.5), Status.TIMEOUT, "Timeout"),
        (take_shared_memory, LIMITS._replace(memory_mb=64), Status.OOM, "OutOfMemory"),
    ],
    ids=["signal", "killed-from-outside", "exception", "late", "memory"],
)
def test_how_a_process_ended_is_told_with_its_stage_and_what_it_printed(work, limits, status, kind):
    def staged(report):
        report.begin("export")
        os.write(1, b"the last words\n")
        work(report)

    _, child = run_in_child(staged, limits)

    assert (child.ending.status, child.ending.kind) == (status, kind)
    assert (child.stage, child.ending.output) == ("export", "the last words")


def test_each_message_has_the_time_of_one_and_a_late_one_ends_the_process():
    def work(report):
        report.ready()
        for pause in (0.3, 0.3, 0.3, 600):
            time.sleep(pause)
            report.send(pause)

    messages, child = run_in_child(work, LIMITS._replace(seconds=2.0))

    assert messages == [{"ready": True}, 0.3, 0.3, 0.3]
    assert child.ending.status is Status.TIMEOUT


def test_only_the_process_that_was_forked_speaks():
    def work(report):
        os.fork()
        report.send("once")

    messages, child = run_in_child(work, LIMITS)

    assert messages == ["once"]
    assert child.ending.code == 0


def test_several_processes_are_followed_side_by_side_and_one_may_be_added():
    def numbered(number):
        return lambda report: report.send(number)

    children = [Child(numbered(0), LIMITS), Child(numbered(1), LIMITS)]
    found = []
    for _, line in follow_children(children):
        if line is not None:
            found.append(json.loads(line))
            if len(children) < 3:
                children.append(Child(numbered(2), LIMITS))

    assert sorted(found) == [0, 1, 2]


def test_a_process_ends_with_its_parent(tmp_path):
    program = (
        "import os, time\n"
        "from caniexport.worker.isolate import Child, Limits\n"
        "def work(report):\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(tmp_path / 'pid')!r}, {str(tmp_path / 'begun')!r})\n"
        "    time.sleep(600)\n"
        "Child(work, Limits())\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        parent.kill()
    child = int((tmp_path / "begun").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}/exe").exists()


@pytest.mark.parametrize(
    ("error", "is_export", "status"),
    [
        (MemoryError(), False, Status.OOM),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True, Status.OOM),
        (RuntimeError("CUDA failure 2: out of memory ; GPU=0"), False, Status.OOM),
        (ValueError("Unsupported ONNX opset version: 25"), True, Status.UNSUPPORTED),
        (ValueError("Unsupported ONNX opset version: 25"), False, Status.FAIL),
        (RuntimeError("no rule"), True, Status.FAIL),
    ],
)
def test_an_exception_has_one_status_wherever_it_is_raised(error, is_export, status):
    assert classify_error(error, is_export) is status
