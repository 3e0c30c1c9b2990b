"""A user's own model: what is asked, what is written into its case file, and what is answered."""

from __future__ import annotations

import numpy as np
import pytest
from check_models import CASES, MODELS
from click.testing import CliRunner

from caniexport.check import environments
from caniexport.check.check import read_cases
from caniexport.check.inside import factory
from caniexport.check.inside import inputs as made_inputs
from caniexport.check.target import Options, UnusableModel, case_id, read_target
from caniexport.cli import main
from caniexport.cli.check import axes
from caniexport.machine import interpreters
from caniexport.model import releases
from caniexport.model.errors import CaniexportError


@pytest.fixture
def cwd(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "net.py").write_text("def make():\n    return 1\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("def make(:\n", encoding="utf-8")
    (tmp_path / "star.py").write_text("from models import *\n", encoding="utf-8")
    return tmp_path


def read(cwd, target, options):
    """The case of a target, read without its torch."""
    folder = cwd / "cases"
    folder.mkdir()
    for name, text in read_target(target, cwd, options).items():
        (folder / name).write_text(text, encoding="utf-8")
    (case,) = read_cases(folder).values()
    return case


@pytest.mark.parametrize("target", ["models:adds", "models.py:adds", "package.net:make", "star:adds", "models:made"])
def test_a_factory_becomes_a_case_file_that_is_read_without_its_torch(cwd, target):
    case = read(cwd, target, Options({"left": {0: "batch"}}, rtol=0.01))
    assert (case.cls.dynamic, case.cls.rtol, case.cls.corpus) == ({"left": {0: "batch"}}, 0.01, "checked")
    assert case.id == case_id(case.cls.title())


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("model:adds", "unknown module of the working directory 'model' (nearest: models)"),
        ("package.nte:make", "unknown module of package 'nte' (nearest: net)"),
        ("models:add", "unknown factory in models 'add' (nearest: adds"),
        ("models.py:add", "unknown factory in models.py 'add' (nearest: adds"),
        ("model.py:adds", "unknown file 'model.py' (nearest: models.py"),
        ("model.py", "unknown case file 'model.py' (nearest: models.py"),
        ("models", "'models' is no target: give MODULE:FACTORY, FILE.py:FACTORY, or a case file or folder"),
        ("models:", "'models:' is no target"),
        ("mod-els:adds", "'mod-els' is not a module name"),
        ("broken:make", "broken does not parse: invalid syntax (line 1)"),
        ("package/nothing/:make", "is not a module name"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest(cwd, target, said, monkeypatch):
    monkeypatch.chdir(cwd)
    reply = CliRunner().invoke(main, ["check", target])
    assert (reply.exit_code, reply.stderr.count("\n")) == (2, 1)
    assert said in reply.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--release", "2.99"], "no torch release '2.99' in the table"),
        (["--exporter", "tracer"], "unknown exporter"),
        (["--opset", "39"], "opset 39 is not measured here (measured: 7 to 28)"),
        (["--opset", "9", "--exporter", "default"], "the default call names no opset"),
        (["--dynamic", "x=0"], "give NAME:AXIS or NAME:AXIS=LABEL"),
        (["--with", "not a requirement"], "not a requirement such as torchvision or timm==1.0.9"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_made(cwd, words, said, monkeypatch):
    monkeypatch.chdir(cwd)
    reply = CliRunner().invoke(main, ["check", "models:adds", *words])
    assert reply.exit_code == 2
    assert said in reply.stderr


def test_a_missing_python_is_named_in_the_first_line(cwd, monkeypatch):
    monkeypatch.chdir(cwd)
    monkeypatch.setattr(interpreters, "find_python", lambda *_: None)
    monkeypatch.setattr(interpreters, "explain_missing", lambda _: "no network")
    reply = CliRunner().invoke(main, ["check", "models:adds", "--release", "1.10.2"])
    assert reply.exit_code == 1
    said = "Not measured: torch 1.10.2: needs Python 3.8: none found, uv could not download it (no network)"
    assert reply.stdout.splitlines()[0] == said


def test_tolerances_are_a_cases_own(tmp_path):
    (tmp_path / "mine.py").write_text(CASES, encoding="utf-8")
    with pytest.raises(UnusableModel, match="set them in the case file"):
        read_target("mine.py", tmp_path, Options(rtol=1.0))


def test_a_folder_without_cases_is_not_measured(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(CaniexportError, match="no case in these files"):
        read(tmp_path, "mine.py", Options())


def test_an_axis_without_a_label_gets_one():
    assert axes(["x:0=batch", "x:2", "y:1"]) == {"x": {0: "batch", 2: "x_2"}, "y": {1: "y_1"}}


def test_a_package_takes_the_place_of_its_pin_and_torch_is_asked_for_by_release():
    release = environments.add_packages(releases.find("2.8.0"), ("onnx-ir==0.1.0", "timm"))
    assert release.pins[-2:] == ("onnx-ir==0.1.0", "timm")
    assert not [pin for pin in release.pins if pin.startswith("onnx_ir==")]
    with pytest.raises(UnusableModel, match="use --release to choose the torch release"):
        environments.add_packages(release, ("torch==1.0",))


def sets_of(*given, axes=None, numbers=(), names=("x", "y", "z")):
    """The first alternative of each further set of inputs, by its words."""
    found = (alternatives[0] for alternatives in made_inputs.make_inputs(given, axes or {}, names, numbers))
    return {words: inputs for words, inputs in found if made_inputs.is_different(given, inputs)}


@pytest.mark.parametrize("shape", [(20, 4), (1, 20, 4), (2, 4)])
def test_no_further_inputs_take_the_four_numbers_of_a_box_apart(shape):
    boxes = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    found = sets_of(boxes)
    assert set(found) == {"other values of the same range", "the same rows in another order"}
    rows = {tuple(box) for box in boxes.reshape(-1, 4)}
    assert all({tuple(box) for box in item.reshape(-1, 4)} == rows for (item,) in found.values())


def floats(*values):
    return np.array(values, "float32")


INDEX, FLOATS, FLAGS = np.array([3, 1, 2]), floats(1, 5, 2, 7), np.array([True, False, True])
TURNED = "integers of which every other one is negative"
SIGNED = "values of which every other one has the opposite sign"


@pytest.mark.parametrize(
    ("given", "words", "made"),
    [
        ([INDEX], "integers that are all the same", [[3, 3, 3]]),
        ([INDEX], "negative integers", [[-4, -2, -3]]),
        ([FLOATS], "two values only, so that many tie", [[1, 7, 1, 7]]),
        ([FLOATS], "zeros", [[0, 0, 0, 0]]),
        ([FLOATS], "values with the opposite sign", [[-1, -5, -2, -7]]),
        ([FLOATS], "values ten times as large", [[10, 50, 20, 70]]),
        # of a quotient floor and truncation agree where both signs are the same
        ([INDEX, np.array([1, 4, 5])], TURNED, [[-4, 1, -3], [1, -5, 5]]),
        ([floats(3, 1.5), floats(1, 4)], SIGNED, [[-3, 1.5], [1, -4]]),
        # a branch on the size of values is hidden where torch.ones stays a mask
        ([floats(1, 1, 1)], "values ten times as large", [[10, 10, 10]]),
        ([FLAGS, np.array([2, 5, 7])], "ones throughout", [[True] * 3, [2, 5, 7]]),
        ([FLAGS, np.array([2, 5, 7])], "zeros throughout", [[False] * 3, [2, 5, 7]]),
        # rows of four equal numbers might be boxes, so that nothing else is put there
        ([np.ones((2, 4), "float32")], "zeros throughout", [[[0] * 4] * 2]),
        # no other integer can be drawn from its range
        ([np.array(0)], "x = 1 instead of 0", [1]),
        ([np.array([7, 7])], "x = 8 instead of 7", [[8, 8]]),
        ([{"boxes": [INDEX, None], "scale": 2}], "negative integers", [{"boxes": [[-4, -2, -3], None], "scale": 2}]),
    ],
)
def test_further_inputs_are_made_of_those_given(given, words, made):
    def listed(item):
        if isinstance(item, dict):
            return {name: listed(part) for name, part in item.items()}
        return [*map(listed, item)] if isinstance(item, list) else getattr(item, "tolist", lambda: item)()

    found = sets_of(*given)[words]
    assert [listed(item) for item in found] == made
    assert [getattr(item, "dtype", None) for item in found] == [getattr(item, "dtype", None) for item in given]


def test_integers_that_are_drawn_index_what_those_given_do():
    (drawn,) = sets_of(INDEX)["other values of the same range"]
    assert min(drawn) >= 1 and max(drawn) <= 3


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_a_mask_stays_a_mask(dtype):
    found = sets_of(np.array([[1, 0, 1], [1, 1, 0]], dtype=dtype))
    assert found
    assert all(set(np.unique(item)) <= {0, 1} and item.dtype == dtype for (item,) in found.values())
    assert not [words for words in found if " instead of " in words]


def test_every_dynamic_axis_gets_a_larger_odd_size_and_1_and_equal_labels_equal_sizes():
    axes = {0: {0: "n", 1: "width"}, 1: {0: "n"}}
    found = sets_of(np.zeros((2, 4), "float32"), np.zeros((2, 3), "float32"), axes=axes)
    shapes = [(x.shape, y.shape) for x, y in found.values()]
    assert {((5, 9), (5, 3)), ((1, 1), (1, 3)), ((2, 1), (2, 3))} <= set(shapes)
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


@pytest.mark.parametrize(
    ("given", "words", "values"),
    [
        (np.array([5]), "x = 301 throughout", [301]),
        (np.array([500]), "x = 299 throughout", [299]),
        (floats(1, -4), "x scaled to 600.0 at most", [150.0, -600.0]),
        (floats(1000, 0), "x scaled to 150.0 at most", [150.0, 0.0]),
        (5, "x = 301 throughout", 301),
    ],
)
def test_values_on_the_other_side_of_the_numbers_in_the_source_are_tried(given, words, values):
    (other,) = sets_of(given, numbers=[300])[words]
    assert np.asarray(other).tolist() == values
    assert getattr(other, "dtype", None) == getattr(given, "dtype", None)


def test_sizes_on_the_other_side_of_the_numbers_in_the_source_are_tried_where_an_axis_varies():
    def tried(axes, numbers):
        return {inputs[0].shape for inputs in sets_of(np.ones((8, 3), "float32"), axes=axes, numbers=numbers).values()}

    varying = {0: {0: "n"}}
    assert tried(varying, [512, 4]) - tried(varying, []) == {(513, 3), (3, 3)}
    assert tried(varying, [100_000, 1]) == tried(varying, []), "what is no likely size is left out"
    assert tried({}, [512]) == {(8, 3)}


def arrays_in(inputs):
    return [isinstance(item, np.ndarray) and item.shape == () for item in inputs]


def test_an_array_without_axes_stays_one_in_every_further_set():
    """As a number of numpy's it would be no input of the file, which takes it."""
    given = np.array(3), np.array(2.5, "float32"), np.array(True)
    found = sets_of(*given)
    assert {"negative integers", "values with the opposite sign", "zeros", "zeros throughout"} <= set(found)
    assert {words: arrays_in(inputs) for words, inputs in found.items()} == dict.fromkeys(found, [True] * 3)
    assert arrays_in([*made_inputs.to_double(given), *made_inputs.nudge_constants(given, given)]) == [True] * 6


def test_constant_inputs_alone_are_nudged_by_their_own_size_to_see_what_rounding_does():
    strides, image = floats(8, 16), np.arange(6, dtype="float32")
    given = ([image, image], strides)
    assert made_inputs.nudge_constants(given, given) is given
    images, same = made_inputs.nudge_constants(([image, np.zeros(6, "float32")], strides), given)
    assert np.array_equal(images[0], image) and np.array_equal(same, strides)
    assert 0 < np.abs(images[1]).max() <= 5e-6


def test_a_larger_size_alone_makes_no_equal_values():
    image = np.arange(6, dtype="float32").reshape(1, 6)
    (larger,) = sets_of(image, axes={0: {1: "n"}})["x:1 of size 13"]
    assert len(np.unique(larger)) == 13
    assert image.min() <= larger.min() and larger.max() <= image.max()


@pytest.mark.parametrize(
    ("words", "other", "told"),
    [
        ("zeros", ([0.0], [False]), "zeros"),
        ("zeros throughout", ([1.0], [False]), "zeros throughout (mask)"),
        ("mask:0 of size 2", ([1.0], [True, True]), "mask:0 of size 2"),
    ],
)
def test_inputs_that_differ_in_some_arguments_name_them(words, other, told):
    given = np.array([1.0]), np.array([True])
    assert factory.describe_change(words, given, tuple(map(np.array, other)), ("x", "mask")) == told
