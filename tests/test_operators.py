"""Cases that the table of torch's operators makes: what is planned of them, without torch."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caniexport import home as homes
from caniexport.audit import run
from caniexport.corpus.operator_table import find_listed_releases, join_entries, write_table
from caniexport.model import corpus, plan, releases
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import DatabaseEntry, choose_opsets, read_entries
from caniexport.store import writer
from caniexport.worker import distinct
from caniexport.worker.compare import compare

ROOT = Path(__file__).resolve().parent.parent
HOME = homes.find(ROOT).of_corpus("operators")
KNOWN = ("1.13.1", "2.0.1", "2.1.2")


def listed(*calls: str, **more):
    return {"aten": "add", "calls": {"float32": list(calls)}, "arguments": {}, "random": [], "left_out": {}, **more}


@pytest.fixture(scope="module")
def cases():
    return corpus.load(HOME.corpora, stand_in=True)


ADD = {"add": listed("plain")}


@pytest.mark.parametrize(
    ("before", "lists", "lines"),
    [
        ({}, dict.fromkeys(KNOWN, ADD), [("add", "1.13.1", "2.1.2")]),
        ({"1.13.1": ADD}, {"2.0.1": ADD}, [("add", "1.13.1", "2.0.1")]),
        (
            *({}, {"1.13.1": ADD, "2.0.1": {"add": listed("plain", "shape")}}),
            [("add", "1.13.1", "1.13.1"), ("add", "2.0.1", "2.0.1")],
        ),
        ({"1.13.1": ADD, "2.1.2": ADD}, {"2.0.1": ADD}, [("add", "1.13.1", "2.1.2")]),
        (
            *(dict.fromkeys(KNOWN, ADD), {"2.0.1": {"sub": listed("plain")}}),
            [("add", "1.13.1", "1.13.1"), ("add", "2.1.2", "2.1.2"), ("sub", "2.0.1", "2.0.1")],
        ),
    ],
    ids=["alike", "as-one-before", "otherwise", "between-two", "listed-again"],
)
def test_releases_that_list_an_entry_alike_are_one_line(before, lists, lines):
    known = join_entries([], before, KNOWN)
    found = join_entries(known, lists, KNOWN)

    assert find_listed_releases(known, KNOWN) == tuple(before)
    assert [(entry.name, entry.since, entry.until) for entry in found] == lines


def test_what_is_written_is_read_back(tmp_path):
    entries = [
        DatabaseEntry("add", "1.13.1", "2.0.1", "add", {"float32": ["plain"]}, {"plain": "f32[2]"}, ["plain"], {})
    ]
    write_table(tmp_path / "table.jsonl", entries)

    assert read_entries(tmp_path / "table.jsonl") == entries


def test_every_entry_that_has_no_call_says_why():
    without = [
        entry.name for entry in read_entries(HOME.cases / "op_db.jsonl") if not entry.calls and not entry.left_out
    ]

    assert without == []


def test_the_table_counts_as_many_entries_as_the_database_of_the_release_has():
    entries = read_entries(HOME.cases / "op_db.jsonl")
    counted = {"1.13.1": (621, 599)}

    for release, (every, measured) in counted.items():
        own = [entry for entry in entries if entry.holds(release)]
        assert (len(own), sum(bool(entry.calls) for entry in own)) == (every, measured)


def test_an_operator_is_a_case_whose_variants_are_dtypes_and_samples(cases):
    grid = cases["op-nn.functional.grid_sample"]

    assert {"float32-plain", "float32-shape", "float32-arguments", "float32-plain-dynamic"} <= set(grid.variants)
    assert grid.cls.corpus == "operators"
    assert grid.variants["float32-plain"].note.startswith("f32[2, 3, 5, 5], f32[2, 5, 5, 2]")


def test_only_what_a_release_has_is_planned_of_it(cases):
    planned = plan.cells(cases, releases.find("1.13.1"), "cpu", plan.Selection(frozenset({"op-add"})))
    own = {(cell.variant, cell.exporter, cell.opset) for cell in planned if cell.case == "op-add"}

    assert ("float32-plain", "torchscript-trace", 17) in own
    assert ("float32-plain", "torchscript-trace", 9) not in own
    assert ("float32-plain-dynamic", "torchscript-trace", 17) in own
    assert not any(exporter == "dynamo" for _, exporter, _ in own)


def test_the_hash_of_a_call_names_the_operator_the_call_and_the_code_that_makes_it(cases):
    add, sub = cases["op-add"], cases["op-sub"]
    hashes = [add.case_hash("float32-plain"), add.case_hash("float32-shape"), sub.case_hash("float32-plain")]

    assert len(set(hashes)) == 3
    other = type("Other", (add.cls,), {"id": "op-add", "code": "other"})
    assert other.hash_of("float32-plain") != hashes[0]


def test_what_says_where_values_were_has_inputs_of_its_own(cases):
    add, sort = cases["op-add"].cls, cases["op-sort"].cls

    assert add.code != sort.code
    assert {cases[f"op-{name}"].cls.code for name in distinct.NAMES} == {sort.code}


def test_canaries_go_along_and_documented_cases_hold_no_operators(cases):
    assert {"canary-pass", "canary-fail", "canary-mismatch"} <= set(cases)
    assert not any(name.startswith("op-") for name in homes.find(ROOT).read_cases())


def test_the_corpus_has_datasets_of_its_own():
    home = homes.find(ROOT)

    assert HOME.local == home.local / "operators"
    assert HOME.published == home.published / "operators"
    with pytest.raises(UnknownName, match="there is no corpus nonsense"):
        home.of_corpus("nonsense")


def test_random_operators_are_compared_by_shape_and_dtype(cases):
    assert not cases["op-rand_like"].variants["float32-plain"].compares_values
    assert cases["op-add"].variants["float32-plain"].compares_values


def test_a_number_on_either_side_of_a_tensor_and_two_dtypes_are_planned(cases):
    sub = cases["promotion-sub"]

    assert {"int64-float-left", "int64-float-right", "int64-with-float32", "bool-int-left"} <= set(sub.variants)
    planned = plan.cells(cases, releases.find("2.12.1"), "cpu", plan.Selection(frozenset({"promotion-sub"})))
    asked = {(cell.exporter, cell.opset) for cell in planned if cell.variant == "int64-float-left"}
    assert asked == {("torchscript-trace", 23), ("dynamo", 20)}
    assert not any("float" in name for name in cases["promotion-and"].variants)


@pytest.mark.parametrize(
    ("variant", "release", "exporter", "opsets"),
    [
        ("float32-plain", "2.15.0", "dynamo", (18, 20, 26)),
        ("float16-plain", "2.15.0", "dynamo", (20,)),
        ("float32-plain-dynamic", "2.15.0", "dynamo", (20,)),
        ("int32-plain", "2.15.0", "dynamo", ()),
        ("float16-plain", "2.3.1", "dynamo", (18,)),
        ("float32-plain", "1.13.1", "torchscript-trace", (8, 11, 14, 17)),
        ("float32-plain", "2.4.1", "torchscript-trace", (8, 11, 14, 17, 20)),
        ("float32-plain", "1.9.1", "torchscript-trace", (8, 11, 13)),
    ],
)
def test_few_opsets_are_asked_of_a_sample(variant, release, exporter, opsets):
    """Dynamo: three for the first dtype, else its default; TorchScript: every third and the newest that it takes."""
    assert choose_opsets(variant, releases.find(release), exporter) == opsets


def test_what_is_left_of_a_sum_that_cancels_out_is_as_exact_as_its_terms():
    want = np.array([100.0, 1e-6], dtype="float32")
    near, far = want + np.float32(5e-4), want + np.float32(5e-3)

    assert compare([want], [near], None, None, "runtime").problem
    assert not compare([want], [near], None, None, "runtime", by_largest=True).problem
    assert compare([want], [far], None, None, "runtime", by_largest=True).problem


def test_without_values_only_dtype_and_shape_are_compared():
    want = np.zeros((2, 3), dtype="float32")

    assert not compare([want], [want + 1], None, None, "runtime", values=False).problem
    assert "dtype" in compare([want], [want.astype("float64")], None, None, "runtime", values=False).problem
    assert "shape" in compare([want], [want[:1]], None, None, "runtime", values=False).problem


def test_an_audit_of_operators_makes_the_environment_of_the_release_for_its_local_rows(cases, tmp_path, monkeypatch):
    made = []

    @contextmanager
    def environment(release, *_):
        made.append(release.requirements)
        yield Path("python")

    def measured(python, cells, folder, seconds, workers, corpus):
        made.append(corpus)
        return [run.ScriptOutcome("done", "pass") for _ in cells]

    monkeypatch.setattr(run, "make_environment", environment)
    monkeypatch.setattr(run, "measure_cells", measured)
    row = {"torch": "2.13.0", "case": "op-add", "variant": "float32-plain", "exporter": "dynamo", "opset": 18}
    row |= {"corpus": "operators", "provider": "cpu", "stage": "done", "status": "pass", "run_id": "a"}
    row["case_hash"] = cases["op-add"].case_hash("float32-plain")
    path = tmp_path / "operators" / "cells" / "torch-2.13.0-cpu.parquet"
    path.parent.mkdir(parents=True)
    writer.write_rows(path, "cells", [row])
    home = replace(homes.find(ROOT), local=tmp_path)
    (found,) = run.audit(run.AuditOptions(home, "operators", cells=5), print)

    assert (found.torch, found.cells, found.agreeing) == ("2.13.0", 1, 1)
    assert made == [releases.find("2.13.0").requirements, "operators"]
