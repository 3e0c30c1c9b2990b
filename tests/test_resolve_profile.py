"""What a profile installs is resolved from an index, and where it cannot be the reason is said."""

from __future__ import annotations

import json
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from caniexport.measure.resolve_profile import resolve_profile
from caniexport.model import releases
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.profiles import find_profile

#: package, version, day of its upload
FILES = (
    ("torch", "2.9.1", "2025-11-12"),
    ("onnx", "1.19.1", "2025-10-10"),
    ("onnx", "1.23.2", "2026-09-01"),
    ("onnxruntime", "1.23.2", "2025-10-22"),
    ("numpy", "2.3.5", "2025-11-16"),
    ("onnxscript", "0.5.6", "2025-10-31"),
    ("onnxscript", "0.5.7", "2025-12-16"),
)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder; pages of the index are JSON."""

    def log_message(self, *_):
        pass

    def guess_type(self, path):
        return "application/vnd.pypi.simple.v1+json" if path.endswith("index.html") else super().guess_type(path)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """``index(dated)`` serves the files, with the days of their uploads or without, and is the only index."""
    folder = tmp_path / "index"

    def serve(dated):
        for name, version, day in FILES:
            (folder / name).mkdir(parents=True, exist_ok=True)
            file = f"{name}-{version}-py3-none-any.whl"
            with zipfile.ZipFile(folder / name / file, "w") as wheel:
                info = f"{name}-{version}.dist-info"
                wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
                wheel.writestr(f"{info}/RECORD", "")
            page = folder / name / "index.html"
            known = (
                json.loads(page.read_text())
                if page.exists()
                else {"meta": {"api-version": "1.1"}, "name": name, "files": []}
            )
            entry = {"filename": file, "url": file, "hashes": {}}
            known["files"].append({**entry, "upload-time": f"{day}T12:00:00Z"} if dated else entry)
            page.write_text(json.dumps(known))
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        for name in ("UV_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        servers.append(server)

    servers = []
    yield serve
    for server in servers:
        server.shutdown()


def test_a_release_gets_the_packages_of_its_time(index, tmp_path):
    index(dated=True)

    found = resolve_profile(releases.find("2.9.1"), find_profile("period"), tmp_path)

    assert set(found.pins) == {"numpy==2.3.5", "onnx==1.19.1", "onnxruntime==1.23.2", "onnxscript==0.5.6"}
    assert (found.profile, found.as_of) == ("period", "2025-11-26")
    assert found.spec != releases.find("2.9.1").spec


def test_an_index_without_the_days_of_uploads_is_said_to_be_one(index, tmp_path):
    index(dated=False)

    with pytest.raises(EnvironmentUnavailable, match="the index does not tell the days of uploads"):
        resolve_profile(releases.find("2.9.1"), find_profile("period"), tmp_path)


def test_a_day_before_the_first_wheel_is_said_with_what_lacks(index, tmp_path):
    index(dated=True)

    with pytest.raises(EnvironmentUnavailable, match=r"no packages of 2019-05-14 fit together for Python 3\.7"):
        resolve_profile(releases.find("1.1.0"), find_profile("period"), tmp_path)
    assert list(tmp_path.glob("*.txt")) == []
