"""A user's own model: what is asked, what is written into its case file, and what is answered."""

from __future__ import annotations

import shutil
import sys
import tempfile
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from check_models import CASES, MODELS
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.answers.rows import MeasuredCell
from caniexport.check import inside, other_ways, run, second_inputs
from caniexport.check.matching import Corpus, FailurePoint, failing_operator
from caniexport.check.run import prepare
from caniexport.check.subject import Options, UnusableModel, case_id, subject
from caniexport.cli import main
from caniexport.cli.check import axes
from caniexport.machine import interpreters
from caniexport.match.parse import read_error
from caniexport.model import releases
from caniexport.model.errors import CaniexportError
from caniexport.model.status import Status

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
    place = prepare(cwd / "into", homes.find(ROOT), files)
    (case,) = run.cases(place).values()
    assert (case.cls.dynamic, case.cls.rtol, case.cls.corpus) == ({"left": {0: "batch"}}, 0.01, "checked")
    assert case.id == case_id(case.cls.title())


def test_another_source_is_another_case(cwd):
    def hashed():
        place = prepare(cwd / "into", homes.find(ROOT), subject("models:adds", cwd, Options()).files)
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
        (["--exporter", "tracer"], "unknown exporter"),
        (["--opset", "39"], "opset 39: these releases and exporters are asked for 7 to 28"),
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


def test_a_missing_python_is_named_in_the_first_line(cwd, monkeypatch):
    monkeypatch.chdir(cwd)
    monkeypatch.setattr(interpreters, "find", lambda *_: None)
    monkeypatch.setattr(interpreters, "why_none", lambda _: "no network")
    reply = CliRunner().invoke(main, ["check", "models:adds", "--release", "1.10.2"])
    assert reply.exit_code == 1
    said = "models:adds: torch 1.10.2: needs Python 3.8: none found, uv could not download it (no network)"
    assert reply.stdout.splitlines()[0] == said


def test_tolerances_are_a_cases_own(tmp_path):
    (tmp_path / "mine.py").write_text(CASES, encoding="utf-8")
    with pytest.raises(UnusableModel, match="a case says them itself"):
        subject("mine.py", tmp_path, Options(rtol=1.0))


def test_a_folder_without_cases_is_not_measured(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")
    place = prepare(tmp_path / "into", homes.find(ROOT), subject("mine.py", tmp_path, Options()).files)
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


def sets_of(*given, axes=None, names=("x", "y", "z")):
    """The first alternative of each further set of inputs, by its words."""
    found = (alternatives[0] for alternatives in second_inputs.further_inputs(given, axes or {}, names))
    return {words: inputs for words, inputs in found if second_inputs.different(given, inputs)}


@pytest.mark.parametrize("shape", [(20, 4), (1, 20, 4), (2, 4)])
def test_no_further_inputs_take_the_four_numbers_of_a_box_apart(shape):
    boxes = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    found = sets_of(boxes)
    assert set(found) == {"other values of the same range", "the same rows in another order"}
    rows = {tuple(box) for box in boxes.reshape(-1, 4)}
    assert all({tuple(box) for box in item.reshape(-1, 4)} == rows for (item,) in found.values())


def test_integers_get_duplicates_and_negative_values_that_index_what_those_given_do():
    found = sets_of(np.array([3, 1, 2]))
    assert found["integers that are all the same"][0].tolist() == [3, 3, 3]
    assert found["negative integers"][0].tolist() == [-4, -2, -3]
    assert min(found["other values of the same range"][0]) >= 1
    assert max(found["other values of the same range"][0]) <= 3


def test_floats_get_ties_zeros_and_the_opposite_sign():
    found = sets_of(np.array([1.0, 5.0, 2.0, 7.0], dtype="float32"))
    assert found["two values only, so that many tie"][0].tolist() == [1, 7, 1, 7]
    assert found["zeros"][0].tolist() == [0, 0, 0, 0]
    assert found["values with the opposite sign"][0].tolist() == [-1, -5, -2, -7]
    assert found["values ten times as large"][0].tolist() == [10, 50, 20, 70]
    assert all(inputs[0].dtype == np.float32 for inputs in found.values())


def test_signs_differ_where_two_arguments_meet():
    """Of a quotient floor and truncation agree where both signs are the same."""
    found = sets_of(np.array([3, 1, 2]), np.array([1, 4, 5]))
    left, right = found["integers of which every other one is negative"]
    assert (left.tolist(), right.tolist()) == ([-4, 1, -3], [1, -5, 5])
    found = sets_of(np.array([3.0, 1.5], "float32"), np.array([1.0, 4.0], "float32"))
    left, right = found["values of which every other one has the opposite sign"]
    assert (left.tolist(), right.tolist(), left.dtype) == ([-3.0, 1.5], [1.0, -4.0], np.float32)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_a_mask_stays_a_mask(dtype):
    found = sets_of(np.array([[1, 0, 1], [1, 1, 0]], dtype=dtype))
    assert found
    assert all(set(np.unique(item)) <= {0, 1} and item.dtype == dtype for (item,) in found.values())


def test_floats_that_are_all_ones_get_values_as_well():
    """``torch.ones`` is a first example of values too: a branch on their size is hidden where it stays a mask."""
    found = sets_of(np.ones((2, 3), "float32"))
    assert found["values ten times as large"][0].tolist() == [[10] * 3] * 2
    assert found["values with the opposite sign"][0].tolist() == [[-1] * 3] * 2
    ones = np.ones((2, 3), "int64")
    assert all(set(np.unique(item)) <= {0, 1} for (item,) in sets_of(ones).values())


def test_flags_are_all_set_and_none():
    found = sets_of(np.array([True, False, True]), np.array([2, 5, 7]))
    assert found["flags that are all set"][0].tolist() == [True] * 3
    assert found["flags of which none is set"][0].tolist() == [False] * 3
    assert found["flags of which none is set"][1].tolist() == [2, 5, 7]


def test_floats_of_one_value_throughout_are_told_as_numbers():
    """Rows of four equal numbers might be boxes, so that nothing else is put there."""
    ones, zeros = np.ones((2, 4), "float32"), np.zeros((2, 4), "float32")
    assert sets_of(ones)["zeros throughout"][0].tolist() == [[0] * 4] * 2
    assert sets_of(zeros)["ones throughout"][0].tolist() == [[1] * 4] * 2
    assert "flags of which none is set" in sets_of(ones, np.array([True, False]))


def test_two_arguments_that_are_equal_differ_in_a_further_set():
    same = np.array([1.0, 2.0, 3.0], dtype="float32")
    assert any(not np.array_equal(left, right) for left, right in sets_of(same, same).values())


def test_every_dynamic_axis_gets_a_larger_odd_size_and_1_and_equal_labels_equal_sizes():
    axes = {0: {0: "n", 1: "width"}, 1: {0: "n"}}
    found = sets_of(np.zeros((2, 4), "float32"), np.zeros((2, 3), "float32"), axes=axes)
    shapes = [(x.shape, y.shape) for x, y in found.values()]
    assert ((5, 9), (5, 3)) in shapes
    assert ((1, 1), (1, 3)) in shapes
    assert ((2, 1), (2, 3)) in shapes
    assert all(x[0] == y[0] for x, y in shapes)
    assert "x:0 of size 5, x:1 of size 9, y:0 of size 5" in found


def test_nothing_is_made_of_no_rows_and_no_axis_becomes_empty():
    """Runtimes die of no rows (an LSTM) that nobody gave: a set without rows is measured where a user gives one."""
    axes = {0: {0: "n"}}
    assert not any(inputs[0].size for inputs in sets_of(np.zeros((0, 4), "float32"), axes=axes).values())
    assert all(inputs[0].size for inputs in sets_of(np.ones((2, 4), "float32"), axes=axes).values())


def test_a_number_among_the_arguments_becomes_another_one():
    found = sets_of(np.arange(3.0), 2, 0.5, True)
    numbers = {words: inputs[1:] for words, inputs in found.items() if " instead of " in words}
    assert numbers == {"y = 3 instead of 2": (3, 0.5, True), "z = 2.0 instead of 0.5": (2, 2.0, True)}


def test_an_integer_that_is_the_same_throughout_becomes_another_one():
    """No other one can be drawn from its range."""
    (flag,) = sets_of(np.array(0))["x = 1 instead of 0"]
    assert (flag.tolist(), flag.dtype) == (1, np.int64)
    assert sets_of(np.array([7, 7]))["x = 8 instead of 7"][0].tolist() == [8, 8]
    assert not [words for words in sets_of(np.array([0, 1, 1])) if " instead of " in words]


def test_values_on_both_sides_of_the_numbers_in_the_source_are_tried():
    found = dict(other_ways.other_values((np.array([5]), np.array([1.0, -4.0], "float32")), ("n", "x"), [300]))
    assert {"n = 301 instead of 5", "n = 0 instead of 5", "n = -1 instead of 5"} <= set(found)
    assert found["n = 301 instead of 5"][0].tolist() == [301]
    assert found["x scaled to 600.0 at most"][1].tolist() == [150.0, -600.0]
    assert all(
        item.dtype == "uint8" for (item,) in dict(other_ways.other_values((np.uint8([3]),), "x", [300])).values()
    )


def test_sizes_on_the_other_side_of_the_numbers_in_the_source_are_tried_where_an_axis_varies():
    def tried(shape, numbers):
        given = (np.ones(shape, "float32"),)
        found = second_inputs.sizes_around(given, {0: {0: "n"}}, ("x",), numbers)
        return {words: inputs[0].shape for words, inputs in found}

    assert tried((8, 3), [512, 4]) == {"x:0 of size 513": (513, 3), "x:0 of size 3": (3, 3)}
    assert tried((8, 3), [100_000, 1]) == {}, "what is no likely size is left out"
    assert list(second_inputs.sizes_around((np.ones((8, 3), "float32"),), {}, ("x",), [512])) == []


def arrays_in(inputs):
    return [isinstance(item, np.ndarray) and item.shape == () for item in inputs]


def test_an_array_without_axes_stays_one_in_every_further_set():
    """As a number of numpy's it would be no input of the file, which takes it."""
    given = np.array(3), np.array(2.5, "float32"), np.array(True)
    found = sets_of(*given)
    assert {"negative integers", "values with the opposite sign", "zeros", "flags of which none is set"} <= set(found)
    assert {words: arrays_in(inputs) for words, inputs in found.items()} == dict.fromkeys(found, [True] * 3)
    assert arrays_in([*second_inputs.widened(given), *second_inputs.nudged(given, given)]) == [True] * 6


def test_constant_inputs_alone_are_nudged_to_see_what_rounding_does():
    given = (np.array([1.0, -50.0], "float32"),)
    zeros, many = (np.zeros(4, "float32"),), (np.arange(4, dtype="float32"),)
    assert second_inputs.nudged(many, given) is many
    (moved,) = second_inputs.nudged(zeros, given)
    assert 0 < np.abs(moved).max() <= 50e-6
    assert second_inputs.widened(zeros)[0].dtype == np.float64


def test_a_larger_size_alone_makes_no_equal_values():
    image = np.arange(6, dtype="float32").reshape(1, 6)
    (larger,) = sets_of(image, axes={0: {1: "n"}})["x:1 of size 13"]
    assert len(np.unique(larger)) == 13
    assert image.min() <= larger.min() and larger.max() <= image.max()


def test_an_input_of_a_few_values_alone_is_not_nudged_and_a_constant_one_by_its_own_size():
    strides, image = np.array([8.0, 16.0], "float32"), np.arange(6, dtype="float32")
    given = ([image, image], strides)
    assert second_inputs.nudged(given, given) is given
    images, same = second_inputs.nudged(([image, np.zeros(6, "float32")], strides), given)
    assert np.array_equal(images[0], image) and np.array_equal(same, strides)
    assert 0 < np.abs(images[1]).max() <= 5e-6


def test_zeros_have_no_sign():
    given = (np.array([-1.0, 2.0, -3.0], "float32"),)
    (zeros,) = [other for (words, other), *_ in second_inputs.further_inputs(given, {}, ["x"]) if words == "zeros"]
    assert not np.signbit(zeros[0]).any()


def test_a_module_that_a_process_writes_for_itself_is_no_file_of_the_users(tmp_path, monkeypatch):
    folder = Path(tempfile.mkdtemp())
    for path in (folder / "made_for_this_process.py", tmp_path / "users_own.py"):
        path.write_text("", encoding="utf-8")
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, path.stem, module)
    read = {Path(name).name for name, *_ in inside.read_files()}
    shutil.rmtree(folder)
    assert read & {"made_for_this_process.py", "users_own.py"} == {"users_own.py"}


@pytest.mark.parametrize(
    ("words", "other", "told"),
    [
        ("zeros", ([0.0], [False]), "zeros"),
        ("flags of which none is set", ([1.0], [False]), "flags of which none is set (mask)"),
        ("mask:0 of size 2", ([1.0], [True, True]), "mask:0 of size 2"),
    ],
)
def test_inputs_that_differ_in_some_arguments_name_them(words, other, told):
    given = np.array([1.0]), np.array([True])
    assert inside.with_changed(words, given, tuple(map(np.array, other)), ("x", "mask")) == told


def test_arrays_in_nests_are_changed_where_they_are():
    given = {"boxes": [np.array([3, 1, 2]), None], "scale": 2}
    found = sets_of(given)["negative integers"][0]
    assert (found["boxes"][0].tolist(), found["boxes"][1], found["scale"]) == ([-4, -2, -3], None, 2)


def test_the_newest_release_is_the_default_and_all_means_all():
    table = releases.table()
    assert [item.torch for item in run.chosen(run.CheckRequest())] == [table[-1].torch]
    assert [item.torch for item in run.chosen(run.CheckRequest(("all",)))] == [item.torch for item in reversed(table)]
    assert [item.torch for item in run.chosen(run.CheckRequest(("1.13", "2.15.0")))] == ["2.15.0", "1.13.1"]


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
        ("TypeError: full(): argument 'fill_value' must be Number, not Tensor", "aten::full"),
        ("RuntimeError: The size of tensor a (3) must match the size of tensor b (4)", ""),
    ],
)
def test_an_error_names_its_operator(text, operator):
    assert failing_operator(text) == operator


@pytest.fixture(scope="module")
def corpus(results):
    return Corpus(results)


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


def test_a_message_that_ends_with_lines_of_a_graph_is_about_its_first_line(corpus):
    graph = "".join(f"  %{number} : Tensor = onnx::LSTM(%0)\n" for number in range(1, 9))
    text = (
        "RuntimeError: ONNX export failed: Couldn't export operator aten::adaptive_avg_pool2d\n\nGraph we tried to "
        f"export:\ngraph(%0 : Float(1, 3, 4, 4)) {{\n{graph}  return (%1);\n}}"
    )
    found = corpus.matches(FailurePoint("1.10.2", "torchscript-trace", 11, "export", Status.FAIL, text))
    assert found[0].case.startswith("adaptive-avg-pool")
    assert not [match.case for match in found if "lstm" in match.case]


@pytest.mark.parametrize(
    ("exporter", "text"),
    [
        (
            "dynamo",
            "TypeError: zeros(): argument 'size' failed to unpack the object at pos 1 with error \"type must be int\"",
        ),
        ("torchscript-trace", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    ],
    ids=["packed LSTM", "bare Linear"],
)
def test_an_error_that_no_case_has_is_called_the_same_as_none(corpus, exporter, text):
    found = corpus.matches(FailurePoint("2.15.0", exporter, 18, "export", Status.FAIL, text))
    assert not [match for match in found if match.why.startswith(("the same error", "the same cause"))]
    assert "masked-select-no-rule" not in {match.case for match in found}


def own_cell(opset, status, torch="1.13.1", exporter="torchscript-trace"):
    told = dict.fromkeys(MeasuredCell._fields)
    told |= {"torch": torch, "exporter": exporter, "opset": opset, "status": status, "stage": "export"}
    return MeasuredCell(**told)


@pytest.mark.parametrize(
    ("own", "refuted"),
    [
        ([(16, Status.FAIL)], "torchscript-trace, opset 16: fail for this model"),
        ([(16, Status.PASS)], ""),
        ([(14, Status.FAIL), (17, Status.MISMATCH)], "torchscript-trace, opset 14 and opset 17: fail for this model"),
        ([(14, Status.FAIL), (17, Status.PASS)], ""),
        ([(14, Status.FAIL)], ""),
    ],
)
def test_a_fix_that_the_models_own_rows_refute_is_not_needed(corpus, own, refuted):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not"
    point = FailurePoint("1.13.1", "torchscript-trace", 15, "export", Status.FAIL, text)
    found = corpus.matches(point, [own_cell(*cell) for cell in own])
    (case,) = [match for match in found if match.case == "grid-sampler-unsupported-opset-11"]
    (fix,) = [fix for fix in case.fixes if fix.variant == "opset_16"]

    assert (fix.refuted, fix.helps) == (refuted, not refuted)


@pytest.mark.parametrize(("own", "is_named"), [(Status.FAIL, False), (Status.MISMATCH, False), (Status.PASS, True)])
def test_another_exporter_is_no_fix_where_the_model_does_not_work_by_it(corpus, own, is_named):
    text = "TorchExportError: step 1/3\ncaused by AssertionError: only 4D query, key, and value are supported"
    found = corpus.matches(
        FailurePoint("2.15.0", "dynamo", 18, "export", Status.FAIL, text), [own_cell(18, own, "2.15.0")]
    )
    (case,) = [match for match in found if match.case == "sdpa-three-dims"]
    (fix,) = [fix for fix in case.fixes if fix.variant == "trace"]
    assert (fix.word.value, fix.helps) == ("needed", is_named)
    assert bool(fix.refuted) is not is_named


def test_that_the_model_as_it_is_fails_by_dynamo_too_refutes_no_rewrite_of_it(corpus):
    text = (
        "ConversionError: Failed to convert the exported program to an ONNX model.\ncaused by DispatchError: No ONNX "
        "function found for <OpOverload(op='aten.adaptive_max_pool2d', overload='default')>. Failure message: No "
        "decompositions registered for the real-valued input"
    )
    point = FailurePoint("2.15.0", "default", None, "export", Status.FAIL, text)
    own = [own_cell(opset, Status.FAIL, "2.15.0", "dynamo") for opset in (14, 18, 26)]
    found = {match.case: match for match in corpus.matches(point, own)}
    (fix,) = [fix for fix in found["adaptive-max-pool-stride-kernel-formula"].fixes if fix.variant == "max_of_each_bin"]
    assert (fix.kind, fix.word.value, fix.refuted, fix.helps) == ("rewrite", "needed", "", True)


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


def test_a_wrong_type_finds_the_cases_whose_files_give_it_in_the_same_place(corpus):
    text = "Mismatch: input set 0, output 3: dtype uint8 expected, onnxruntime gave int8"
    found = corpus.matches(FailurePoint("2.15.0", "dynamo", 18, "compare", Status.MISMATCH, text, as_exported=True))
    assert [(match.case, match.why) for match in found] == [
        ("bitshift-uint8", "wrong values, of the same type in the place of the same")
    ]
    other = corpus.matches(FailurePoint("2.15.0", "torchscript-trace", 18, "compare", Status.MISMATCH, text))
    assert "bitshift-uint8" not in {match.case for match in other}


def test_what_the_tracer_fixed_does_not_explain_wrong_values_of_the_very_inputs_it_saw(corpus):
    warned = (
        "TracerWarning: Converting a tensor to a Python boolean might cause the trace to be incorrect. We can't record "
        "the data flow of Python values"
    )
    point = FailurePoint("2.15.0", "torchscript-trace", 18, "compare", Status.MISMATCH, "input set 0", warned)
    assert [match.status for match in corpus.matches(point)] == [Status.MISMATCH] * 3
    assert corpus.matches(replace(point, as_exported=True)) == ()


def test_a_failure_of_the_same_operator_at_another_stage_is_no_lead(corpus):
    text = "Fail: [ONNXRuntimeError] : 1 : FAIL : Node (/Gemm) Op (Gemm) [ShapeInferenceError] Input 0 expected to have"
    assert corpus.matches(FailurePoint("2.15.0", "torchscript-trace", 18, "load", Status.FAIL, text)) == ()


def test_a_paste_of_a_shortened_report_is_read_to_its_innermost_cause():
    text = (
        "ConversionError: Failed to convert the exported program to an ONNX model. This is step 3/3 of exporting the "
        "model to ONNX. Next steps:\ncaused by AssertionError: only 4D query, key, and value are supported"
    )
    assert [(reason.kind, reason.line) for reason in read_error(text).reasons] == [
        ("AssertionError", "only 4D query, key, and value are supported")
    ]


def test_what_the_models_own_code_raises_is_compared_with_nothing(corpus):
    text = "ValueError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not supported"
    assert corpus.matches(FailurePoint("1.13.1", "torchscript-trace", 15, "eager", Status.FAIL, text)) == ()


def test_a_case_of_an_operator_that_the_model_does_not_call_is_no_lead(corpus):
    """A mask's indices are squeezed in the file: the model calls no squeeze that could be left out."""
    text = (
        "input set 3: Fail: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Squeeze node. "
        "Name:'node_Squeeze_118' Status Message: squeeze.h:53 static onnxruntime::TensorShapeVector onnxruntime::"
        "SqueezeBase::ComputeOutputShape(const onnxruntime::TensorShape&, const onnxruntime::TensorShapeVector&) "
        "input_shape[i] == 1 was false. Dimension of input 1 must be 1 instead of 2. shape={0,2}"
    )
    point = FailurePoint("2.15.0", "dynamo", 18, "run", Status.FAIL, text)
    assert "squeeze-of-nonsingleton" in {match.case for match in corpus.matches(point)}
    called = replace(point, calls=frozenset({"squeeze", "index"}))
    assert "squeeze-of-nonsingleton" in {match.case for match in corpus.matches(called)}
    assert corpus.matches(replace(point, calls=frozenset({"index"}))) == ()


@pytest.mark.parametrize(
    ("stage", "text", "case"),
    [
        ("export", "TypeError: Net.forward() missing 1 required positional argument: 'sizes'", "dict-as-last-input"),
        (
            "run",
            "InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x for the "
            "following indices\n index: 0 Got: 5 Expected: 2\n Please fix either the inputs/outputs or the model.",
            "dynamic-axes-batch-2-input",
        ),
    ],
)
def test_a_case_about_the_call_is_a_lead_whatever_the_model_calls(corpus, stage, text, case):
    point = FailurePoint("2.15.0", "torchscript-trace", 18, stage, Status.FAIL, text)
    found = corpus.matches(point)
    assert case in {match.case for match in found}
    assert corpus.matches(replace(point, calls=frozenset({"sub"}))) == found


def test_what_stands_beside_the_operator_that_fails_is_no_lead(corpus):
    text = (
        "SymbolicValueError: ONNX symbolic expected node type prim::ListConstruct, got '%5 : Long(2, strides=[1], "
        "device=cpu) = onnx::Constant[value= 1  2 [ CPULongType{2} ]]()\n'"
    )
    assert corpus.matches(FailurePoint("2.15.0", "torchscript-script", 18, "export", Status.FAIL, text)) == ()


def test_a_model_whose_axes_are_named_is_not_told_to_name_a_cases_own(corpus):
    text = (
        "InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x for the "
        "following indices\n index: 0 Got: 5 Expected: 2\n Please fix either the inputs/outputs or the model."
    )
    point = FailurePoint("2.5.1", "dynamo", 18, "run", Status.FAIL, text)
    before = {match.case: {fix.variant for fix in match.fixes} for match in corpus.matches(point)}
    assert {"axes_2_3", "dynamic_hw"} <= set().union(*before.values())
    after = [fix.variant for match in corpus.matches(replace(point, varies=True)) for fix in match.fixes]
    assert not {"axes_2_3", "axis_0", "dynamic_hw", "all_dynamic"} & set(after)


def test_where_another_size_stops_a_file_the_place_is_not_taken_for_the_cause(corpus):
    text = (
        "input set 5: RuntimeException: [ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned "
        "while running Gather node. Name:'/Gather_1' Status Message: indices element out of data bounds, idx=1 must be "
        "within the inclusive range [-1,0]"
    )
    point = FailurePoint("2.9.1", "torchscript-trace", 18, "run", Status.FAIL, text)
    assert "advanced-index-negative" in {match.case for match in corpus.matches(point)}
    assert corpus.matches(replace(point, resized=True)) == ()
