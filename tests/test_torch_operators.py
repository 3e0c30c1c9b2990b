"""The summary of operators, and what is answered from it."""

from __future__ import annotations

import pytest
from caniexport.answers.operator_at import operator_at
from caniexport.answers.operator_lists import OperatorList, OperatorTest, listed, read_tests
from caniexport.answers.operator_score import ReleaseScore, UsedOperators, read_used, scores
from caniexport.answers.torch_operators import OperatorsSummary

from caniexport import home as homes
from caniexport.answers.answer import records
from caniexport.answers.op import sample
from caniexport.model.errors import StoreError, UnknownName
from caniexport.model.made_cases import DatabaseEntry
from caniexport.publish.operators import summarised
from caniexport.store import Dataset, writer
from caniexport.store.schema import to_arrow

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


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operators")
    rows = [row for release in (OLD, NEW) for row in summarised(release, of_release(release == OLD), ENTRIES)]
    writer.write(folder / "operators.parquet", "operators", to_arrow("operators", rows))
    return OperatorsSummary(folder)


@pytest.fixture(scope="module")
def dataset():
    return Dataset.open(homes.find().published, None)


def only(summary, **where):
    found = [row for row in summary.rows("true") if all(getattr(row, name) == value for name, value in where.items())]
    assert len(found) == 1
    return found[0]


def test_calls_of_a_place_are_counted_and_the_first_that_fails_is_named(summary):
    row = only(summary, op="fold", torch=NEW)

    assert (row.calls, row.passing, row.status, row.sample) == (2, 1, "mismatch", "plain")
    assert row.signature == "compare|RuntimeError|words of op-fold"


def test_what_torch_itself_refuses_is_no_call_of_the_exporter(summary):
    row = only(summary, op="sub", dtype="bool", torch=NEW)

    assert (row.calls, row.status, row.works) == (0, "skip", False)


def test_a_call_of_another_dtype_says_so(tmp_path):
    cells = [cell("op-fold", f"{dtype}-plain", TRACE, 20, "fail") for dtype in ("float32", "int64")]
    writer.write(tmp_path / "operators.parquet", "operators", to_arrow("operators", [*summarised(NEW, cells, ENTRIES)]))

    found = {row.dtype: row.failing for row in OperatorsSummary(tmp_path).rows("true") if row.exporter}
    assert found == {"float32": "f32[4], 2", "int64": "f32[4], 2 in int64"}


def test_what_is_left_out_has_a_row_with_its_reason(summary):
    row = only(summary, op="arange", torch=NEW)

    assert (row.status, row.exporter, row.signature) == ("skip", None, "it has no sample with a tensor")


@pytest.mark.parametrize(
    "spelling",
    [
        *("nn.functional.grid_sample", "torch.nn.functional.grid_sample", "F.grid_sample", "grid_sample"),
        *("aten::grid_sampler", "torch.ops.aten.grid_sampler_2d.default", "GridSample", "grid_sampler"),
        *("aten::grid_sampler_3d", "nn.functional.grid_sample"),
    ],
)
def test_every_spelling_of_an_operator_leads_to_it(summary, spelling):
    assert summary.named(spelling) == ["nn.functional.grid_sample"]


@pytest.mark.parametrize("name", ["nn.functional.grid_sampel", "grid_smple", "F.grid_smple", "torch.grid_smple"])
def test_an_unknown_operator_is_refused_with_the_nearest(summary, name):
    with pytest.raises(UnknownName, match=r"nearest: nn\.functional\.grid_sample"):
        summary.named(name)


def test_an_empty_question_is_said_to_be_empty(summary):
    with pytest.raises(UnknownName, match="the question is empty"):
        summary.named(" ")


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """fold passes, breaks, passes again; abs passes and breaks."""
    folder = tmp_path_factory.mktemp("mended")
    ends = {"2.4.1": "pass", "2.5.1": "pass", "2.6.0": "fail", "2.7.1": "pass", "2.8.0": "pass"}
    rows = []
    for torch, status in ends.items():
        gone = "pass" if torch < "2.6" else "fail"
        made = [cell("op-fold", "float32-plain", TRACE, 20, status), cell("op-abs", "int64-plain", DYNAMO, 18, gone)]
        rows += summarised(torch, made, ENTRIES)
    writer.write(folder / "operators.parquet", "operators", to_arrow("operators", rows))
    return OperatorsSummary(folder)


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (OperatorList.SILENT, [("fold", TRACE)]),
        (OperatorList.REGRESSED, [("nn.functional.grid_sample", DYNAMO), ("sub", DYNAMO)]),
        (OperatorList.TORCHSCRIPT_ONLY, [("nn.functional.grid_sample", DYNAMO)]),
        (OperatorList.DECLARED_FAILS, [("nn.functional.grid_sample", DYNAMO)]),
    ],
)
def test_lists_name_the_operators_that_differ(summary, dataset, which, expected):
    found = [(item.op, item.exporter) for item in listed(summary, dataset, which)]

    assert [item for item in found if item in expected] == expected
    if which is not OperatorList.DECLARED_FAILS:
        assert found == expected


TESTS = (
    OperatorTest("F.grid_sample", ("nn.functional.grid_sample",), "xfail", some=True, why="onnxruntime"),
    OperatorTest("grid_sampler", ("nn.functional.grid_sample",)),
    OperatorTest("sub", ("sub",), "skip", ("int64", "int32"), why="other values"),
    OperatorTest("roi_align", (), "skip", why="torch"),
)


def test_tests_of_onnxscript_stand_beside_what_dynamo_does(summary, dataset):
    found = [
        (item.op, item.dtype, item.opset, item.said)
        for item in listed(summary, dataset, OperatorList.ONNXSCRIPT, None, TESTS)
    ]

    ends = f"0 of 1 pass; plain: export|RuntimeError|words of {GRID}"
    assert found == [
        ("nn.functional.grid_sample", "float32", 18, f"expected to fail (some samples, onnxruntime): {ends}"),
        ("nn.functional.grid_sample", "float32", 18, f"expected to pass: {ends}"),
        ("sub", "int64", None, "left out (other values): not measured"),
        ("sub", "int32", None, "left out (other values): not measured"),
        ("roi_align", "", None, "left out (torch): not in torch's database"),
    ]


def test_a_test_of_onnxscript_without_a_mark_is_listed_where_a_call_fails(summary, dataset):
    old = listed(summary, dataset, OperatorList.ONNXSCRIPT, OLD, TESTS[:2])

    assert [item.said for item in old] == ["expected to fail (some samples, onnxruntime): 1 of 1 pass"]


def test_every_mark_of_onnxscript_is_read():
    tests = read_tests(homes.find().of_corpus("operators").cases)
    marked = [test.mark for test in tests if test.mark]

    assert (marked.count("xfail"), marked.count("skip")) == (69, 101)
    assert [test.name for test in tests if test.mark and not test.why] == []


def test_a_sample_says_how_it_ends_in_each_release_and_how_to_have_its_rows(summary, tmp_path):
    found = sample(summary, Dataset.open(None, tmp_path), "promotion-sub/int64-float-left", {"exporter": "dynamo"})
    (row,) = records(found.tables[0])

    assert (row["2.12"]["word"], row["2.13"]) == ("pass", "fail")
    assert found.more.endswith(f"--release {NEW} --case promotion-sub/int64-float-left")


def test_a_sample_takes_a_release_and_an_opset(summary, tmp_path):
    asked = {"torch": OLD, "opset": "14"}
    found = sample(summary, Dataset.open(None, tmp_path), "op-nn.functional.grid_sample/float32-plain", asked)

    assert [row["2.12"] for row in records(found.tables[0])] == ["fail"]


def test_an_unknown_sample_names_the_nearest(summary, tmp_path):
    for name, near in (("op-foldd", "op-fold"), ("op-fold/float32-plan", "float32-plain")):
        with pytest.raises(UnknownName, match=near):
            sample(summary, Dataset.open(None, tmp_path), name, {})


def test_without_a_summary_it_is_said_how_to_make_one(tmp_path):
    with pytest.raises(StoreError, match="publish --corpus operators"):
        OperatorsSummary(tmp_path)


def test_the_summary_takes_few_bytes_a_row(tmp_path):
    cells = [(f"op-{at}", *item[1:]) for at in range(100) for item in of_release(passes=True)[:5]]
    rows = [row for number in range(40) for row in summarised(f"2.{number}.0", cells, [])]
    path = tmp_path / "operators.parquet"
    writer.write(path, "operators", to_arrow("operators", rows))

    assert len(rows) == 16_000
    assert path.stat().st_size / len(rows) < 5


def test_the_score_of_a_release_counts_operators_alike_and_by_use(summary):
    used = UsedOperators(3, {"gridsampler": 3, "col2im": 1, "relu": 9})
    found = {(item.torch, item.exporter): item for item in scores(summary, used)}

    # traced: grid_sample 2 of 2, fold 1 of 2, one interpolate of two
    assert found[NEW, TRACE] == ReleaseScore(NEW, TRACE, 20, operators=4, share=62.5, used=2, by_use=87.5)
    assert [(found[torch, DYNAMO].share, found[torch, DYNAMO].by_use) for torch in (OLD, NEW)] == [
        (100, 100),
        (33.3, 0),
    ]


def test_the_form_of_an_operator_counts_as_it_and_a_part_of_torch_does_not():
    used = UsedOperators(1, {"sum": 1, "pad": 1})

    assert [used.key(op) for op in ("sum", "nn.functional.pad.reflect", "masked.sum", "special.erfcx")] == [
        *("sum", "pad", "", ""),
    ]


def test_operators_that_models_call_are_read():
    used = read_used(homes.find().of_corpus("operators").cases)

    assert used.operators["linear"] > used.models / 2
    assert max(used.operators.values()) <= used.models


def of_signature(signature, *others, status="mismatch"):
    """A summary of one operator by dynamo at opset 20: a call that ends so, and others behind it."""
    ends = [("plain", signature), *zip(("shape", "arguments"), others, strict=False)]
    return [
        (
            "op-fold",
            f"float16-{name}",
            DYNAMO,
            20,
            said.partition("|")[0],
            "fail" if "|Fail|" in said else status,
            said,
            None,
        )
        for name, said in ends
    ]


WRONG = {
    "dtype float16 expected, onnxruntime gave float32": ("dtype", "gives float32 in place of float16"),
    "shape [] expected, onnxruntime gave […]": ("shape", "gives another shape"),
    "N of N values differ, most at []: expected -V onnxruntime gave V": ("values", "gives wrong values"),
}


def test_a_wrong_output_behind_a_call_that_ends_with_an_error_is_listed_without_the_error(tmp_path, dataset):
    cells = of_signature("run|Fail|no such node", "compare|Mismatch|input set N, output N: N of N values differ")
    writer.write(tmp_path / "operators.parquet", "operators", to_arrow("operators", [*summarised(NEW, cells, ENTRIES)]))

    (item,) = listed(OperatorsSummary(tmp_path), dataset, OperatorList.SILENT)
    assert item.said == "0 of 2 pass; f32[2, 4], 2 in float16: gives another output than eager"


def test_a_dtype_that_is_wrong_at_one_opset_is_told_as_that_where_another_passes(tmp_path):
    bad = ("op-fold", "float16-plain", TRACE, 11, "compare", "mismatch")
    cells = [
        (*bad, "compare|Mismatch|input set N, output N: dtype float16 expected, onnxruntime gave float32", None),
        cell("op-fold", "float16-plain", TRACE, 20, "pass"),
    ]
    writer.write(tmp_path / "operators.parquet", "operators", to_arrow("operators", [*summarised(NEW, cells, ENTRIES)]))

    assert operator_at(OperatorsSummary(tmp_path), "fold", NEW, opsets=(11,)).told.endswith(
        "exports at opset 11, but gives float32 in place of float16, without an error (right at opset 20)."
    )
