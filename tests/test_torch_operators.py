"""Operator samples: the summary of them, and the list of operators that is answered from it."""

from __future__ import annotations

import pytest

from caniexport.answers.answer import records
from caniexport.answers.op import answer_op, answer_sample
from caniexport.answers.operators import OperatorFilters
from caniexport.answers.samples import Samples
from caniexport.model.errors import UnknownName
from caniexport.model.made_cases import OPERATORS, DatabaseEntry
from caniexport.model.status import Status
from caniexport.publish.operators import summarize
from caniexport.store import Dataset, writer

TRACE, DYNAMO = "torchscript-trace", "dynamo"
GRID = "op-nn.functional.grid_sample"
OLD, NEW = "2.12.1", "2.13.0"


def cell(case, variant, exporter, opset, status, stage="", ops=None):
    stage = stage or ("done" if status == "pass" else "export")
    signature = None if status == "pass" else f"{stage}|RuntimeError|words of {case}"
    return case, variant, exporter, opset, stage, status, signature, ops


def of_release(passes):
    ended = "pass" if passes else "fail"
    return [
        *(cell(GRID, f"float32-{name}", TRACE, 20, "pass", ops="GridSample") for name in ("plain", "shape")),
        cell(GRID, "float32-plain", TRACE, 14, "fail"),
        *(cell(GRID, "float32-plain", DYNAMO, opset, ended, ops="GridSample") for opset in (18, 20)),
        cell("promotion-sub", "int64-float-left", DYNAMO, 20, ended),
        cell("promotion-sub", "int64-float-left", TRACE, 23, "pass"),
        cell("promotion-sub", "bool-bool-left", TRACE, 23, "fail", stage="eager"),
        cell("op-fold", "float32-plain", TRACE, 20, "mismatch", stage="compare"),
        cell("op-fold", "float32-shape", TRACE, 20, "pass"),
        *(cell("op-nn.functional.interpolate.area", "float32-plain", name, 18, ended) for name in (TRACE, DYNAMO)),
        *(cell("op-nn.functional.interpolate.linear", "float32-plain", name, 18, "pass") for name in (TRACE, DYNAMO)),
    ]


AREA = {"float32": ["plain"]}
ENTRIES = [
    DatabaseEntry("arange", "1.9.1", NEW, "arange", {}, left_out={"float32": "it has no sample with a tensor"}),
    DatabaseEntry("fold", OLD, NEW, "fold", {}, {"plain": "f32[4], 2", "shape": "f32[2, 4], 2"}),
    DatabaseEntry("nn.functional.interpolate.area", OLD, OLD, "", AREA, {"plain": "f32[1, 2, 4], 2"}),
    DatabaseEntry("nn.functional.interpolate.area", NEW, NEW, "", AREA, {"plain": "f32[1, 2, 4], 3"}),
]


def write_samples(published, rows):
    """Write the sums of operator samples beside the rows of a dataset."""
    writer.write_rows(published / OPERATORS / "operators.parquet", "operators", rows)
    return Dataset.open(published, None)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    rows = [row for release in (OLD, NEW) for row in summarize(release, of_release(release == OLD), ENTRIES)]
    return write_samples(tmp_path_factory.mktemp("results"), rows)


def only(dataset, where):
    """The values of the one row of a condition."""
    columns = "calls, passing, status, exporter, sample, signature"
    (row,) = Samples.of(dataset).views.fetch(f"SELECT {columns} FROM samples WHERE {where}")
    return row


def test_samples_of_a_place_are_counted_and_the_first_that_fails_is_named(dataset):
    row = only(dataset, f"op = 'fold' AND torch = '{NEW}'")

    assert row == (2, 1, "mismatch", TRACE, "plain", "compare|RuntimeError|words of op-fold")


def test_what_torch_itself_refuses_is_no_sample_of_the_exporter(dataset):
    assert only(dataset, f"op = 'sub' AND dtype = 'bool' AND torch = '{NEW}'")[:3] == (0, 0, "skip")


def test_what_is_left_out_has_a_row_with_its_reason(dataset):
    *_, status, exporter, _, why = only(dataset, f"op = 'arange' AND torch = '{NEW}'")

    assert (status, exporter, why) == ("skip", None, "it has no sample with a tensor")
    assert answer_op(dataset, "arange").notes == ("it has no sample with a tensor",)


@pytest.mark.parametrize(
    "spelling",
    [
        *("nn.functional.grid_sample", "torch.nn.functional.grid_sample", "F.grid_sample", "grid_sample"),
        *("aten::grid_sampler", "torch.ops.aten.grid_sampler_2d.default", "GridSample", "grid_sampler"),
        *("aten::grid_sampler_3d", "nn.functional.grid_sample"),
    ],
)
def test_every_spelling_of_an_operator_leads_to_it(dataset, spelling):
    assert Samples.of(dataset).named(spelling) == ["nn.functional.grid_sample"]


NEAREST = r"nearest: nn\.functional\.grid_sample"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, NEAREST) for name in ("nn.functional.grid_sampel", "grid_smple", "F.grid_smple", "torch.grid_smple")),
        (" ", "the question is empty"),
    ],
)
def test_an_unknown_operator_is_refused_with_the_nearest(dataset, name, message):
    with pytest.raises(UnknownName, match=message):
        answer_op(dataset, name)


def test_an_opset_that_was_not_tried_passes_where_its_neighbors_do(dataset):
    """grid_sample fails at opset 14 and passes at 20 by TorchScript."""
    samples = Samples.of(dataset)

    assert [samples.pass_at("GridSample", NEW, TRACE, opset) for opset in (14, 17, 20, 23, None)] == [
        *(False, False, True, True, True),
    ]
    assert samples.pass_at("GridSample", "2.0.1", TRACE, 20) is None
    assert samples.pass_at("of_no_operator", NEW, TRACE, 20) is None


def listed(dataset, **asked):
    """The answer, and its operators with how they end by both calls."""
    found = answer_op(dataset, "", OperatorFilters(**asked))
    rows = records(found.tables[0]) if found.tables else []
    ends = {row["operator"]["op"]: (row.get("dynamo=False"), row.get("dynamo=True")) for row in rows}
    return found, {
        name: tuple(end["word"] if isinstance(end, dict) else end for end in row) for name, row in ends.items()
    }


def test_the_list_has_how_each_operator_ends_and_what_does_not_work_first(dataset):
    found, ends = listed(dataset)

    assert found.verdict == "At torch 2.13.0 2 of 4 operators work with dynamo=False, 1 of 3 with dynamo=True."
    assert ends == {
        "nn.functional.grid_sample": ("pass", "fail"),
        "fold": ("mismatch", "not_run"),
        "nn.functional.interpolate.area": ("fail", "fail"),
        "nn.functional.interpolate.linear": ("pass", "pass"),
    }
    assert list(ends)[-1] == "nn.functional.interpolate.linear"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"statuses": {Status.MISMATCH}}, ["fold"]),
        ({"statuses": {Status.FAIL}}, ["nn.functional.grid_sample", "nn.functional.interpolate.area"]),
        ({"statuses": {Status.FAIL}, "exporters": (TRACE,)}, ["nn.functional.interpolate.area"]),
        ({"opset": 14}, ["nn.functional.grid_sample"]),
        ({"torch": OLD, "statuses": {Status.FAIL}}, []),
        ({"dtype": "all", "ops": ("sub",)}, []),
    ],
)
def test_the_list_is_filtered(dataset, asked, names):
    assert sorted(listed(dataset, **asked)[1]) == names


def test_the_list_is_of_the_operators_of_a_glob(dataset):
    rows = records(answer_op(dataset, "*interpolate*").tables[0])

    assert [row["operator"]["op"].rpartition(".")[2] for row in rows] == ["area", "linear"]
    with pytest.raises(UnknownName, match="unknown dtype 'float61'"):
        listed(dataset, dtype="float61")


def test_what_worked_in_the_release_before_is_listed_where_the_samples_are_the_same(dataset):
    """interpolate.area fails too, and its sample is another one."""
    tables = {table.title: table for table in listed(dataset, dtype="all")[0].tables}
    lost = {(row["operator"]["op"], row["dtype"], row["opset"]) for row in records(tables["worked at torch 2.12.1"])}

    assert lost == {("nn.functional.grid_sample", "float32", "18, 20"), ("sub", "float-left int64", "20")}


def test_the_list_counts_what_works_in_each_release(dataset):
    tables = {table.title: table for table in listed(dataset)[0].tables}
    _, dynamo, *_ = records(tables["operators that work"])

    assert (dynamo["2.13"], dynamo["2.12"]) == ({"works": 1, "measured": 3}, {"works": 3, "measured": 3})


def test_a_sample_says_how_it_ends_in_each_release_and_how_to_have_its_rows(dataset):
    found = answer_sample(dataset, "promotion-sub/int64-float-left", {"exporter": "dynamo"})
    (row,) = records(found.tables[0])

    assert (row["2.12"]["word"], row["2.13"]["word"]) == ("pass", "fail")
    assert found.more.endswith(f"--release {NEW} --case promotion-sub/int64-float-left")
    found = answer_sample(dataset, "op-nn.functional.grid_sample/float32-plain", {"torch": OLD, "opset": "14"})
    assert [row["2.12"]["word"] for row in records(found.tables[0])] == ["fail"]


def test_an_unknown_sample_names_the_nearest(dataset):
    for name, near in (("op-foldd", "op-fold"), ("op-fold/float32-plan", "float32-plain")):
        with pytest.raises(UnknownName, match=near):
            answer_sample(dataset, name, {})


def test_without_samples_it_is_said_how_to_measure_them(tmp_path):
    with pytest.raises(UnknownName, match="measure --corpus operators"):
        answer_op(Dataset.open(None, tmp_path))


def test_a_dtype_that_is_wrong_at_one_opset_is_no_pass_there(tmp_path):
    message = "compare|Mismatch|input set N, output N: dtype float16 expected, onnxruntime gave float32"
    cells = [
        ("op-fold", "float16-plain", TRACE, 11, "compare", "mismatch", message, None),
        cell("op-fold", "float16-plain", TRACE, 20, "pass"),
    ]
    (row,) = records(answer_op(write_samples(tmp_path, summarize(NEW, cells, ENTRIES)), "fold").tables[0])

    assert (row["2.13"]["text"], row["2.13"]["at"]["mismatch"]) == ("20+", "11")
    listing = answer_op(Dataset.open(tmp_path, None), "", OperatorFilters(statuses=frozenset({Status.MISMATCH})))
    assert listing.verdict == "At torch 2.13.0 1 of 1 operators end with mismatch."
