"""The published dataset's version, and what ``--version`` says of the datasets that are here."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import small_dataset
from store_rows import cell, environment, write_cells, write_journal

from caniexport import home as homes
from caniexport.answers.data_source import data_sources
from caniexport.home import data_package
from caniexport.home.data_package import DataVersion, read_version, write_next_version
from caniexport.model.errors import CaniexportError
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.store import Dataset

RESULTS = Path(__file__).resolve().parents[1] / "results"
NOW = datetime(2031, 5, 20, 12, tzinfo=UTC)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package of the dataset as it lies where it is installed."""
    folder = tmp_path / "site" / "caniexport_data"
    folder.mkdir(parents=True)
    small_dataset.write(folder)
    (folder / "VERSION").write_text(f"2031.5.2 of row contract {SCHEMA_VERSION}\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def test_a_version_is_the_day_and_the_number_within_it(tmp_path):
    day = date(2031, 5, 2)
    written = [str(write_next_version(tmp_path, at)) for at in (day, day, day, day + timedelta(days=1))]

    assert written == ["2031.5.2", "2031.5.2.1", "2031.5.2.2", "2031.5.3"]
    assert read_version(tmp_path) == DataVersion("2031.5.3", 0, SCHEMA_VERSION)


@pytest.mark.parametrize("text", ["", "2031.5.2", "yesterday of row contract 1", "\0"])
def test_what_is_no_version_is_none(tmp_path, text):
    (tmp_path / "VERSION").write_text(text)

    assert read_version(tmp_path) is None


@pytest.mark.published
def test_the_published_version_is_of_this_row_contract_and_not_older_than_its_rows(results):
    version = read_version(RESULTS)
    newest = date.fromisoformat(data_sources(homes.find(RESULTS.parent), NOW).tables[0].rows[0][4])

    assert version.contract == SCHEMA_VERSION
    assert date(*map(int, version.day.split("."))) >= newest, "caniexport publish writes results/VERSION"


def test_the_package_answers_where_there_is_no_other_dataset(package, tmp_path, monkeypatch):
    monkeypatch.setattr(homes, "_AROUND", tmp_path)
    monkeypatch.delenv(homes.VARIABLE, raising=False)
    home = homes.find(tmp_path, {})

    assert (home.published, home.cases) == (package, package / "cases")
    found = data_sources(home, NOW)
    rows = len(Dataset.open(package, None).cells())
    said = (
        f"Dataset 2031.5.2 (caniexport-data): {rows} rows of {len(small_dataset.RELEASES)} torch releases, the newest "
    )
    assert found.verdict.startswith(said)
    assert "pip install --upgrade caniexport-data" in found.notes[0]


def test_older_results_of_the_folder_answer_and_the_newer_package_is_named(package, tmp_path):
    write_cells(tmp_path / "results", [cell(measured_at="2020-01-02T03:04:05+00:00")])
    write_journal(tmp_path / "results-local", [cell()], [environment()])
    home = homes.Home(
        tmp_path,
        package / "cases",
        tmp_path / "results",
        tmp_path / "results-local",
        tmp_path,
        tmp_path / "cases",
        tmp_path / "results",
    )
    found = data_sources(home, NOW)

    named = [(row[0], row[5]) for row in found.tables[0].rows]
    assert named == [("results", "yes"), ("local", "yes"), ("caniexport-data", "no")]
    assert f"the newest {(NOW - datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)).days:,} days old" in found.verdict
    assert "caniexport-data 2031.5.2 has newer rows" in found.notes[0]


def test_another_row_contract_is_refused_before_any_file_is_read(package):
    (package / "VERSION").write_text(f"2031.5.2 of row contract {SCHEMA_VERSION + 1}\n")

    with pytest.raises(CaniexportError, match=r"pip install --upgrade caniexport$"):
        data_package.require_package()
