"""``check`` in stand-in environments, through tox: what a user is told of models and case files of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from check_models import CASES, MODELS, NEEDS
from mini.home import make_home

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[1]


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
        machinery = ROOT / "harness" / "caniexport" / "check" / "inside.py"
        head = f"import json, runpy\nm = runpy.run_path({str(machinery)!r})\n"
        line = [str(python), "-c", head + program]
        path = {**os.environ, "PYTHONPATH": str(ROOT / "harness")}
        reply = subprocess.run(line, cwd=self.user, env=path, capture_output=True, text=True, check=False)
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
    assert found["headline"] == (
        "works by trace, by dynamo (opset ≥ 10) and by script; "
        "asked for opset 9 dynamo writes opset 10 without an error"
    )
    assert found["sets"][:2] == ["as given", "as given, set 2"]


def test_nothing_is_written_but_into_the_users_folder(checks):
    assert list((checks.home.folder / "results").iterdir()) == []
    assert not (checks.home.folder / "results-local").exists()
    assert not (checks.home.folder / ".tox").exists()
    into = checks.user / "caniexport-check"
    assert not list(into.glob("checks/*/results/bundles"))
    assert (into / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_model_that_fails_is_told_by_its_operator_and_its_opsets(checks):
    reply = checks.reply("models.py:rounds", "--exporter", "trace", "--keep-files")
    assert reply.returncode == 0, reply.stderr[-2000:]
    text = reply.stdout
    assert "models.py:rounds (Rounds) on torch 92.0.0: works by trace (opset ≥ 11)\n" in text
    assert re.search(r"trace +✓ on torch 92.0.0, opset ≥ 11 \(elsewhere: an error\)", text)
    assert "✗ fail at export: aten::round\n    torch 92.0.0, trace, opset 9-10\n" in text
    assert "Exporting the operator round to ONNX opset version 10 is not supported" in text
    assert "Run on 8 sets of inputs: as given; other values of the same range;" in text
    assert "- opsets measured: trace 9, 10, 11; " in text
    (folder,) = (checks.user / "caniexport-check").glob("checks/*/results/bundles")
    assert f"- the exported files are in {folder}\n" in text


def test_wrong_values_are_a_finding_and_come_first(checks):
    found = checks.answer("models:bakes", "--exporter", "trace", "--opset", "11", "--dynamic", "x:0", code=1)
    assert found["findings"][0] == "torch 92.0.0: wrong values without an error with torchscript-trace"
    failure = found["failures"][0]
    assert (failure["status"], failure["stage"], failure["operator"]) == ("mismatch", "compare", "")
    assert "Converting a tensor to a Python number" in failure["warnings"]


def test_one_tensor_given_for_two_arguments_is_exported_as_one_and_found(checks):
    found = checks.answer("models:aliased", "--exporter", "trace", "--opset", "11", code=1)
    told = "by trace wrong values without an error (for inputs that the check made: other values of the same range; "
    assert found["headline"].startswith(told)
    assert found["failures"][0]["differs"][0] == "other values of the same range"
    assert found["failures"][0]["message"].startswith("input set 2 (other values of the same range), output 0: ")


def test_input_sets_that_differ_in_shape_make_their_axes_dynamic(checks):
    found = checks.answer("models:several", "--exporter", "trace", "--opset", "11")
    assert "exported as dynamic: --dynamic left:0=left_0 --dynamic right:0=right_0" in found["notes"][0]


def test_what_is_unchanged_is_not_measured_again(checks):
    words = ("models:rounds", "--exporter", "trace", "--opset", "9")
    first, again = checks.reply(*words), checks.reply(*words)
    assert "trace, opset 9: fail at export" in first.stderr
    assert again.stderr == ""
    assert again.stdout == first.stdout
    assert "trace, opset 9: fail at export" in checks.reply(*words, "--fresh").stderr
    checks.user.joinpath("models.py").touch()
    assert "trace, opset 9: fail at export" in checks.reply(*words).stderr


@pytest.mark.parametrize("option", ["--fresh", "--keep-files"])
def test_what_is_measured_anew_of_one_release_stays_while_the_next_is_measured(checks, option):
    """A model of which no release writes a file, so that there is no folder of files either."""
    words = ("models:rounds", "--exporter", "trace", "--opset", "9", "--release", "91.0.0", option)
    assert json.loads(checks.reply(*words, "--json").stdout)["releases"] == ["91.0.0", "92.0.0"]


def test_what_there_was_no_time_for_is_told_and_not_begun_the_next_time_either(checks):
    found = checks.answer("models:anything", "--exporter", "trace", "--exporter", "dynamo", "--seconds", "0")
    assert found["notes"][-1] == "torch 92.0.0: no more time for trace (--seconds gives more)"
    again = checks.reply("models:anything", "--exporter", "trace", "--exporter", "dynamo", "--seconds", "0")
    assert again.stderr == ""
    more = checks.answer("models:anything", "--exporter", "trace", "--exporter", "dynamo")
    assert not any("no more time" in note for note in more["notes"])


def test_an_exporter_that_takes_none_of_the_opsets_asked_for_is_told(checks):
    words = ("models:several", "--exporter", "default", "--exporter", "trace", "--opset", "10", "--opset", "11")
    found = checks.answer(*words)
    assert "default was not measured at opset 10, 11: the default call asks for no opset" in found["notes"]
    alone = checks.answer("models:several", "--exporter", "default", "--exporter", "trace")
    assert not any("was not measured at opset" in note for note in alone["notes"])


def test_only_what_was_asked_for_is_measured_and_the_canaries_once(checks):
    reply = checks.reply("models:own", "--exporter", "trace", "--exporter", "dynamo", "--opset", "10")
    assert sorted(line.split(": ")[1] for line in reply.stderr.splitlines()) == [
        "dynamo, opset 10",
        "trace, opset 10",
    ]


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


def test_arguments_by_name_get_their_position_or_another_module_around_theirs(checks):
    program = (
        "def told(factory):\n"
        f"    made = m['Factory']('models', '', factory, [{str(checks.user)!r}], '').made()\n"
        "    return [type(made.module).__name__, list(made.names), len(made.sets[0])]\n"
        "print(json.dumps([told('by_name'), told('by_name_alone')]))"
    )
    assert checks.inside(program) == [["Adds", ["left", "right"], 2], ["Adapter", ["input_0", "right"], 2]]


def test_where_the_harness_could_not_read_the_names_of_arguments_another_module_has_them(checks):
    program = (
        "import inspect\n"
        "from caniexport.worker.exporters import argument_names\n"
        "def told(factory):\n"
        f"    made = m['Factory']('models', '', factory, [{str(checks.user)!r}], '').made()\n"
        "    forward = type(made.module).forward\n"
        "    source = inspect.getsource(forward).splitlines()[0]\n"
        "    return [type(made.module).__name__, argument_names(forward, 2), list(made.names), source.strip()]\n"
        "print(json.dumps([told('adds'), told('other_self'), told('anything')]))"
    )
    adds, other_self, anything = checks.inside(program)
    assert adds[:3] == ["Adds", ["left", "right"], ["left", "right"]]
    assert other_self == ["Adapter", ["left", "right"], ["left", "right"], "def forward(self, left, right):"]
    assert anything[:3] == ["Adapter", ["input_0", "input_1"], ["input_0", "input_1"]]


def test_a_model_that_prepares_itself_at_its_first_call_is_tried_on_all_inputs(checks):
    program = (
        "def told(factory):\n"
        f"    made = m['Factory']('models', '', factory, [{str(checks.user)!r}], '').made()\n"
        "    return made.words\n"
        "print(json.dumps([told('adds'), told('slow_at_first')]))"
    )
    adds, slow = checks.inside(program)
    assert len(adds) > 4
    assert slow == adds


def test_nested_inputs_become_the_users_own_objects_again_when_they_are_tensors(checks):
    program = (
        "from caniexport.worker.subject import tensors, positional\n"
        f"made = m['Factory']('models', '', 'nested', [{str(checks.user)!r}], '').made()\n"
        "pair, data = [tensors(item) for item in made.sets[0]]\n"
        "print(json.dumps([type(pair).__name__, type(data).__name__, data.count, len(positional(made.sets[0]))]))"
    )
    assert checks.inside(program) == ["Pair", "Data", 3, 3]


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
        ("no_tensor", "WrongFactory: set 1 of the inputs of models:no_tensor has no tensor"),
        (
            "a_file",
            "input 1 of set 1 of models:a_file is something of type TextIOWrapper; tensors, numbers",
        ),
        (
            "number",
            "models:number is something of type int; a function that returns (module, inputs) is wanted",
        ),
        ("made", "WrongFactory: models:made is a module; a function that returns (module, inputs) is wanted"),
        ("raises", "FactoryRaised: models:raises raised"),
        ("star", "WrongFactory: models has no star"),
        ("returns_data", "WrongFactory: the module of models:returns_data returns something of type Data; tensors, "),
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
