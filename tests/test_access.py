"""Under which names the served app gives data, and that it ends whole."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from mini import runner

from caniexport.home import VARIABLE

MARK = "CANIEXPORT_TEST_MARK"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The app as ``caniexport dashboard`` serves it on every address: its port and its process."""
    home = tmp_path_factory.mktemp("home")
    (home / "cases").mkdir()
    port = _free_port()
    process = _start(home, port, "--address", "0.0.0.0", "--host", "Measured.example", "--host", "other.example")
    yield port, process
    process.terminate()
    process.wait(20)


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _start(home, port, *words, mark="none"):
    line = [sys.executable, "-c", "from caniexport.cli import main; main()", "dashboard", "--port", str(port), *words]
    environ = {**os.environ, VARIABLE: str(home), MARK: mark}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # a shell's background command ignores interrupts, and so does all that it starts
    hears = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = subprocess.Popen(line, env=environ, **quiet, **hears)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
            return process
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the dashboard does not answer")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 101)
            for host in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST", "measured.example", "other.example")
        ),
        *((host, 403) for host in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "192.0.2.7")),
    ],
)
def test_data_goes_to_pages_under_a_name_of_its_own_alone(served, host, status):
    port, _ = served
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": f"http://{host}:{port}"}
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        lines = [f"{name}: {value}" for name, value in {"Host": f"{host}:{port}", **upgrade, **key}.items()]
        wire.sendall(("\r\n".join(["GET /_stcore/stream HTTP/1.1", *lines]) + "\r\n\r\n").encode())
        assert wire.recv(100).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_a_dashboard_that_is_ended_leaves_no_process(tmp_path, how):
    (tmp_path / "cases").mkdir()
    mark = f"mark-{os.urandom(6).hex()}"
    port = _free_port()
    # below nohup it is ignored, by whatever is started there too
    ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = _start(tmp_path, port, mark=mark)
    signal.signal(signal.SIGHUP, ours)
    assert runner.processes(MARK, mark)

    process.send_signal(how)
    process.wait(20)

    end = time.monotonic() + 30
    while runner.processes(MARK, mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert runner.processes(MARK, mark) == []
