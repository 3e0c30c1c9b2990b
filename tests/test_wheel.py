"""The wheel in an environment of its own: what it installs, and that what a user makes never goes into it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from caniexport.model.rows import SCHEMA_VERSION

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[1]
OWN = ("caniexport", "cases", "dashboard", "harness", "results")


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel alone, and an empty folder of a user's."""

    site: Path
    python: Path
    folder: Path

    def run(self, *words):
        """Run the command in the user's folder; what the package depends on comes from the tests' own environment."""
        named = {name: text for name, text in os.environ.items() if not name.startswith("CANIEXPORT")}
        environ = {**named, "PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONDONTWRITEBYTECODE": "1"}
        line = [self.python.with_name("caniexport"), *words]
        return subprocess.run(line, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def data(self, *words):
        reply = self.run(*words, "--json")
        assert reply.returncode == 0, reply.stdout + reply.stderr
        return json.loads(reply.stdout)

    def files(self):
        """Every file of the two packages, with its size and time."""
        paths = sorted(path for path in self.site.glob("caniexport*/**/*") if path.is_file())
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


def build_wheel(source, folder):
    """The wheel of a project of this checkout."""
    if shutil.which("uv") is None:
        pytest.skip("uv is not on the path, and builds the wheel")
    line = ["uv", "build", "--wheel", "-q", "-o", str(folder), str(source)]
    reply = subprocess.run(line, capture_output=True, text=True, check=False)
    if reply.returncode and "hatchling" in reply.stderr:
        pytest.skip(f"hatchling, which builds the wheel, cannot be had here: {reply.stderr[-300:]}")
    assert reply.returncode == 0, reply.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def data_wheel(tmp_path_factory):
    return build_wheel(ROOT / "results", tmp_path_factory.mktemp("data-wheel"))


def install(folder, *wheels):
    """A virtual environment with these wheels alone, and a user's folder."""
    venv, own = folder / "venv", folder / "a user's folder"
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, str(venv)], check=True)
    python = venv / "bin" / "python"
    line = ["uv", "pip", "install", "-q", "--no-deps", "--python", str(python), *map(str, wheels)]
    subprocess.run(line, check=True)
    own.mkdir()
    return Installed(next(venv.glob("lib/python*/site-packages")), python, own)


@pytest.fixture
def installed(wheel, data_wheel, tmp_path):
    return install(tmp_path, wheel, data_wheel)


def test_the_wheel_installs_the_package_and_nothing_else(installed):
    found = {path.name for path in installed.site.iterdir()}

    assert [name for name in OWN if name in found] == ["caniexport"]
    packages = {name for name in found if "caniexport" in name and not name.endswith(".dist-info")}
    assert packages == {"caniexport", "caniexport_data"}


def test_the_dataset_is_a_package_of_its_own_that_the_tool_asks_for(wheel, data_wheel, tmp_path):
    alone = install(tmp_path, wheel)

    refused = alone.run("table")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "pip install caniexport-data" in refused.stderr
    needs = importlib.metadata.PathDistribution(next(alone.site.glob("caniexport-*.dist-info"))).requires or []
    assert [line for line in needs if line.startswith("caniexport-data>=")]
    assert wheel.stat().st_size < 1_400_000


def test_the_wheel_of_the_dataset_is_as_small_as_its_rows_and_the_same_bytes_twice(data_wheel, tmp_path):
    again = build_wheel(ROOT / "results", tmp_path)
    rows = sum(path.stat().st_size for path in (ROOT / "results").rglob("*.parquet"))

    assert (again.name, again.read_bytes()) == (data_wheel.name, data_wheel.read_bytes())
    assert data_wheel.stat().st_size < rows + 1_000_000


def test_a_dataset_of_another_row_contract_is_refused_in_one_line(installed):
    version = installed.site / "caniexport_data" / "VERSION"
    for contract, package in ((SCHEMA_VERSION + 1, "caniexport"), (SCHEMA_VERSION - 1, "caniexport-data")):
        version.unlink()  # uv links files into its cache: writing would change the cached one
        version.write_text(f"2031.1.2 of row contract {contract}\n")

        refused = installed.run("table")

        assert refused.returncode == 1
        assert f"of row contract {contract}, caniexport reads {SCHEMA_VERSION}" in refused.stderr
        assert refused.stderr.endswith(f"pip install --upgrade {package}\n")


def test_commands_answer_from_the_wheel_whatever_else_is_called_harness(installed):
    for name in ("harness", "cases", "dashboard", "results"):
        (installed.site / name).mkdir()
        (installed.site / name / "__init__.py").write_text("raise RuntimeError('of somebody else')\n")
    before = installed.files()

    assert installed.data("table", "--case", "cross-no-symbolic", "--torch", "2.8")["tables"]
    served = installed.data("dashboard")
    assert Path(served["command"][4]).is_relative_to(installed.site)
    assert Path(served["home"]) == installed.folder
    assert installed.files() == before


def test_a_new_case_lies_in_the_users_folder_and_is_found_beside_the_others(installed):
    before = installed.files()

    made = installed.data("case", "--new", "roll-of-mine", "--theme", "indexing")

    assert Path(made["file"]) == installed.folder / "cases" / "indexing.py"
    for case in ("roll-of-mine", "cross-no-symbolic"):
        plan = installed.run("measure", "--release", "2.8.0", "--case", case, "--plan")
        assert (plan.returncode, "cells in all" in plan.stdout) == (0, True), plan.stdout + plan.stderr
    assert installed.run("case", "--new", "roll-of-mine", "--theme", "other").returncode == 2
    assert installed.files() == before


def test_a_folder_named_cases_of_something_else_is_left_alone(installed):
    (installed.folder / "cases").mkdir()
    (installed.folder / "cases" / "court.py").write_text("raise SystemExit('not to be run')\n")

    assert installed.run("measure", "--release", "2.8.0", "--case", "cross-no-symbolic", "--plan").returncode == 0


def test_publish_writes_nothing_without_local_rows(installed):
    before = installed.files()

    assert installed.data("publish")["written"] == []
    assert list(installed.folder.iterdir()) == []
    assert installed.files() == before
