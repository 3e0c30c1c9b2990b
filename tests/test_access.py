"""What the served app answers to, and what it lets a browser do."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from browser_fixtures import MARKS
from mini import runner

from caniexport.home import VARIABLE
from dashboard.access import name_of

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


def ask(port, host, path="/", **headers):
    """Status, headers and text of one request; ``host`` is what the browser thinks it is talking to."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {**({"Host": host} if host is not None else {}), **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    reply = connection.getresponse()
    text = reply.read().decode("utf-8", "replace")
    connection.close()
    return reply.status, reply.headers, text


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LOCALHOST", "measured.example", "other.example"],
)
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/case?case=x"])
def test_a_request_under_a_name_of_its_own_is_answered(served, host, path):
    port, _ = served
    for asked in (host, f"{host}:{port}"):
        assert ask(port, asked, path)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "measured.example.evil", "192.0.2.7", "", "[", None],
)
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/host-config"])
def test_a_request_under_a_foreign_name_is_refused_and_told_which_are_not(served, host, path):
    port, _ = served
    status, headers, text = ask(port, host, path)

    assert 400 <= status < 500
    # without any name the server itself refuses
    if host is not None:
        assert status == 403
        assert repr(host) in text
        assert "localhost, 127.0.0.1, [::1], 127.0.0.1, measured.example".replace(" 127.0.0.1, m", " m") in text
        assert "caniexport dashboard --host NAME" in text
        assert headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(("host", "status"), [("evil.example", 403), ("localhost", 101)])
def test_a_web_socket_under_a_foreign_name_is_refused(served, host, status):
    port, _ = served
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": f"http://{host}:{port}"}
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        lines = [f"{name}: {value}" for name, value in {"Host": f"{host}:{port}", **upgrade, **key}.items()]
        wire.sendall(("\r\n".join(["GET /_stcore/stream HTTP/1.1", *lines]) + "\r\n\r\n").encode())
        assert wire.recv(100).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("path", ["/", "/matrix", "/_stcore/health", "/no-such-file.js"])
def test_every_reply_says_what_a_browser_may_do_with_it(served, path):
    port, _ = served
    _, headers, _ = ask(port, f"localhost:{port}", path)
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))

    assert headers["x-content-type-options"] == "nosniff"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in policy["script-src"] and "http" not in policy["script-src"]
    assert policy["connect-src"] == f"'self' ws://localhost:{port} wss://localhost:{port}"


def test_two_names_in_one_request_are_refused(served):
    port, _ = served
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert wire.recv(100).split()[1][:1] == b"4"


@pytest.mark.parametrize(
    ("host", "name"),
    [("A.b:8501", "a.b"), ("[::1]:8501", "::1"), ("::1", "::1"), ("127.0.0.1", "127.0.0.1"), ("[", ""), ("", "")],
)
def test_the_name_of_a_host_has_no_port(host, name):
    assert name_of(host) == name


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_a_dashboard_that_is_ended_leaves_no_process(tmp_path, how):
    (tmp_path / "cases").mkdir()
    mark = f"mark-{os.urandom(6).hex()}"
    port = _free_port()
    # below nohup it is ignored, by whatever is started there too
    ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = _start(tmp_path, port, mark=mark)
    signal.signal(signal.SIGHUP, ours)
    assert ask(port, "localhost")[0] == 200
    assert runner.processes(MARK, mark)

    process.send_signal(how)
    process.wait(20)

    end = time.monotonic() + 30
    while runner.processes(MARK, mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert runner.processes(MARK, mark) == []


class TestInABrowser:
    """The policy holds in a real Chromium."""

    pytestmark = MARKS

    def test_a_script_that_was_written_into_a_page_does_not_run_and_ours_do(self, chromium, address):
        page = chromium.new_context().new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(address + "/matrix")
        page.wait_for_selector("#root .matrix")
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.bad = 1'}))")
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.bad = 2\">')")
        page.wait_for_timeout(300)

        assert page.evaluate("[window.bad ?? null, window.caniexport]") == [None, True]
        assert [text for text in said if "Content Security Policy" in text]

    def test_a_page_elsewhere_cannot_frame_it(self, chromium, address):
        page = chromium.new_context().new_page()
        page.set_content(f'<iframe src="{address}/"></iframe>')
        page.wait_for_timeout(1500)

        assert not page.frames[1].query_selector("#root")
