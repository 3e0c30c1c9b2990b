"""The disk budget of a rolling measurement: what counts, what is deleted, and what is never touched."""

from __future__ import annotations

import os
import shutil

import pytest

from caniexport.home import VARIABLE
from caniexport.machine.disk import ENVIRONMENT, GIGABYTE, Budget, BudgetTooSmallError, count_used_bytes


def budget(folder, limit=20 * GIGABYTE):
    for name in (".tox", "downloads"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return Budget(limit, folder / ".tox", folder / "downloads")


def test_a_file_with_two_names_counts_once(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "environment").mkdir()
    (tmp_path / "cache" / "wheel").write_bytes(b"x" * 1_000_000)
    os.link(tmp_path / "cache" / "wheel", tmp_path / "environment" / "library")

    both = count_used_bytes([tmp_path / "cache", tmp_path / "environment"])

    assert 1_000_000 <= both < 1_100_000


def test_a_budget_that_holds_no_environment_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(BudgetTooSmallError, match=r"--disk-budget 5 is less than one environment.*at least 8"):
        budget(tmp_path, 5 * GIGABYTE).check()


def test_downloads_go_when_the_next_environment_might_not_fit_and_environments_stay(tmp_path):
    if shutil.disk_usage(tmp_path).free < 2 * ENVIRONMENT:
        pytest.skip("this machine's disk may be too full for one environment: that is another error")
    mine = budget(tmp_path, ENVIRONMENT + 3_000_000)
    (mine.cache / "wheels-v8").mkdir()
    (mine.cache / "wheels-v8" / "wheel").write_bytes(b"x" * 2_000_000)
    (mine.environments / "library").write_bytes(b"x" * 500_000)
    said: list[str] = []

    mine.make_room(said.append)
    assert (mine.cache / "wheels-v8" / "wheel").exists()

    (mine.cache / "wheels-v8" / "second").write_bytes(b"x" * 2_000_000)
    mine.make_room(said.append)
    assert not mine.cache.exists()
    assert (mine.environments / "library").exists()
    assert len(said) == 1


def test_a_full_disk_is_said_with_its_numbers(small_disk):
    with pytest.raises(BudgetTooSmallError, match=r"0\.0 GB are free at .*small-disk"):
        budget(small_disk).make_room(lambda _: None)


def test_the_command_says_so_in_one_line(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from caniexport.cli import main

    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    reply = CliRunner().invoke(main, ["measure", "--release", "1.3.1", "--rolling", "--disk-budget", "1"])

    assert reply.exit_code == 1
    assert "caniexport: --disk-budget 1 is less than one environment may take" in reply.output
