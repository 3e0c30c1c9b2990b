"""``MANIFEST``: a published file that has changed by itself is named before anything is written over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from store_rows import TEXT, cell, environment, write_cells

from caniexport.cli import main
from caniexport.model.errors import StoreError
from caniexport.store import digests, writer

RESULTS = Path(__file__).resolve().parents[1] / "results"


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "results"
    with digests.update_manifest(folder):
        write_cells(folder, [cell(torch=torch, case=f"case-{n}") for n in range(50) for torch in ("1.10.2", "2.8.0")])
        writer.write_rows(folder / "environments.parquet", "environments", [environment()])
        writer.write_rows(folder / "messages.parquet", "messages", [{"message_id": "m", "text": TEXT}])
    return folder


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_a_flipped_bit_of_any_file_is_named_and_nothing_is_written_over_it(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("CANIEXPORT_HOME", str(tmp_path))
    (tmp_path / "cases").mkdir()
    assert digests.find_faults(dataset) == []
    for path in digests.listed_files(dataset).values():
        whole = path.read_bytes()
        flip(path, 4 * len(whole))
        listed = (dataset / digests.NAME).read_bytes()

        (fault,) = digests.find_faults(dataset)
        assert fault.startswith(f"{path}: damaged")
        assert f"git checkout -- {path}" in fault
        reply = CliRunner().invoke(main, ["publish", "--verify"])
        assert (reply.exit_code, str(path) in reply.output) == (1, True)
        with pytest.raises(StoreError, match=path.name), digests.update_manifest(dataset):
            raise AssertionError
        assert (dataset / digests.NAME).read_bytes() == listed
        path.write_bytes(whole)
    assert CliRunner().invoke(main, ["publish", "--verify"]).exit_code == 0


def test_a_flipped_bit_of_the_list_itself_is_named(dataset):
    place = dataset / digests.NAME
    whole = place.read_bytes()
    for bit in range(0, len(whole) * 8, 61):
        flip(place, bit)
        assert digests.find_faults(dataset)
        place.write_bytes(whole)


def test_a_file_without_a_line_and_a_line_without_a_file_are_named(dataset):
    write_cells(dataset, [cell(torch="2.9.1")])
    (dataset / "cells" / "torch-2.8.0-cpu.parquet").unlink()

    gone, unknown = digests.find_faults(dataset)

    assert "torch-2.8.0-cpu.parquet: MANIFEST names it, and it is not there" in gone
    assert "torch-2.9.1-cpu.parquet: MANIFEST does not name it" in unknown


def test_a_writer_that_is_cut_off_leaves_no_list_and_the_next_one_writes_it(dataset):
    with pytest.raises(KeyboardInterrupt), digests.update_manifest(dataset):
        write_cells(dataset, [cell(torch="2.8.0")])
        raise KeyboardInterrupt
    assert not (dataset / digests.NAME).exists()

    with digests.update_manifest(dataset):
        pass

    assert len((dataset / digests.NAME).read_text().splitlines()) == 4
    assert digests.find_faults(dataset) == []


@pytest.mark.parametrize("folder", [RESULTS, *sorted(RESULTS.glob("profiles/*"))], ids=lambda folder: folder.name)
def test_the_published_dataset_holds_what_its_list_says(folder):
    assert (folder / digests.NAME).is_file()
    assert digests.find_faults(folder) == []
