"""Pages over a home that is empty, half written, damaged or growing."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest
from dashboard_data import RELEASES, build
from drawn_pages import app_of, codes, markup, words

from caniexport.home import VARIABLE
from caniexport.pages.page import PAGES
from caniexport.store.schema import VERSION_KEY


def test_a_home_without_rows_gives_a_page_that_says_how_to_measure(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for page in PAGES.keys() - {"glossary"}:
        app = app_of(page).run()

        assert not app.exception
        assert "Nothing has been measured yet" in words(app)
        assert codes(app) == ["caniexport measure --release 2.8.0"]


def test_a_home_that_is_not_one_gives_a_page_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    app = app_of("matrix").run()

    assert not app.exception
    assert "which is not there: a folder with cases/ is wanted" in app.error[0].value.replace("\\", "")


def test_a_damaged_file_is_named_on_the_page_and_the_rest_is_shown(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    path = home / "results" / "cells" / "torch-2.0.1-cpu.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    monkeypatch.setenv(VARIABLE, str(home))
    app = app_of("matrix").run()

    assert not app.exception
    assert "torch-2.0.1-cpu.parquet" in app.warning[0].value.replace("\\", "")
    assert "2.8.0" in words(app)
    drawn = [element.type for element in app.main]
    assert drawn.index("warning") < drawn.index("html"), "above the page"


def _older(path):
    """The file as a caniexport of another row contract wrote it."""
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({VERSION_KEY: b"0"}), path)


def _half_written(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwritten(path):
    """The length of the file, its first and its last bytes stay."""
    data = bytearray(path.read_bytes())
    data[100:-200] = bytes(255 - byte for byte in data[100:-200])
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_older, "written under version 0 of the row contract"),
        (_half_written, "damaged, its rows are left out"),
        (_overwritten, "damaged, its rows are left out"),
        (lambda path: path.write_bytes(b""), "damaged, its rows are left out"),
    ],
    ids=["older", "half", "overwritten", "empty"],
)
def test_a_dataset_that_cannot_be_read_gives_a_page_that_says_which_file_and_why(tmp_path, monkeypatch, harm, said):
    home = build(tmp_path / "home")
    for path in sorted((home / "results" / "cells").glob("torch-*.parquet")):
        harm(path)
    monkeypatch.setenv(VARIABLE, str(home))
    app = app_of("matrix").run()

    assert not app.exception
    warned = app.warning[0].value.replace("\\", "")
    assert said in warned
    assert all(f"torch-{torch}-cpu.parquet" in warned for torch in RELEASES)


def test_what_is_half_written_beside_a_file_is_no_part_of_the_dataset(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    cells = home / "results" / "cells"
    (cells / ".torch-2.15.0-cpu.parquet.4711.writing").write_bytes(b"PAR1 half")
    monkeypatch.setenv(VARIABLE, str(home))
    app = app_of("matrix").run()

    assert not app.warning
    assert "torch=2.15.0" in markup(app)


@pytest.mark.parametrize("table", ["cases", "claims", "sources", "environments", "messages", "declared", "graphs"])
def test_a_missing_or_damaged_table_leaves_the_others_readable(tmp_path, monkeypatch, table):
    home = build(tmp_path / "home")
    path = home / "results" / f"{table}.parquet"
    monkeypatch.setenv(VARIABLE, str(home))
    for harm in (lambda: path.write_bytes(b"PAR1"), path.unlink):
        harm()
        for page in ("case", "alerts", "runs"):
            app = app_of(page)
            app.query_params["case"] = "cross-no-symbolic"
            app.run()
            assert not app.exception
            assert [item.value for item in app.error] == []


def test_a_new_row_is_seen_without_a_restart(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    kept = (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").read_bytes()
    (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").unlink()
    monkeypatch.setenv(VARIABLE, str(home))
    app = app_of("matrix").run()
    assert "torch=2.15.0" not in markup(app)

    (home / "results" / "cells" / "torch-2.15.0-cpu.parquet").write_bytes(kept)
    app.run()

    assert "torch=2.15.0" in markup(app)


def test_drawing_every_page_writes_nothing_into_the_home(tmp_path, monkeypatch):
    home = build(tmp_path / "home")
    before = {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(home.rglob("*"))}
    monkeypatch.setenv(VARIABLE, str(home))
    for page in PAGES:
        app = app_of(page)
        app.query_params["case"] = "cross-no-symbolic"
        assert not app.run().exception

    assert {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(home.rglob("*"))} == before
    assert os.environ[VARIABLE] == str(home)
