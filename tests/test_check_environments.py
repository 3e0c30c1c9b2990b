"""``check`` in stand-in environments, through tox: what a user is told of models and case files of their own."""

from __future__ import annotations

import json
import os
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

    @property
    def python(self):
        """The Python of the environment that was made."""
        return self.home.folder / ".tox" / "torch92.0.0-cpu" / "bin" / "python"

    def inside(self, program):
        """Run a program in the environment that was made, with what makes a model there."""
        head = "import json\nfrom caniexport.check.inside.factory import Factory\n"
        line = [str(self.python), "-c", head + program]
        path = {**os.environ, "PYTHONPATH": str(ROOT / "harness")}
        reply = subprocess.run(line, cwd=self.user, env=path, capture_output=True, text=True, check=False)
        assert reply.returncode == 0, reply.stderr
        return json.loads(reply.stdout)


def facts(found, name):
    """The facts of that name of every failure of an answer."""
    rows = [row for table in found["tables"] for row in table["rows"]]
    return [row["value"] for row in rows if row.get("fact") == name]


def strip(found):
    """By call how it ends."""
    return {row["call"]: row["92.0.0"] for row in found["tables"][0]["rows"]}


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    made = Checks(tmp_path_factory.mktemp("check"))
    made.first = made.answer("models:several", "--opset", "9-11", "--dynamic", "left:0=n", "--dynamic", "right:0=n")
    return made


def test_a_model_that_passes_is_said_to_and_a_replaced_opset_has_its_sign(checks):
    found = checks.first
    told = "Works with dynamo=True, opset 10-11; dynamo=False, opset 9-11; a scripted model, opset 9-11."
    assert (found["verdict"], found["outcome"]) == (told, "works")
    assert strip(found) == {
        "dynamo=True": [{"word": "pass", "text": "10+"}, {"word": "degraded", "text": "9"}],
        "dynamo=False": {"word": "pass", "text": "9+"},
        "a scripted model": {"word": "pass", "text": "9+"},
    }


def test_nothing_is_written_but_environments_beside_those_of_measure(checks):
    assert list((checks.home.folder / "results").iterdir()) == []
    assert not (checks.home.folder / "results-local").exists()
    assert checks.python.is_file()
    assert {path.suffix or path.name for path in checks.user.iterdir()} <= {".py", "__pycache__", "files"}


def test_a_model_that_fails_is_told_by_its_operator_and_its_opsets(checks):
    reply = checks.reply("models.py:rounds", "--exporter", "trace", "--keep", "files")
    assert reply.returncode == 0, reply.stderr[-2000:]
    assert reply.stdout.startswith("Works with dynamo=False, opset 11.")
    assert [path.name for path in (checks.user / "files").iterdir()] == ["models-rounds-torch92.0.0-trace-11.onnx"]
    whole = checks.reply("models.py:rounds", "--exporter", "trace", "--all").stdout
    assert "torch 92.0.0: dynamo=False, opset 9-10" in whole
    assert "Exporting the operator round to ONNX opset version 10 is not supported" in whole


def test_one_tensor_given_for_two_arguments_is_exported_as_one_and_found(checks):
    found = checks.answer("models:aliased", "--exporter", "trace", "--opset", "11", code=1)
    assert found["tables"][1]["title"] == "wrong values for inputs that this check made"
    assert facts(found, "inputs")[0].startswith("other values of the same range; ")


def test_input_sets_that_differ_in_shape_make_their_axes_dynamic(checks):
    found = checks.answer("models:several", "--exporter", "trace", "--opset", "11")
    assert any("--dynamic left:0=left_0 --dynamic right:0=right_0" in note for note in found["notes"])


def test_the_users_own_environment_measures_where_it_has_torch(checks):
    """No release is named: it is the torch that is installed, and nothing is made."""
    line = checks.home.line("check", "models:adds", "--json", "--workers", "1")
    environ = {**checks.home.environ, "VIRTUAL_ENV": str(checks.python.parents[1])}
    reply = subprocess.run(line, cwd=checks.user, env=environ, capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stderr[-2000:]
    assert f"torch 92.0.0: measuring with {checks.python}" in reply.stderr
    assert json.loads(reply.stdout)["verdict"].startswith("Works with the default call (")


def test_what_there_was_no_time_for_is_told(checks):
    found = checks.answer("models:anything", "--exporter", "trace", "--exporter", "dynamo", "--seconds", "0")
    assert "torch 92.0.0: time ran out for dynamo=False (--seconds)." in found["notes"]


def test_the_module_keeps_its_own_weights_and_is_fresh_for_every_use(checks):
    """The stand-in's third weight is outside what a corpus case's parameters are filled with."""
    text = checks.inside(
        "import numpy as np\n"
        "kind = type('Case', (), {'forward': lambda self: None})\n"
        "case = kind()\n"
        f"Factory('models', '', 'own', [{str(checks.user)!r}]).replace_module(case, kind)\n"
        "module = case.eval()\n"
        "print(json.dumps([type(module).__name__, [round(float(x), 1) for x in module.weight.array]]))"
    )
    assert text == ["Own", [0.1, 0.2, 70.0]]


def test_arguments_by_name_get_their_position_or_a_module_around_theirs_whose_names_the_harness_reads(checks):
    program = (
        "from caniexport.worker.exporters import find_argument_names\n"
        "def told(factory):\n"
        f"    made = Factory('models', '', factory, [{str(checks.user)!r}]).result()\n"
        "    forward = type(made.module).forward\n"
        "    assert find_argument_names(forward, 2) == list(made.names)\n"
        "    return [type(made.module).__name__, *made.names]\n"
        "every = ['adds', 'by_name', 'by_name_alone', 'other_self', 'anything']\n"
        "print(json.dumps({name: told(name) for name in every}))"
    )
    assert checks.inside(program) == {
        "adds": ["Adds", "left", "right"],
        "by_name": ["Adds", "left", "right"],
        "by_name_alone": ["Adapter", "input_0", "right"],
        "other_self": ["Adapter", "left", "right"],
        "anything": ["Adapter", "input_0", "input_1"],
    }


def test_a_model_that_prepares_itself_at_its_first_call_is_tried_on_all_inputs(checks):
    program = (
        "def told(factory):\n"
        f"    made = Factory('models', '', factory, [{str(checks.user)!r}]).result()\n"
        "    return made.notes['sets']\n"
        "print(json.dumps([told('adds'), told('slow_at_first')]))"
    )
    adds, slow = checks.inside(program)
    assert len(adds) > 4
    assert set(slow) >= set(adds)


def test_nested_inputs_become_the_users_own_objects_again_when_they_are_tensors(checks):
    program = (
        "from caniexport.worker.subject import to_tensors, arrays_in_order\n"
        f"made = Factory('models', '', 'nested', [{str(checks.user)!r}]).result()\n"
        "pair, data = [to_tensors(item) for item in made.sets[0]]\n"
        "print(json.dumps([type(pair).__name__, type(data).__name__, data.count, len(arrays_in_order(made.sets[0]))]))"
    )
    assert checks.inside(program) == ["Pair", "Data", 3, 3]


WRONG = {
    "alone": "WrongFactory: models:alone returned something of type Adds: return (module, inputs)",
    "three": "WrongFactory: models:three returned 3 things: return (module, inputs)",
    "nothing": "WrongFactory: models:nothing returned None: return (module, inputs)",
    "no_module": "returned something of type builtin_function_or_method as its module: return a torch.nn.Module",
    "no_inputs": "WrongFactory: models:no_inputs returned no inputs: return a tuple of tensors",
    "no_tensor": "WrongFactory: set 1 of the inputs of models:no_tensor has no tensor",
    "a_file": "input 1 of set 1 of models:a_file is something of type TextIOWrapper: give tensors, numbers",
    "number": "models:number is something of type int: name a function that returns (module, inputs)",
    "made": "WrongFactory: models:made is something of type Adds: name a function that returns (module, inputs)",
    "raises": "FactoryRaised: models:raises raised",
    "star": "WrongFactory: models has no star",
    "returns_data": "the module of models:returns_data returns something of type Data: it must ",
}


def test_a_wrong_factory_is_reported_in_one_line(checks):
    program = (
        "def problem(factory):\n"
        f"    try: Factory('models', '', factory, [{str(checks.user)!r}]).result()\n"
        "    except Exception as error: return f'{type(error).__name__}: {error}'\n"
        f"print(json.dumps({{name: problem(name) for name in {list(WRONG)}}}))"
    )
    found = checks.inside(program)
    assert [name for name, text in WRONG.items() if text not in found[name]] == []


def test_a_factory_that_raises_everywhere_is_wrong_use(checks):
    reply = checks.reply("models:raises", "--exporter", "trace", "--opset", "9")
    assert reply.returncode == 2
    text = "caniexport: models:raises raised: ValueError: the checkpoint is not here (torch 92.0.0)"
    assert text in reply.stderr.splitlines()


def test_a_package_that_the_environment_lacks_is_told_with_the_option(checks):
    found = checks.answer("needs:make", "--exporter", "trace", "--opset", "9", code=1)
    assert "No module named 'a_package_that_nobody_has'" in facts(found, "why")[0]
    assert any(note.startswith("--with PACKAGE") for note in found["notes"])


def test_a_release_that_cannot_be_installed_is_told_with_its_reason(checks):
    found = checks.answer("models:adds", release="93.0.0", code=1)
    assert found["verdict"].startswith("Not measured: torch 93.0.0: could not be installed")
    assert "there is no version of onnx==93.0.0" in found["notes"][0]


def test_a_case_file_of_ones_own_is_measured_with_its_workarounds(checks):
    found = checks.answer("mine.py", "--exporter", "trace", "--opset", "9", code=1)
    assert found["verdict"] == "1 of 2 variants work with one call at least."
    ends = {row["variant"]: row["92.0.0"] for row in found["tables"][0]["rows"]}
    assert {form.split("/")[1] for form in ends} == {"plain", "negated"}
