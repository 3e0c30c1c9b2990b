"""A user's own model: what is asked, what is written into its case file, and what is answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from check_models import CASES, MODELS
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.check import inside, run
from caniexport.check.matching import Corpus, FailurePoint, failing_operator
from caniexport.check.run import prepare
from caniexport.check.subject import Options, UnusableModel, case_id, subject
from caniexport.cli import main
from caniexport.cli.check import axes
from caniexport.model import releases
from caniexport.model.errors import CaniexportError
from caniexport.model.status import Status
from caniexport.store import Dataset

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def cwd(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "net.py").write_text("def make():\n    return 1\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("def make(:\n", encoding="utf-8")
    (tmp_path / "star.py").write_text("from models import *\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("target", ["models:adds", "models.py:adds", "package.net:make", "star:adds", "models:made"])
def test_a_factory_becomes_a_case_file_that_is_read_without_its_torch(cwd, target):
    files = subject(target, cwd, Options({"left": {0: "batch"}}, rtol=0.01)).files
    place = prepare(cwd / "into", homes.find(ROOT), files, keep=False)
    (case,) = run.cases(place).values()
    assert (case.cls.dynamic, case.cls.rtol, case.cls.corpus) == ({"left": {0: "batch"}}, 0.01, "checked")
    assert case.id == case_id(case.cls.title())


def test_another_source_is_another_case(cwd):
    def hashed():
        place = prepare(cwd / "into", homes.find(ROOT), subject("models:adds", cwd, Options()).files, keep=False)
        return next(iter(run.cases(place).values())).case_hash("plain")

    before = hashed()
    assert before == hashed()
    (cwd / "models.py").write_text(MODELS + "\n# changed\n", encoding="utf-8")
    assert before != hashed()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("model:adds", "unknown module of the working directory 'model' (nearest: models)"),
        ("package.nte:make", "unknown module of package 'nte' (nearest: net)"),
        ("models:add", "unknown factory in models 'add' (nearest: adds"),
        ("models.py:add", "unknown factory in models.py 'add' (nearest: adds"),
        ("model.py:adds", "unknown file 'model.py' (nearest: models.py"),
        ("model.py", "unknown case file 'model.py' (nearest: models.py"),
        ("models", "'models': MODULE:FACTORY, FILE.py:FACTORY, or a case file or folder is wanted"),
        ("models:", "MODULE:FACTORY, FILE.py:FACTORY, or a case file or folder is wanted"),
        ("mod-els:adds", "'mod-els' is not the name of a module"),
        ("broken:make", "broken does not parse: invalid syntax (line 1)"),
        ("package/nothing/:make", "is not the name of a module"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(cwd, target, said, monkeypatch):
    monkeypatch.chdir(cwd)
    reply = CliRunner().invoke(main, ["check", target])
    assert (reply.exit_code, reply.stderr.count("\n")) == (2, 1)
    assert said in reply.stderr
    assert not (cwd / "caniexport-check").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--release", "2.99"], "no torch release '2.99' in the table"),
        (["--exporter", "tracing"], "unknown exporter"),
        (["--opset", "39"], "opset 39: these releases and exporters are asked for 7 to 27"),
        (["--opset", "9", "--exporter", "default"], "the default exporter asks for no opset"),
        (["--dynamic", "x=0"], "NAME:AXIS or NAME:AXIS=LABEL is wanted"),
        (["--with", "not a requirement"], "not a requirement such as torchvision or timm==1.0.9"),
        (["--into", str(ROOT / "results" / "mine")], "within results/, which a check never writes to"),
        (["--into", "package"], "there are other things; name a folder that is not there yet"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_made(cwd, words, said, monkeypatch):
    monkeypatch.chdir(cwd)
    reply = CliRunner().invoke(main, ["check", "models:adds", *words])
    assert reply.exit_code == 2
    assert said in reply.stderr
    assert not (cwd / "caniexport-check").exists()
    assert not (ROOT / "results" / "mine").exists()


def test_tolerances_are_a_cases_own(tmp_path):
    (tmp_path / "mine.py").write_text(CASES, encoding="utf-8")
    with pytest.raises(UnusableModel, match="a case says them itself"):
        subject("mine.py", tmp_path, Options(rtol=1.0))


def test_a_folder_without_cases_is_not_measured(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")
    place = prepare(tmp_path / "into", homes.find(ROOT), subject("mine.py", tmp_path, Options()).files, keep=False)
    with pytest.raises(CaniexportError, match="no case in these files"):
        run.cases(place)


def test_an_axis_without_a_label_gets_one():
    assert axes(["x:0=batch", "x:2", "y:1"]) == {"x": {0: "batch", 2: "x_2"}, "y": {1: "y_1"}}


def test_a_package_takes_the_place_of_its_pin_and_torch_is_asked_for_by_release():
    release = run.with_packages(releases.find("2.8.0"), ("onnx-ir==0.1.0", "timm"))
    assert release.pins[-2:] == ("onnx-ir==0.1.0", "timm")
    assert not [pin for pin in release.pins if pin.startswith("onnx_ir==")]
    with pytest.raises(UnusableModel, match="--release says which torch"):
        run.with_packages(release, ("torch==1.0",))


@pytest.mark.parametrize("shape", [(20, 4), (1, 20, 4), (2, 4)])
def test_the_second_input_set_keeps_the_four_numbers_of_a_box_together(shape):
    boxes = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    other = inside._other(boxes)
    assert not np.array_equal(other, boxes)
    assert {tuple(box) for box in other.reshape(-1, 4)} == {tuple(box) for box in boxes.reshape(-1, 4)}


def test_the_second_input_set_differs_where_there_is_another_order():
    same_rows = np.tile(np.arange(3), (2, 1))
    assert inside._other(same_rows).tolist() == [[2, 0, 1], [2, 0, 1]]
    assert inside._other(np.array([7, 7])).tolist() == [7, 7]
    assert inside._other(np.zeros((0, 4), "float32")).shape == (0, 4)


def test_the_newest_release_is_the_default_and_all_means_all():
    table = releases.table()
    assert [item.torch for item in run.chosen(())] == [table[-1].torch]
    assert [item.torch for item in run.chosen(("all",))] == [item.torch for item in reversed(table)]
    assert [item.torch for item in run.chosen(("1.13", "2.15.0"))] == ["2.15.0", "1.13.1"]


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not", "aten::grid_sampler"),
        ("Exporting the operator cross to ONNX opset version 14 is not supported", "aten::cross"),
        ("Exporting the operator ::grid_sampler to ONNX opset version 9", "aten::grid_sampler"),
        ("ONNX export failed on where, which is not implemented for opset 8.", "aten::where"),
        ("Unsupported: ONNX export of operator adaptive_avg_pool2d, output size", "aten::adaptive_avg_pool2d"),
        (
            "RuntimeError: ONNX export failed: Couldn't export operator aten::upsample_bilinear2d",
            "aten::upsample_bilinear2d",
        ),
        ("an operator with unrecognized namespace caniexport::cube. If you", "caniexport::cube"),
        ("No ONNX function found for <OpOverload(op='aten.bucketize', overload='Tensor')>.", "aten::bucketize"),
        ("Error when translating node %x : [num_users=1] = call_function[target=torch.ops.aten.t.default]", "aten::t"),
        ("FAIL : Fatal error: ai.onnx:ATen(-1) is not a registered function/op", "ATen"),
        ("Could not find an implementation for ArgMax(13) node with name 'x'", "ArgMax"),
        ("Could not find an implementation for the node Cos_0:Cos(7)", "Cos"),
        ("Non-zero status code returned while running Reshape node. Name:'/Reshape'", "Reshape"),
        ("[ShapeInferenceError] (op_type:Greater, node name: /Greater): A typestr", "Greater"),
        ("No Op registered for Resize with domain_version of 9", "Resize"),
        ("Unrecognized attribute: axes for operator ReduceSum", "ReduceSum"),
        ("RuntimeError: The size of tensor a (3) must match the size of tensor b (4)", ""),
    ],
)
def test_an_error_names_its_operator(text, operator):
    assert failing_operator(text) == operator


@pytest.fixture(scope="module")
def corpus():
    return Corpus(Dataset.open(ROOT / "results", None))


def test_the_same_error_finds_its_case_with_what_each_fix_is_worth_there(corpus):
    text = (
        "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not "
        "supported. Support for this operator was added in version 16, try exporting with this version."
    )
    found = corpus.matches(FailurePoint("1.13.1", "torchscript-trace", 15, "export", Status.FAIL, text))
    case = next(match for match in found if match.case == "grid-sampler-unsupported-opset-11")
    assert (case.why, case.torch, case.status) == ("the same error", "1.13.1", Status.FAIL)
    assert {fix.variant: fix.word.value for fix in case.fixes}["gather_rewrite"] == "needed"


def test_a_patch_release_that_nobody_measured_is_answered_by_the_one_before(corpus):
    text = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported."
    found = corpus.matches(FailurePoint("1.10.3", "torchscript-trace", 14, "export", Status.FAIL, text))
    assert (found[0].case, found[0].torch) == ("cross-no-symbolic", "1.10.2")


def test_an_operator_of_the_words_of_others_is_not_taken_for_theirs(corpus):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::fft_hfft' to ONNX opset version 15 is not supported"
    assert corpus.matches(FailurePoint("1.13.1", "torchscript-trace", 15, "export", Status.FAIL, text)) == ()


def test_wrong_values_are_matched_by_what_the_tracer_warned_of(corpus):
    warned = (
        "TracerWarning: Converting a tensor to a Python number might cause the trace to be incorrect. We can't record "
        "the data flow of Python values"
    )
    point = FailurePoint(
        "2.15.0", "torchscript-trace", 18, "compare", Status.MISMATCH, "input set 1, output 0: 1 of", warned
    )
    found = corpus.matches(point)
    assert found
    assert {match.status for match in found} == {Status.MISMATCH}
    assert all(match.why == "wrong values, with a warning like this one" for match in found)


def test_what_the_models_own_code_raises_is_compared_with_nothing(corpus):
    text = "ValueError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not supported"
    assert corpus.matches(FailurePoint("1.13.1", "torchscript-trace", 15, "eager", Status.FAIL, text)) == ()
