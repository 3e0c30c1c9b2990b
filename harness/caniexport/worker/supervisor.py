"""Start servers that measure cells, measure doubtful cells again, and replace servers that are lost.

The supervisor lives in the pytest process and never imports torch. :meth:`Supervisor.run` yields exactly one outcome
for each cell, whatever a cell does to its process, also where torch does not import.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from caniexport.model.messages import describe
from caniexport.model.plan import Cell
from caniexport.model.status import Checker, Stage, Status
from caniexport.worker.failures import Outcome, describe_code, failed_outcome, is_kill
from caniexport.worker.isolate import Limits
from caniexport.worker.process_tree import kill_group

#: statuses that the machine may cause: a row has one only after two attempts with it
_DOUBTFUL = frozenset(item.value for item in (Status.TIMEOUT, Status.OOM, Status.CRASH, Status.INVALID))
#: seconds that a server may be silent about a child beyond its deadline
_SILENT_SECONDS = 5.0
_KEPT_ERRORS, _READ = 2000, 1 << 16


class ServerSettings(NamedTuple):
    """How to start a server."""

    cases: Sequence[Path]
    bundles: Optional[Path]
    dynamo: bool
    limits: Limits = Limits()
    bare: bool = False


class ServerFailed(Exception):
    """The server could not be started; ``status`` is the status of its cells."""

    def __init__(self, text: str, status: Status = Status.FAIL) -> None:
        super().__init__(text)
        self.status = status


class Supervisor:
    """Runs cells; no process measures two variants or two exporters. Use as a context manager."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._server: Optional[_ServerProcess] = None
        self._failed: Optional[ServerFailed] = None

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the server and its children."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def run(self, cells: Sequence[Cell], together: bool) -> Iterator[Outcome]:
        """Yield one outcome a cell, in order. Doubtful ones are measured again, with doubled limits.

        ``together`` lets one process measure several cells in turn; when it ends early, a new one takes the rest.
        """
        left = list(cells)
        try:
            while left:
                doubtful: List[Outcome] = []
                for outcome in self._attempt(left if together else left[:1], self._settings.limits, not together):
                    # the process is already at the next cell: a second attempt waits for its end
                    if doubtful or outcome.row["status"] in _DOUBTFUL:
                        doubtful.append(outcome)
                    else:
                        yield self._confirm(left.pop(0), outcome)
                for outcome in doubtful:
                    yield self._confirm(left[0], outcome)
                    del left[0]
        except ServerFailed as error:
            self._failed = error
            described = describe(Stage.IMPORT.value, "ImportError", str(error))
            for _ in left:
                yield failed_outcome(Stage.IMPORT, error.status, described, runtime="onnxruntime", attempts=1)

    def _confirm(self, cell: Cell, outcome: Outcome) -> Outcome:
        """Return the outcome, or the last one of the attempts until a doubtful status comes twice."""
        limits = self._settings.limits
        doubled = limits._replace(seconds=limits.seconds * 2, memory_mb=limits.memory_mb * 2)
        attempts = 1
        seen: Set[str] = set()
        crashed: Optional[Outcome] = None
        while outcome.row["status"] in _DOUBTFUL and outcome.row["status"] not in seen:
            seen.add(outcome.row["status"])
            if (outcome.row["status"], outcome.row["stage"]) == (Status.CRASH.value, Stage.CHECK.value):
                crashed = outcome
            (outcome,) = self._attempt([cell], doubled, is_apart=True, checks=crashed is None)
            attempts += 1
        outcome.row["attempts"] = attempts
        if crashed is None:
            return outcome
        # the last attempt ran without onnx's checker: the crash is the checker's result
        row = dict(outcome.row, checker=Checker.CRASH.value, checker_id=crashed.row["message_id"])
        return Outcome(row, dict(crashed.messages, **outcome.messages))

    def _attempt(self, cells: Sequence[Cell], limits: Limits, is_apart: bool, checks: bool = True) -> Iterator[Outcome]:
        """Yield outcomes of the first of these cells, at least one. Raises :class:`ServerFailed`."""
        if self._failed is not None:
            raise self._failed
        if self._server is None or not self._server.serves:
            self.close()
            try:
                self._server = _ServerProcess(self._settings)
            except ServerFailed:
                # somebody killed it, or the machine is busy; a second failure is reported
                self._server = _ServerProcess(self._settings)
        return self._server.measure(cells, limits, is_apart, checks)


class _ServerProcess:
    """A process of :mod:`caniexport.worker.server` with its pipes. Raises :class:`ServerFailed`."""

    def __init__(self, settings: ServerSettings) -> None:
        command = [sys.executable, "-m", "caniexport.worker.server"]
        for path in settings.cases:
            command += ["--cases", str(path)]
        if settings.bundles is not None:
            command += ["--bundles", str(settings.bundles)]
        flags = {"--dynamo": settings.dynamo, "--bare": settings.bare}
        command += [name for name, is_set in flags.items() if is_set]
        self.serves = True
        self._begun = b""
        self._warm_seconds = settings.limits.start_seconds
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_make_variables(),
            start_new_session=True,
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill the server and its group, and close the pipes."""
        kill_group(self._process.pid)
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if file is not None:
                    file.close()
            except OSError:
                pass  # a dead server's pipe

    def measure(self, cells: Sequence[Cell], limits: Limits, is_apart: bool, checks: bool) -> Iterator[Outcome]:
        """Yield each outcome when it arrives."""
        request = {"cells": cells, "limits": limits, "apart": is_apart, "checks": checks}
        count, expected = 0, 0
        try:
            assert self._process.stdin is not None
            self._process.stdin.write((json.dumps(request) + "\n").encode("utf-8"))
            self._process.stdin.flush()
        except OSError:
            pass  # it is dead: the first read notices it
        while True:
            # without a child the server may still be warming up
            message = self._receive(limits.seconds + _SILENT_SECONDS if count < expected else self._warm_seconds)
            if message is None or "end" in message:
                break
            if "row" in message:
                count += 1
                yield Outcome(**message)
            else:
                expected = count + message["ready"]
        self.serves = message is not None
        if message is None and count < len(cells):
            how = "was killed from outside" if self._has_ended() else "does not answer"
            yield _make_lost_outcome("the parent of the measuring process " + how)

    def _receive(self, seconds: float) -> Optional[Dict[str, Any]]:
        """Return the next message, ``None`` when the server ends or is silent for so long."""
        assert self._process.stdout is not None
        pipe, deadline = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._begun:
            left = deadline - time.monotonic()
            data = os.read(pipe, _READ) if left > 0 and select.select([pipe], [], [], left)[0] else b""
            if not data:
                return None
            self._begun += data
        line, _, self._begun = self._begun.partition(b"\n")
        message: Dict[str, Any] = json.loads(line.decode("utf-8"))
        return message

    def _has_ended(self) -> bool:
        try:
            self._process.wait(_SILENT_SECONDS / 5)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _wait_until_ready(self) -> None:
        message = self._receive(self._warm_seconds)
        if message is None and self._has_ended():
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _KEPT_ERRORS))
            text, code = self._errors.read().decode("utf-8", "replace").strip(), self._process.returncode
            problem = "{} while importing torch and warming up\n{}".format(describe_code(code), text)
            raise ServerFailed(problem, Status.INVALID if is_kill(code) else Status.FAIL)
        if message is None:
            raise ServerFailed("importing torch and warming up took more than {:.0f} s".format(self._warm_seconds))
        if "error" in message:
            raise ServerFailed(message["error"])


def _make_variables() -> Dict[str, str]:
    """Return the variables of a server: one thread in every library, since only a single-threaded process forks safely.

    onnxruntime 1.31 starts a telemetry thread when it is imported. Torch 2.3 starts a pool of compilers with the first
    captured program. Torch's database of operators draws samples in the order of sets, so processes need one hash seed.
    A fork of large pages costs half of one of small pages.
    """
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        environment[name] = "1"
    environment["ORT_DISABLE_TELEMETRY"] = "1"
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONHASHSEED"] = "0"
    environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    return environment


def _make_lost_outcome(text: str) -> Outcome:
    """Return the outcome of a cell whose server is gone; its stage is unknown."""
    stage = Stage.EAGER
    described = describe(stage.value, "Killed", "{} in stage {}".format(text, stage.value))
    return failed_outcome(stage, Status.INVALID, described, runtime="onnxruntime")
