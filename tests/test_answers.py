"""Answers over a small dataset written through the store (see small_dataset): what a person is told."""

from __future__ import annotations

import pytest
import small_dataset

from caniexport.answers.documents import claims
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import By, table
from caniexport.answers.outcomes import short_cause
from caniexport.model.errors import UnknownName
from caniexport.store import Dataset

TRACE = "torchscript-trace"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return small_dataset.write(tmp_path_factory.mktemp("published"))


@pytest.fixture
def dataset(published, tmp_path):
    return Dataset.open(published, tmp_path / "local")


def places(found, case, exporter=TRACE, variant="plain"):
    """The texts of one line, by column."""
    for line in found.lines:
        if (line.case, line.variant, line.exporter) == (case, variant, exporter):
            return {column: place.text for column, place in line.places.items()}
    raise AssertionError(f"no line for {case}/{variant} {exporter}")


def test_the_table_by_torch_says_at_which_opsets_each_release_passes(dataset):
    found = table(dataset, Filters())
    assert found.columns == ("1.10.2", "1.12.1", "2.0.1", "2.8.0", "2.15.0")
    assert places(found, "cross") == {
        "1.10.2": "✗ fail",
        "1.12.1": "✗ fail",
        "2.0.1": "✓ all",
        "2.8.0": "✓ all",
        "2.15.0": "✓ all",
    }
    assert list(places(found, "grid-sample").values()) == ["✗ fail", "✓ 16 ✗", "✓ 16-18 ✗", "✓ 16-23 ✗", "✓ 16-23 ✗"]


def test_wrong_numbers_never_read_as_a_pass_nor_as_a_clean_failure(dataset):
    assert set(places(table(dataset, Filters()), "item").values()) == {"≠ mismatch"}


def test_a_place_that_was_not_measured_says_so_and_inherits_nothing(dataset):
    dynamo = places(table(dataset, Filters()), "cross", "dynamo")
    assert dynamo["1.10.2"] == "·"
    assert dynamo["2.8.0"] == "✓ all"


def test_a_single_case_shows_its_fixes_with_every_exporter(dataset):
    found = table(dataset, Filters(cases=("grid-sample",)))
    assert {(line.variant, line.exporter) for line in found.lines} == {
        (variant, exporter) for variant in ("plain", "opset_16") for exporter in (TRACE, "dynamo", "default")
    }
    assert places(found, "grid-sample", "default", "opset_16")["2.0.1"] == "✓ 16"
    assert places(found, "grid-sample", TRACE, "opset_16")["1.10.2"] == "⊘ refused"


def test_an_opset_filter_never_lets_a_place_say_all(dataset):
    found = table(dataset, Filters(cases=("grid-sample",), opsets=("16-17",), exporters=("trace",)))
    assert places(found, "grid-sample")["2.8.0"] == "✓ 16-17"


def test_a_status_filter_keeps_whole_lines_so_that_passes_are_not_hidden(dataset):
    found = table(dataset, Filters(statuses=("fail",)))
    assert {line.case for line in found.lines} == {"cross", "grid-sample"}
    assert places(found, "cross")["2.15.0"] == "✓ all"


def test_by_opset_it_is_about_the_newest_release_and_says_so(dataset):
    found = table(dataset, Filters(cases=("grid-sample/plain",), exporters=("trace",)), By.OPSET)
    assert places(found, "grid-sample")["15"] == "✗ fail"
    assert places(found, "grid-sample")["16"] == "✓ pass"
    assert "torch 2.15.0, the newest measured (--torch takes others)" in found.notes


def test_by_opset_over_all_releases_it_says_since_which_one(dataset):
    found = table(dataset, Filters(cases=("cross/plain",), exporters=("trace",), torch=("all",)), By.OPSET)
    assert places(found, "cross")["9"] == "✓ ≥2.0.1 ✗"
    assert places(found, "cross")["18"] == "✓ ≥2.0.1 ·"
    assert places(found, "cross")["15"] == "✓ ≥2.0.1 ✗ ⊘"


def test_by_exporter_the_columns_are_exporters(dataset):
    found = table(dataset, Filters(cases=("item/plain",), torch=("2.8",)), By.EXPORTER)
    (line,) = found.lines
    shown = {column: place.text for column, place in line.places.items()}
    assert shown == {"trace": "≠ mismatch", "dynamo": "✓ all", "default": "≠ mismatch"}


def test_by_runtime_the_columns_are_runtime_versions(dataset):
    found = table(dataset, Filters(cases=("cross/plain",), torch=("all",), exporters=("trace",)), By.RUNTIME)
    assert found.columns == ("onnxruntime 1.19.2", "onnxruntime 1.23.2", "onnxruntime 1.31.1")
    assert places(found, "cross")["onnxruntime 1.23.2"] == "✓ 12/22 ✗"


def test_op_filters_take_torch_and_onnx_spellings(dataset):
    for op in ("grid_sampler", "aten::grid_sampler", "GridSample"):
        assert {line.case for line in table(dataset, Filters(ops=(op,))).lines} == {"grid-sample"}


def test_a_local_row_speaks_before_the_published_one_and_is_marked(published, tmp_path):
    row = small_dataset.cell("2.0.1", "cross", "plain", TRACE, 14)
    local = small_dataset.write(tmp_path / "local", releases=())
    worse = {**row, "status": "mismatch", "stage": "compare", "measured_at": "2026-11-01T00:00:00Z"}
    small_dataset.append(local, worse, environments=[small_dataset.environment("2.0.1")])

    found = table(Dataset.open(published, local), Filters(cases=("cross/plain",), exporters=("trace",)))
    (line,) = found.lines
    assert line.places["2.0.1"].text == "✓ 7-13,15-18 ≠"
    assert {column for column, place in line.places.items() if place.local} == {"2.0.1"}


def test_rows_of_a_quarantined_run_are_left_out_and_named(tmp_path):
    folder = small_dataset.write(tmp_path / "local", ("2.8.0",), gate="quarantined: canary-fail passed")
    found = table(Dataset.open(None, folder), Filters())
    assert found.lines == ()
    assert any("canary-fail passed" in note for note in found.notes)


def test_a_release_that_could_not_be_entered_is_named_with_the_reason(published, tmp_path):
    row = {
        **{"run_id": "r", "measured_at": "2026-11-21T00:00:00Z", "torch": "2.3.1", "provider": "cpu", "measuring": 1},
        **{"stage": "resolve", "status": "not_run", "message_id": "m-none"},
    }
    local = tmp_path / "local"
    small_dataset.append(local, row, texts={"m-none": "no interpreter found for Python 3.11\nmore"})
    found = table(Dataset.open(published, local), Filters())
    assert "torch 2.3.1 could not be measured: no interpreter found for Python 3.11" in found.notes
    assert "2.3.1" not in found.columns


def test_environment_cases_have_their_own_lines_and_words(published, tmp_path):
    common = {"run_id": "r", "measured_at": "2026-11-21T00:00:00Z", "case": "old-setuptools", "measuring": 1}
    rows = [
        {**common, "variant": "plain", "stage": "import", "status": "fail", "case_hash": "a", "corpus": "documented"},
        {**common, "variant": "pinned", "stage": "done", "status": "pass", "case_hash": "b", "corpus": "documented"},
    ]
    local = tmp_path / "local"
    small_dataset.append(local, *rows, environments=[{"env_id": None, "run_id": "r", "gate": "good"}])
    dataset = Dataset.open(published, local)
    lines = {line.variant: line.status.value for line in table(dataset, Filters()).environments}
    assert lines == {"plain": "fail", "pinned": "pass"}


def test_claims_are_counted_by_every_outcome_and_filtered_by_source(dataset):
    found = claims(dataset, Filters())
    assert found.counts == {"reproduced": 1, "partly": 0, "not-reproduced": 1, "pending": 0, "not-measured": 0}
    assert claims(dataset, Filters(statuses=("reproduced",))).counts == found.counts
    assert [claim.claim for claim in claims(dataset, Filters(), ("onnx/*",)).claims] == ["cross/2"]
    assert found.claims[0].versions == "torch ==1.10.*, torchscript-trace, opset 14"


@pytest.mark.parametrize(
    ("filters", "near"),
    [
        (Filters(cases=("cros",)), "cross"),
        (Filters(cases=("cross/stack_rewrit",)), "stack_rewrite"),
        (Filters(torch=("2.7",)), "2.0.1, 2.8.0"),
        (Filters(opsets=("99",)), "7 to 26"),
        (Filters(exporters=("dynmo",)), "dynamo"),
        (Filters(providers=("cuda",)), "cpu"),
        (Filters(statuses=("mismach",)), "mismatch"),
        (Filters(themes=("geometri",)), "geometry"),
        (Filters(ops=("gridsampl",)), "GridSample"),
        (Filters(variants=("plian",)), "plain"),
    ],
)
def test_a_name_nobody_knows_is_answered_with_the_nearest_ones(dataset, filters, near):
    with pytest.raises(UnknownName, match=near):
        table(dataset, filters)


def test_an_empty_dataset_answers_that_nothing_was_measured(tmp_path):
    empty = Dataset.open(tmp_path / "no", tmp_path / "none")
    assert table(empty, Filters()).lines == ()
    assert claims(empty, Filters()).claims == ()


def test_of_a_chain_of_causes_the_innermost_says_why():
    text = "ConversionError: Failed.\nStep 2/3\ncaused by E: outer\ncaused by ValueError: why\nat"

    assert short_cause(text) == "ValueError: why"
    assert short_cause("\n RuntimeError: alone\nmore") == "RuntimeError: alone"
    assert short_cause("x" * 300, 200) == "x" * 199 + "…"
