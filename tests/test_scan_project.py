"""What a project says of its releases, and the command that scans it."""

from __future__ import annotations

import os
import re
import weakref

import pytest
from click.testing import CliRunner
from test_scan import SYMBOLIC

from caniexport import scan_source
from caniexport.cli import main
from caniexport.scan import files, pins, sites, syntax
from caniexport.scan.files import Skipped, SourceFile

pytestmark = pytest.mark.usefixtures("opened_once")


def test_the_projects_own_files_say_which_releases(tmp_path, results):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["torchvision>=0.1", "torch>=1.10,<2.1"]\n'
        '[project.optional-dependencies]\nnew = ["torch>=2.8"]\n',
        encoding="utf-8",
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(SYMBOLIC, encoding="utf-8")
    found = scan_source(results, tmp_path / "src")
    assert found.notes[0] == "1 file with torch, judged at torch 1.10.2 to 2.0.1"
    assert "torch<2.1,>=1.10 (pyproject.toml)" in found.notes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "numpy\ntorch==1.13.1  # pinned\ntorch-geometric==2.0\n"),
        ("requirements-dev.txt", "torch==1.13.1 ; python_version > '3'\n"),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch == 1.13.1\n    numpy\n"),
        ("setup.py", "setup(install_requires=['torch==1.13.1', 'torchvision==0.1'])\n"),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "1.13.1"\n'),
    ],
)
def test_each_file_in_which_a_project_pins_torch_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert pins.read(tmp_path, ("1.10.2", "1.13.1", "2.0.1")).torch == ("1.13.1",)


_LOCK = '[[package]]\nname = "torch"\nversion = "{}"\n'


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "pdm.lock"])
@pytest.mark.parametrize("version", ["1.13.1", "1.13.0"])  # the second was not measured: its series is looked at
def test_a_lock_beside_the_code_says_what_is_installed_where_nothing_else_does(tmp_path, name, version):
    (tmp_path / name).write_text(_LOCK.format(version), encoding="utf-8")
    found = pins.read(tmp_path, ("1.10.2", "1.13.1", "2.0.1"))
    assert (found.torch, f"({name})" in found.text, found.problems) == (("1.13.1",), True, ())
    (tmp_path / "requirements.txt").write_text("torch>=2.0\n", encoding="utf-8")
    assert pins.read(tmp_path, ("1.10.2", "1.13.1", "2.0.1")).torch == ("2.0.1",)


def test_a_lock_that_has_no_torch_or_cannot_be_read_is_none(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "uv.lock").write_text(_LOCK.format("1.0").replace("torch", "numpy"), encoding="utf-8")
    (tmp_path / "poetry.lock").write_text("[[package]]\nname = \n", encoding="utf-8")
    os.mkfifo(tmp_path / "pdm.lock")
    found = pins.read(tmp_path, ("1.13.1", "2.0.1"))
    assert (found.torch, found.text) == (("2.0.1",), "the newest measured: the project names no torch")
    assert [problem.partition(":")[0] for problem in found.problems] == ["poetry.lock"]


def test_a_pin_that_no_measured_release_meets_is_told(tmp_path):
    (tmp_path / "requirements.txt").write_text("torch==0.4\n", encoding="utf-8")
    found = pins.read(tmp_path, ("1.13.1", "2.0.1"))
    assert found.torch == ("2.0.1",)
    assert "no measured release is within torch==0.4" in found.text


def test_a_file_of_pins_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project\n", encoding="utf-8")
    assert pins.read(tmp_path, ("2.0.1",)).problems == ("pyproject.toml: TOMLDecodeError",)


def test_what_cannot_be_read_is_named_and_the_rest_is(tmp_path):
    (tmp_path / "good.py").write_text("import torch\n", encoding="utf-8")
    (tmp_path / "other.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "two.py").write_text("print 'torch'\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes("import torch  # é\n".encode("latin-1"))
    (tmp_path / "said.py").write_bytes("# coding: latin-1\nimport torch  # é\n".encode("latin-1"))
    (tmp_path / "huge.py").write_bytes(b"import torch\n" + b"#" * files.LARGEST)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "venv" / "inside.py").write_text("import torch\n", encoding="utf-8")
    (tmp_path / "build" / "lib" / "package").mkdir(parents=True)  # setuptools' copy of what is beside it
    (tmp_path / "build" / "lib" / "package" / "good.py").write_text("import torch\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.py")

    found = list(files.find_torch_files(tmp_path))
    sources = [item for item in found if isinstance(item, SourceFile)]
    _, unseen = sites.find(sources)

    assert [item.path for item in sources] == ["good.py", "said.py", "two.py"]
    assert {item.path: item.reason for item in [*found, *unseen] if isinstance(item, Skipped)} == {
        "gone.py": "not a file that can be read",
        "huge.py": "larger than 2 MiB",
        "latin.py": "its text is not in the encoding that it names, or UTF-8",
        "pipe.py": "not a file that can be read",
        "two.py": "does not parse (line 1)",
    }


def test_no_more_than_one_syntax_tree_is_held(tmp_path, monkeypatch):
    for number in range(9):
        (tmp_path / f"m{number}.py").write_text(f"import torch\nNEW = torch.__version__ >= '2.{number}'\n")
    parsed, held = SourceFile.parsed, []

    def counted(source):
        assert not [tree for tree in held if tree() is not None]
        made = parsed(source)
        held.append(weakref.ref(made))
        return made

    monkeypatch.setattr(SourceFile, "parsed", counted)
    sites.find(list(files.find_torch_files(tmp_path)))

    assert len(held) >= 9


def test_a_form_feed_does_not_shift_the_lines(tmp_path):
    (tmp_path / "a.py").write_text("import torch\n\x0c\nV = torch.__version__\n", encoding="utf-8")
    (read,) = files.find_torch_files(tmp_path)
    assert isinstance(read, SourceFile)
    source = read.parsed()
    (value,) = (value for _, value in syntax.assignments(source.tree))
    assert source.lines[value.lineno - 1] == "V = torch.__version__"


def run(*words):
    return CliRunner().invoke(main, ["scan", *map(str, words)])


@pytest.mark.published
def test_a_file_that_cannot_be_parsed_is_named_and_no_text_of_a_file_reaches_the_terminal_raw(tmp_path):
    (tmp_path / "two.py").write_text("print 'torch'\n", encoding="utf-8")
    (tmp_path / "a\x1b[31mb.py").write_text(SYMBOLIC, encoding="utf-8")
    reply = run(tmp_path, "--torch", "1.10.2")
    assert (reply.exit_code, "\x1b[31m" in reply.stdout) == (0, False)
    assert f"{tmp_path}/a\\u001b[31mb.py:5" in reply.stdout
    assert re.search(r"two.py:1 +does", reply.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere-at-all"], "there is no such file or folder"),
        ([".", "--opset", "9-11"], "one is wanted"),
        ([".", "--exporter", "tracer"], "unknown exporter"),
        ([".", "--torch", "7.7"], "7.7"),
    ],
)
def test_wrong_use_is_named(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reply = run(*words)
    assert reply.exit_code == 2
    assert said in reply.stderr


def test_the_opset_of_a_projects_tests_is_not_the_projects(tmp_path, results):
    (tmp_path / "ops.py").write_text(SYMBOLIC, encoding="utf-8")
    (tmp_path / "utils").mkdir()
    call = 'import torch\ntorch.onnx.export(m, x, "f", opset_version=11)\n'
    (tmp_path / "utils" / "test.py").write_text(call, encoding="utf-8")
    assert "export by the default call" in scan_source(results, tmp_path, torch=["2.8.0"]).notes
