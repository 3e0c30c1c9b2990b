"""A user's own model: what is asked, what is written, what is measured in stand-in environments, what is answered."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from mini.home import make_home

from harness import home as homes
from harness.check import run
from harness.check.matching import Corpus, Point, sentences
from harness.check.operators import failing_operator
from harness.check.place import prepare
from harness.check.subject import Options, UnusableModel, case_id, subject
from harness.cli import main
from harness.cli.check import axes
from harness.store import Dataset
from harness.worker import releases
from harness.worker.errors import CaniexportError
from harness.worker.status import Status

ROOT = Path(__file__).resolve().parents[1]

MODELS = """
import numpy as np
import torch

one = torch.from_numpy(np.arange(6, dtype="float32").reshape(2, 3) / 8)
wide = torch.from_numpy(np.ones((4, 3), dtype="float32"))


class Adds(torch.nn.Module):
    def forward(self, left, right):
        return left + right


class Own(torch.nn.Module):
    '''Its weight is its own, and counts its calls.'''

    def __init__(self):
        self.weight = torch.nn.Parameter(np.array([0.1, 0.2, 70.0], dtype="float32"))
        self.calls = 0

    def train(self, mode=True):
        pass

    def eval(self):
        pass  # returns nothing, as many a model's does

    def forward(self, x):
        self.calls += 1
        return x * self.weight * float(self.calls)


class Rounds(torch.nn.Module):
    def forward(self, x):
        return torch.round(x)


class Bakes(torch.nn.Module):
    def forward(self, x):
        return x * x[0][0].item()


class Anything(torch.nn.Module):
    def forward(self, *parts):
        return parts[0] + parts[1]


def adds():
    return Adds(), (one, one)


def several():
    return Adds(), [(one, one), (wide, wide)]


def own():
    return Own(), one


def rounds():
    return Rounds(), (torch.from_numpy(np.array([0.2, 1.3, 2.7], dtype="float32")),)


def bakes():
    return Bakes(), [one, wide]


def anything():
    return Anything(), (one, one)


def alone():
    return Adds()


def three():
    return Adds(), (one,), {}


def nothing():
    return None


def no_module():
    return len, (one,)


def no_inputs():
    return Adds(), ()


def no_tensor():
    return Adds(), (3, 4)


def a_file():
    return Adds(), (one, open(__file__))


def raises():
    raise ValueError("the checkpoint is not here\\nmore of it")


number = 3
made = Adds()
"""

NEEDS = "import a_package_that_nobody_has\n\n\ndef make():\n    return None\n"

CASES = '''
from harness.worker.case import Case, fix
from harness.worker.tensors import f32
import torch


class MineRounds(Case):
    """A case of somebody else."""

    sources = ("mine",)
    inputs = ((f32(2),), (f32(2),))

    def forward(self, x):
        return torch.round(x)

    negated = fix("raise-opset", "export at opset 11", opset=11)
'''


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
        ("model.py:adds", "unknown file 'model.py' (nearest: models.py,"),
        ("model.py", "unknown case file 'model.py' (nearest: models.py,"),
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
        ("FAIL : Fatal error: ai.onnx:ATen(-1) is not a registered function/op", "ai.onnx:ATen"),
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
    found = corpus.matches(Point("1.13.1", "torchscript-trace", 15, "export", Status.FAIL, text))
    case = next(match for match in found if match.case == "grid-sampler-unsupported-opset-11")
    assert (case.why, case.torch, case.status) == ("the same error", "1.13.1", Status.FAIL)
    assert {fix.variant: fix.word.value for fix in case.fixes}["gather_rewrite"] == "needed"


def test_a_patch_release_that_nobody_measured_is_answered_by_the_one_before(corpus):
    text = "RuntimeError: Exporting the operator cross to ONNX opset version 14 is not supported."
    found = corpus.matches(Point("1.10.3", "torchscript-trace", 14, "export", Status.FAIL, text))
    assert (found[0].case, found[0].torch) == ("cross-no-symbolic", "1.10.2")


def test_an_operator_of_the_words_of_others_is_not_taken_for_theirs(corpus):
    text = "UnsupportedOperatorError: Exporting the operator 'aten::fft_rfft' to ONNX opset version 15 is not supported"
    assert corpus.matches(Point("1.13.1", "torchscript-trace", 15, "export", Status.FAIL, text)) == ()


def test_wrong_values_are_matched_by_what_the_tracer_warned_of(corpus):
    warned = (
        "TracerWarning: Converting a tensor to a Python number might cause the trace to be incorrect. We can't record "
        "the data flow of Python values"
    )
    assert sentences(warned) == {"Converting a tensor to a Python number might cause the trace to be incorrect"}
    point = Point("2.15.0", "torchscript-trace", 18, "compare", Status.MISMATCH, "input set 1, output 0: 1 of", warned)
    found = corpus.matches(point)
    assert found
    assert {match.status for match in found} == {Status.MISMATCH}
    assert all(match.why.startswith("wrong values with the same warning: Converting a tensor") for match in found)


def test_what_the_models_own_code_raises_is_compared_with_nothing(corpus):
    text = "ValueError: Exporting the operator 'aten::grid_sampler' to ONNX opset version 15 is not supported"
    assert corpus.matches(Point("1.13.1", "torchscript-trace", 15, "eager", Status.FAIL, text)) == ()


# in stand-in environments, through tox


class Checks:
    """A home with stand-in releases, and a user's folder beside it."""

    def __init__(self, folder):
        self.home = make_home(folder)
        self.user = folder / "user"
        self.user.mkdir()
        (self.user / "models.py").write_text(MODELS, encoding="utf-8")
        (self.user / "needs.py").write_text(NEEDS, encoding="utf-8")
        (self.user / "mine.py").write_text(CASES, encoding="utf-8")

    def reply(self, *words, release="92.0.0"):
        line = self.home.line("check", *words, "--release", release, "--workers", "1")
        return subprocess.run(
            line, cwd=self.user, env=self.home.environ, capture_output=True, text=True, check=False, timeout=300
        )

    def answer(self, *words, code=0, **more):
        reply = self.reply(*words, "--json", **more)
        assert reply.returncode == code, reply.stdout[-1500:] + reply.stderr[-3000:]
        return json.loads(reply.stdout)

    def inside(self, program):
        """Run a program in the environment that was made, with the machinery of the case file."""
        python = self.user / "caniexport-check" / ".tox" / "torch92.0.0-cpu" / "bin" / "python"
        machinery = ROOT / "harness" / "check" / "inside.py"
        head = f"import json, runpy\nm = runpy.run_path({str(machinery)!r})\n"
        reply = subprocess.run(
            [str(python), "-c", head + program], cwd=self.user, capture_output=True, text=True, check=False
        )
        assert reply.returncode == 0, reply.stderr
        return json.loads(reply.stdout)


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    made = Checks(tmp_path_factory.mktemp("check"))
    made.first = made.answer("models:several", "--opset", "9-11", "--dynamic", "left:0=n", "--dynamic", "right:0=n")
    return made


def test_a_model_that_passes_everywhere_is_said_to(checks):
    found = checks.first
    assert (found["target"], found["module"], found["releases"]) == ("models:several", "Adds", ["92.0.0"])
    lines = {line["exporter"]: line["status"] for line in found["works"][0]["lines"]}
    assert lines == {"torchscript-trace": "pass", "torchscript-script": "pass", "dynamo": "pass"}
    assert (found["failures"], found["findings"], found["problems"]) == ([], [], {})
    assert found["notes"] == [], "two sets were given"


def test_nothing_is_written_but_into_the_users_folder(checks):
    assert list((checks.home.folder / "results").iterdir()) == []
    assert not (checks.home.folder / "results-local").exists()
    assert not (checks.home.folder / ".tox").exists()
    into = checks.user / "caniexport-check"
    assert not (into / "results" / "bundles").exists()
    assert (into / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_model_that_fails_is_told_by_its_operator_and_its_opsets(checks):
    reply = checks.reply("models.py:rounds", "--exporter", "trace", "--keep-files")
    assert reply.returncode == 0, reply.stderr[-2000:]
    text = reply.stdout
    assert "models.py:rounds (Rounds)" in text
    assert re.search(r"trace +✓ on every measured release, opset ≥ 11 \(elsewhere: an error\)", text)
    assert "✗ fail at export: aten::round\n    torch 92.0.0, trace, opset 9-10\n" in text
    assert "Exporting the operator round to ONNX opset version 10 is not supported" in text
    assert "one input set was given; the second has the same shapes" in text
    assert (checks.user / "caniexport-check" / "results" / "bundles").is_dir()


def test_wrong_values_are_a_finding_and_come_first(checks):
    found = checks.answer("models:bakes", "--exporter", "trace", "--opset", "11", "--dynamic", "x:0", code=1)
    assert found["findings"][0] == "torch 92.0.0: wrong values without an error with torchscript-trace"
    failure = found["failures"][0]
    assert (failure["status"], failure["stage"], failure["operator"]) == ("mismatch", "compare", "")
    assert "Converting a tensor to a Python number" in failure["warnings"]


def test_the_module_keeps_its_own_weights_and_is_fresh_for_every_use(checks):
    """The stand-in's third weight is outside what a corpus case's parameters are filled with."""
    text = checks.inside(
        "import numpy as np\n"
        "case = type('Case', (), {})()\n"
        f"m['Factory']('models', '', 'own', [{str(checks.user)!r}], '').put_on(case)\n"
        "module = case.eval()\n"
        "print(json.dumps([type(module).__name__, [round(float(x), 1) for x in module.weight.array]]))"
    )
    assert text == ["Own", [0.1, 0.2, 70.0]]


def test_arguments_have_the_names_of_the_users_forward(checks):
    program = (
        "import inspect\n"
        "def names(factory):\n"
        f"    made = m['Factory']('models', '', factory, [{str(checks.user)!r}], '')\n"
        "    return list(inspect.signature(m['Arguments'](made)).parameters)\n"
        "print(json.dumps([names('adds'), names('anything')]))"
    )
    assert checks.inside(program) == [["left", "right"], ["input_0", "input_1"]]


def test_a_second_input_set_has_other_values_of_the_same_range(checks):
    program = (
        "import numpy as np\n"
        "def sets(factory):\n"
        f"    made = m['Factory']('models', '', factory, [{str(checks.user)!r}], '').made()\n"
        "    return made.given, [[item.tolist() for item in one] for one in made.sets]\n"
        "other = m['_other']\n"
        "print(json.dumps([sets('rounds'), sets('bakes')[0], other(np.zeros((2, 2), 'float32')).tolist(),"
        " other(np.array([3, 1, 2])).tolist(), other(7)]))"
    )
    (given, (first, second)), several, zeros, numbers, plain = checks.inside(program)
    assert (given, several, plain) == (1, 2, 7)
    assert first != second
    assert sorted(first[0]) == sorted(second[0])
    assert all(0 < value < 1 for row in zeros for value in row)
    assert sorted(numbers) == [1, 2, 3]


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("alone", "WrongFactory: models:alone returned the module alone; (module, inputs) is wanted"),
        ("three", "WrongFactory: models:three returned 3 things; (module, inputs) is wanted"),
        ("nothing", "WrongFactory: models:nothing returned None; (module, inputs) is wanted"),
        (
            "no_module",
            "returned something of type builtin_function_or_method as its module; a torch.nn.Module is wanted",
        ),
        ("no_inputs", "WrongFactory: models:no_inputs returned no inputs; a tuple of tensors is wanted"),
        ("no_tensor", "WrongFactory: set 0 of the inputs of models:no_tensor has no tensor"),
        (
            "a_file",
            "input 1 of set 0 of models:a_file is something of type TextIOWrapper; tensors, numbers",
        ),
        (
            "number",
            "models:number is something of type int; a function that returns (module, inputs) is wanted",
        ),
        ("made", "WrongFactory: models:made is a module; a function that returns (module, inputs) is wanted"),
        ("raises", "FactoryRaised: models:raises raised"),
        ("star", "WrongFactory: models has no star"),
    ],
)
def test_what_a_factory_must_not_be_is_one_line(checks, factory, said):
    program = (
        f"try: m['Factory']('models', '', {factory!r}, [{str(checks.user)!r}], '').made()\n"
        "except Exception as error: print(json.dumps(f'{type(error).__name__}: {error}'))"
    )
    assert said in checks.inside(program)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("alone", "caniexport: models:alone returned the module alone; (module, inputs) is wanted"),
        ("raises", "caniexport: models:raises raised: ValueError: the checkpoint is not here (torch 92.0.0)"),
    ],
)
def test_a_factory_that_is_wrong_everywhere_is_wrong_use(checks, factory, said):
    reply = checks.reply(f"models:{factory}", "--exporter", "trace", "--opset", "9")
    assert reply.returncode == 2
    assert said in reply.stderr.splitlines()


def test_a_package_that_the_environment_lacks_is_a_row_with_its_error_and_the_option(checks):
    found = checks.answer("needs:make", "--exporter", "trace", "--opset", "9", code=1)
    (failure,) = found["failures"]
    assert (failure["stage"], failure["status"]) == ("eager", "fail")
    assert "No module named 'a_package_that_nobody_has'" in failure["message"]
    assert "--with PACKAGE" in failure["hint"]


def test_a_release_that_cannot_be_installed_is_a_finding_with_its_reason(checks):
    found = checks.answer("models:adds", release="93.0.0", code=1)
    assert found["releases"] == []
    assert "there is no version of onnx==93.0.0" in found["problems"]["93.0.0"]


def test_a_case_file_of_ones_own_is_measured_with_its_fixes(checks):
    found = checks.answer("mine.py", "--exporter", "trace", "--opset", "9")
    words = {item["variant"]: item["lines"][0]["status"] for item in found["works"]}
    assert words == {"plain": "fail", "negated": "pass"}
