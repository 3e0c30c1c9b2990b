"""What the program did not make itself is never removed: a foreign file beside ours stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from caniexport import home as homes
from caniexport.measure import tox_calls
from caniexport.measure.job import CellsJob, MeasureOptions
from caniexport.model import releases

ROOT = Path(__file__).resolve().parents[1]


def foreign(path: Path) -> Path:
    """A file of the user's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    return path


def installed(folder: Path) -> homes.Home:
    """The home of an installed package in a user's folder."""
    package = folder / "package"
    places = (package / "cases", package / "results", folder / "results-local", package / "tox.ini")
    return homes.Home(folder, *places, folder / "cases", folder / "results")


def test_a_rolling_measurement_keeps_the_users_own_tox_environment_of_the_same_name(tmp_path):
    home, release = installed(tmp_path), releases.find("2.8.0")
    theirs = foreign(tmp_path / ".tox" / "torch2.8.0-cpu" / "bin" / "python")
    ours = foreign(home.environments / "torch2.8.0-cpu" / "bin" / "python")
    options = MeasureOptions(home=home, rolling=True)
    job = CellsJob(environment="torch2.8.0-cpu", label="", options=options, release=release, corpus={}, progress=None)

    job.clean()

    assert theirs.exists() and not ours.exists()


def test_staging_the_code_keeps_what_lies_beside_it(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "caniexport"
    for name in ("", "model", "worker", "check", "check/inside"):
        foreign(package / name / "__init__.py")
    monkeypatch.setattr(homes, "code_folder", lambda: package.parent)
    home = replace(installed(tmp_path), local=tmp_path / "results-local")
    mine = foreign(home.local / "code" / "important.py")
    old = foreign(home.local / "code" / "caniexport" / "old.py")

    assert (tox_calls.make_code_folder(home) / "caniexport" / "model" / "__init__.py").exists()
    assert mine.exists() and not old.exists()


def test_tox_is_not_handed_a_folder_that_it_would_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("CANIEXPORT_FOLDER", str(tmp_path))
    handed = {}
    monkeypatch.setattr(tox_calls.calls, "run", lambda *given: handed.update(given[3]) or 0)

    tox_calls.make_environment(homes.find(ROOT), "torch2.8.0-cpu", tmp_path / "log", releases.find("2.8.0"))

    assert handed and "CANIEXPORT_FOLDER" not in handed
