"""``MANIFEST``: a file that has changed by itself is named and left out, and everything else is answered."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from store_rows import TEXT, cell, environment, write_cells, write_journal

from caniexport.store import Dataset, compact, digests, summary, writer
from caniexport.store.schema import columns, to_arrow

RUN = {**{name: cell().get(name) for name in columns("runs") if name in columns("cells")}, "bundle": "b" * 24}
RELEASES = ("1.10.2", "2.8.0")


@pytest.fixture
def dataset(tmp_path):
    """A published dataset whose files are old enough to be remembered."""
    folder = tmp_path / "results"
    write_cells(folder, [cell(torch=torch, case=f"case-{n}", message_id="m") for n in range(50) for torch in RELEASES])
    writer.write(folder / "runs" / "onnxruntime-cpu.parquet", "runs", to_arrow("runs", [RUN]))
    writer.write(folder / "environments.parquet", "environments", to_arrow("environments", [environment()]))
    texts = [{"message_id": name, "text": TEXT} for name in ("m", "n")]
    writer.write(folder / "messages.parquet", "messages", to_arrow("messages", texts))
    writer.write(folder / "cases.parquet", "cases", to_arrow("cases", [{"case": "case-1", "variant": "plain"}]))
    assert writer.list_files(folder) == []
    for path in folder.rglob("*.parquet"):
        os.utime(path, (1e9, 1e9))
    return folder


def answers(dataset):
    """Everything there is, through DuckDB and as frames."""
    return {
        "cells": dataset.select((*columns("cells"), "origin"), runtimes=True),
        "runs": dataset.replays(["b" * 24], columns("runs")),
        **{name: dataset.records(name) for name in ("environments", "messages", "cases")},
        "frame": dataset.cells().astype(str).to_dict("records"),
    }


def rows(path):
    """What of :func:`answers` a file holds."""
    return {"cells": ("cells", "frame"), "runs": ("runs",)}.get(path.parent.name, (path.stem,))


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(5))
def test_a_flipped_bit_of_any_file_is_named_and_costs_no_other_file_a_row(dataset, tmp_path, seed):
    drawn = random.Random(seed)
    before = answers(Dataset.open(dataset, None))
    paths = digests.listed_files(dataset)
    assert len(paths) == 6
    for path in paths:
        damaged = tmp_path / "damaged"
        shutil.copytree(dataset, damaged)
        victim = damaged / path.relative_to(dataset)
        flip(victim, drawn.randrange(victim.stat().st_size * 8))

        after = Dataset.open(damaged, None)
        found = answers(after)

        (problem,) = after.problems
        assert problem.startswith(f"{victim}: damaged")
        assert f"git checkout -- {victim}" in problem
        for name, given in before.items():
            if name not in rows(path):
                assert found[name] == given
            elif name == "cells":
                torch = path.name.split("-")[1]
                assert found[name] == [row for row in given if row[3] != torch]
            else:
                assert len(found[name]) < len(given)
        shutil.rmtree(damaged)


def test_a_flipped_bit_of_the_list_itself_is_named_and_no_value_is_wrong(dataset):
    place = dataset / digests.NAME
    whole = place.read_bytes()
    before = Dataset.open(dataset, None).select(columns("cells"), runtimes=True)
    for bit in range(0, len(whole) * 8, 61):
        flip(place, bit)
        after = Dataset.open(dataset, None)
        found = after.select(columns("cells"), runtimes=True)
        after.replays(["b" * 24], ("bundle",)), after.messages(["m"]), after.records("cases")
        assert after.problems
        assert set(map(str, found)) <= set(map(str, before))
        place.write_bytes(whole)


def test_a_file_without_a_line_and_a_line_without_a_file_are_named(dataset):
    write_cells(dataset, [cell(torch="2.9.1")])
    (dataset / "cells" / "torch-2.8.0-cpu.parquet").unlink()
    (dataset / digests.NAME).write_text(
        "".join(line for line in (dataset / digests.NAME).read_text().splitlines(True) if "2.9.1" not in line)
    )

    found = Dataset.open(dataset, None)

    gone, unknown = found.problems
    assert "torch-2.8.0-cpu.parquet: MANIFEST names it, and it is not there" in gone
    assert "torch-2.9.1-cpu.parquet: MANIFEST does not name it" in unknown
    assert {row[0] for row in found.select(("torch",))} == {"1.10.2", "2.9.1"}


def test_a_dataset_that_was_written_before_there_was_a_list_is_read_as_it_is(dataset):
    (dataset / digests.NAME).unlink()

    found = Dataset.open(dataset, None)

    assert len(found.select(("case",))) == 100
    assert found.problems == ()


def test_a_file_is_hashed_once_on_a_machine_and_again_when_it_has_changed(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path / "kept"))
    hashed = []
    real = digests._hashed
    monkeypatch.setattr(digests, "_hashed", lambda path: hashed.append(path.name) or real(path))
    path = dataset / "cells" / "torch-2.8.0-cpu.parquet"
    with monkeypatch.context() as later:
        # the times of a file's state are those of the file system, and these files are new
        later.setattr(digests, "_SETTLED", -1e9)
        Dataset.open(dataset, None)
        assert sorted(hashed) == ["torch-1.10.2-cpu.parquet", "torch-2.8.0-cpu.parquet"]

        hashed.clear()
        digests._remembered.cache_clear()  # as another process
        Dataset.open(dataset, None)
        assert hashed == []

    flip(path, path.stat().st_size * 4)
    assert [str(path) in problem for problem in Dataset.open(dataset, None).problems] == [True]
    assert set(hashed) == {path.name}


def test_what_is_remembered_wrongly_condemns_no_file(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv(summary.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(digests, "_SETTLED", -1e9)
    Dataset.open(dataset, None)
    (kept,) = (tmp_path / "kept").rglob("digests-*.json")
    held = digests.read(dataset).holds["cells/torch-2.8.0-cpu.parquet"].sha256
    kept.write_text(kept.read_text().replace(held, "0" * 64))
    digests._remembered.cache_clear()

    assert Dataset.open(dataset, None).problems == ()


# --- local datasets


def test_compaction_lists_what_it_writes_and_what_was_there_before(tmp_path):
    write_cells(tmp_path, [cell(torch="2.8.0")])
    write_journal(tmp_path, [cell()], [environment()])

    compact(tmp_path)

    names = [line.split()[2] for line in (tmp_path / digests.NAME).read_text().splitlines()]
    assert names == ["cells/torch-1.10.2-cpu.parquet", "cells/torch-2.8.0-cpu.parquet", "environments.parquet"]
    assert Dataset.open(None, tmp_path).problems == ()


def test_a_damaged_local_file_is_named_and_measuring_again_mends_the_dataset(tmp_path):
    write_journal(tmp_path, [cell(), cell(torch="2.8.0")], [environment()])
    compact(tmp_path)
    path = tmp_path / "cells" / "torch-2.8.0-cpu.parquet"
    flip(path, 4 * path.stat().st_size)

    found = Dataset.open(None, tmp_path)
    assert [row[0] for row in found.select(("torch",))] == ["1.10.2"]
    assert f"{path}: damaged" in found.problems[0]
    assert "measure again" in found.problems[0]

    write_journal(tmp_path, [cell(torch="2.8.0", opset=9)])
    report = compact(tmp_path)

    assert "put aside" in report.problems[0]
    after = Dataset.open(None, tmp_path)
    assert after.select(("torch", "opset")) == [("1.10.2", 14), ("2.8.0", 9)]
    assert [path.name for path in (tmp_path / "cells").glob("*.damaged")] == ["torch-2.8.0-cpu.parquet.damaged"]


def test_a_flipped_bit_of_the_list_of_a_local_dataset_is_named_and_mended_by_removing_the_list(tmp_path):
    write_journal(tmp_path, [cell(), cell(torch="2.8.0")], [environment()])
    compact(tmp_path)
    place = tmp_path / digests.NAME
    whole = place.read_bytes()
    for bit in range(0, len(whole) * 8, 101):
        flip(place, bit)
        found = Dataset.open(None, tmp_path)
        found.records("environments")
        assert str(place) in " ".join(found.problems)
        place.write_bytes(whole)

    flip(place, 8)
    place.unlink()
    write_journal(tmp_path, [cell(opset=9)])
    compact(tmp_path)

    assert Dataset.open(None, tmp_path).problems == ()
    assert place.read_bytes().count(b"\n") == whole.count(b"\n")


def test_a_local_file_that_was_removed_is_forgotten_with_the_next_measurement(tmp_path):
    write_journal(tmp_path, [cell(), cell(torch="2.8.0")], [environment()])
    compact(tmp_path)
    (tmp_path / "cells" / "torch-2.8.0-cpu.parquet").unlink()
    assert "not there" in Dataset.open(None, tmp_path).problems[0]

    write_journal(tmp_path, [cell(opset=9)])
    compact(tmp_path)

    assert Dataset.open(None, tmp_path).problems == ()


def test_a_file_that_two_processes_see_being_replaced_is_never_called_damaged(tmp_path):
    import threading

    write_cells(tmp_path, [cell(case=f"case-{n}") for n in range(200)])
    writer.list_files(tmp_path)
    done = threading.Event()

    def replace():
        for number in range(40):
            write_cells(tmp_path, [cell(case=f"case-{n}", attempts=number + 1) for n in range(200)])
        done.set()

    thread = threading.Thread(target=replace)
    thread.start()
    problems = set()
    while not done.is_set():
        found = Dataset.open(None, tmp_path)
        problems |= set(found.problems)
    thread.join()

    assert problems == set()


def test_the_published_dataset_holds_what_its_list_says():
    results = Path(__file__).resolve().parents[1] / "results"

    assert digests.read(results) is not None
    assert digests.told(results) == []
    assert digests.changed(digests.listed_files(results)) == {}
