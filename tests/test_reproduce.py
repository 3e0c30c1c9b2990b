"""A cell as one file: every case makes a script that stands alone and shows what its row says."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import subprocess
import sys
import typing
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from mini import runner

from caniexport.cli import main
from caniexport.model import corpus, plan, releases
from caniexport.model.case import Case
from caniexport.model.casehash import bound_names
from caniexport.reproduce import source
from caniexport.reproduce.write import ShownCell, write_script
from caniexport.worker import compare

ROOT = Path(__file__).resolve().parents[1]
#: releases whose export calls differ: no opset argument, example_outputs, dynamo_export, one opset, dynamo the default
ERAS = ("1.0.1", "1.9.1", "2.1.2", "2.5.1", "2.15.0")
#: what each script may import of its own: the standard library and what it pins
THIRD = {"torch", "onnx", "onnxruntime", "onnxscript", "numpy"}

#: runs every script of a folder in a child of one process, and prints how each ended
DRIVER = """
import json, os, pathlib, runpy, sys
import numpy, onnx, onnxruntime, torch
ended = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    pid = os.fork()
    if pid == 0:
        output = os.open(str(path) + ".txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as ending:
            sys.stdout.flush()
            os._exit(ending.code or 0)
        os._exit(70)
    ended[path.stem] = os.waitpid(pid, 0)[1] >> 8
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def cases():
    return corpus.load([ROOT / "cases"], stand_in=True)


def shown(cell, release, stage="done", status="pass", **more):
    asked = (cell.variant, release.torch, release.python, cell.exporter, cell.opset)
    return ShownCell(*asked, stage, status, packages={"torch": release.torch}, **more)


def one_script_a_variant(cases):
    """A script for every variant: each at another exporter, opset and era than its neighbours."""
    cells: dict[tuple[str, str], list[tuple[plan.Cell, releases.Release]]] = {}
    for torch in ERAS:
        release = releases.find(torch)
        for cell in plan.cells(cases, release, "cpu"):
            cells.setdefault((cell.case, cell.variant), []).append((cell, release))
    for index, (key, found) in enumerate(cells.items()):
        cell, release = found[index * 7 % len(found)]
        yield f"{'-'.join(key)}-{release.torch}-{cell.exporter}", write_script(cases[cell.case], shown(cell, release))


@pytest.mark.parametrize(("folder", "third"), [("cases", THIRD), ("cases/patches", {*THIRD, "transformers"})])
def test_every_variant_of_the_corpus_makes_a_script_that_compiles_and_knows_all_its_names(folder, third, tmp_path):
    cases = corpus.load([ROOT / folder], stand_in=True)
    for name, text in one_script_a_variant(cases):
        tree = ast.parse(text, feature_version=(3, 7))
        defined = Counter(name for node in tree.body for name in bound_names(node))
        assert [one for one, count in defined.items() if count > 1] == [], name
        (tmp_path / f"{name}.py").write_text(text)
        assert imported(tree) <= third | sys.stdlib_module_names, name

    measured = {(item.id, name) for item in cases.values() for name, one in item.variants.items() if one.measured}
    assert len(list(tmp_path.glob("*.py"))) == len(measured)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F,E9", "--target-version", "py37"]
    reply = subprocess.run([*ruff, "--no-cache", str(tmp_path)], capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stdout[-4000:]


def test_the_script_of_a_fix_with_its_own_way_to_the_file_goes_that_way():
    found = corpus.load([ROOT / "cases" / "patches"], stand_in=True)["scatter-reduce-mean-without-self"]
    cell = plan.Cell(found.id, "transformers_patch", "dynamo", 18, "", "cpu")

    text = write_script(found, shown(cell, releases.find("2.15.0")))

    assert 'route=_only_node_fix("_fix_scatter_reduce")' in text
    assert "export=by_route" in text


def imported(tree):
    """Top-level packages that a file imports anywhere."""
    nodes = list(ast.walk(tree))
    found = {item.name for node in nodes if isinstance(node, ast.Import) for item in node.names}
    found |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in found}


def test_every_environment_case_becomes_its_packages_and_its_line(cases):
    for item in cases.values():
        for variant in item.environment_variants if item.is_environment else ():
            text = write_script(item, ShownCell(variant, "", "3.7", "", None, "resolve", "fail", message="no wheel"))
            compile(text, item.id, "exec")
            assert text.startswith("# /// script\n# requires-python")
            assert "Measured: fail at resolve" in text


def test_the_pins_are_those_of_the_environment_and_nothing_that_only_tests(cases):
    packages = {"torch": "2.13.0+cpu", "pytest": "9.2.0", "onnx": "1.23.2", "nvidia-cudnn-cu12": "9.1", "sympy": "1.14"}
    one = ShownCell("plain", "2.13.0", "3.12", "dynamo", 18, "done", "pass", packages=packages)
    head = write_script(cases["cross-no-symbolic"], one).split("# ///\n")[0]

    assert [line[7:-2] for line in head.splitlines() if "==" in line and "#     " in line] == [
        "torch==2.13.0",
        "onnx==1.23.2",
        "sympy==1.14",
    ]
    assert '# requires-python = "==3.12.*"' in head


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    """Scripts of every cell of the stand-in matrix, run in the stand-in environment: exit codes and outputs."""
    folder = tmp_path_factory.mktemp("reproduce")
    version = "92.0.0"
    table = runner.releases_file(folder, "3.11", importlib.metadata.version("numpy"))
    release = next(item for item in runner.read_table(table) if item.torch == version)
    loaded = corpus.load([runner.copy_cases(folder / "cases", runner.CASES)], stand_in=True)
    expected = runner.expected(version)
    (folder / "scripts").mkdir()
    for cell in plan.cells(loaded, release, "cpu"):
        stage, status = expected[cell.case, cell.variant, cell.exporter, cell.opset].split()
        path = folder / "scripts" / f"{cell.case}+{cell.variant}+{cell.exporter}+{cell.opset}.py"
        path.write_text(write_script(loaded[cell.case], shown(cell, release, stage, status)))
    driver = folder / "driver.py"
    driver.write_text(DRIVER)
    python = runner.environment(folder, version)
    reply = subprocess.run([python, driver, folder / "scripts"], capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stderr[-3000:]
    return json.loads(reply.stdout), folder / "scripts"


@pytest.mark.measures
def test_every_script_of_the_stand_in_matrix_ends_as_its_cell_was_measured(mini):
    ended, folder = mini
    different = {name: (folder / f"{name}.py.txt").read_text() for name, code in ended.items() if code != 0}
    assert different == {}
    assert len(ended) == len(runner.expected("92.0.0"))


@pytest.mark.measures
def test_a_script_prints_the_stage_the_status_and_the_error(mini):
    _, folder = mini
    text = (folder / "baked-value+plain+torchscript-trace+9.py.txt").read_text()
    assert "mismatch at compare\ninput set 1, output 0: 2 of 2 values differ, most at [1]: expected 35.0" in text
    assert text.rstrip().endswith("measured was: mismatch at compare (the same)")

    text = (folder / "cube-no-symbolic+plain+torchscript-trace+9.py.txt").read_text()
    assert "fail at export\n" in text
    assert "Exporting the operator cube to ONNX opset version 9 is not supported." in text


@pytest.mark.measures
def test_a_script_that_does_not_end_as_measured_says_so(mini, tmp_path):
    _, folder = mini
    text = (folder / "baked-value+plain+torchscript-trace+9.py").read_text()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "wrong.py").write_text(text.replace("'mismatch at compare'", "'pass at done'"))
    python = folder.parent / "venv" / "bin" / "python"
    reply = subprocess.run(
        [python, folder.parent / "driver.py", tmp_path / "scripts"], capture_output=True, text=True, check=True
    )
    assert json.loads(reply.stdout) == {"wrong": 1}
    said = (tmp_path / "scripts" / "wrong.py.txt").read_text()
    assert "measured was: pass at done (DIFFERENT)" in said


@pytest.mark.measures
def test_a_crash_is_shown_by_another_process(mini, tmp_path):
    """The cell's process is gone, so another one has to say how it ended."""
    _, folder = mini
    loaded = corpus.load([folder.parent / "cases"], stand_in=True)["passes"]
    text = write_script(loaded, ShownCell("plain", "92.0.0", "3.11", "torchscript-trace", 9, "export", "crash"))
    path = tmp_path / "crash.py"
    path.write_text(
        text.replace("    module, args = build(", "    os.kill(os.getpid(), signal.SIGSEGV)\n    module, args = build(")
    )
    python = folder.parent / "venv" / "bin" / "python"
    reply = subprocess.run([python, path], capture_output=True, text=True, check=False)
    assert reply.returncode == 0, reply.stdout + reply.stderr
    assert "crash at export\nSIGSEGV\n" in reply.stdout


numbers = st.one_of(st.floats(-1e6, 1e6, width=32), st.sampled_from([float("nan"), float("inf"), -float("inf"), 0.0]))
arrays = st.builds(
    lambda values, dtype, column: (
        np.nan_to_num(np.array(values), nan=0 if dtype == "int64" else np.nan, posinf=9)
        .astype(dtype)
        .reshape((-1, 1) if column else (-1,))
    ),
    st.lists(numbers, min_size=1, max_size=3),
    st.sampled_from(["float32", "float64", "int64", "bool"]),
    st.booleans(),
)


#: the functions of the plain script that compare, without torch
HOLD = "\n".join(
    source.find_definitions(
        (Path(source.__file__).with_name("plain.py")).read_text(), [ast.parse("hold, PlainCell, Wrong")]
    )
)


@given(st.lists(arrays, max_size=2), st.lists(arrays, max_size=2))
def test_a_script_compares_in_the_words_of_the_measuring_code(expected, found):
    space = {**vars(typing), "np": np}
    exec(HOLD, space)
    with np.errstate(all="ignore"):
        ours = compare.compare(expected, found, None, None, "onnxruntime").problem
    try:
        space["hold"](space["PlainCell"]("a", None, (), (), None), [expected], [found], "onnxruntime")
        theirs = []
    except space["Wrong"] as error:
        theirs = str(error).splitlines()
    assert theirs == [f"input set 0, {line}" for line in ours.splitlines()]


def test_the_command_prints_the_cell_that_why_shows_and_says_which(tmp_path):
    run = CliRunner().invoke
    asked = ["cross-no-symbolic", "--torch", "1.10.2", "--exporter", "trace", "--opset", "14"]
    result = run(main, ["reproduce", *asked])
    assert result.exit_code == 0, result.stderr
    assert '"torch==1.10.2"' in result.stdout and "opset=14" in result.stdout
    assert "Measured on 20" in result.stdout and "fail at export" in result.stdout

    path = tmp_path / "cross.py"
    found = json.loads(run(main, ["reproduce", *asked, "--json", "-o", str(path)]).stdout)
    assert (found["torch"], found["opset"], found["status"], found["cells"]) == ("1.10.2", 14, "fail", 1)
    assert path.read_text() == found["script"] == result.stdout

    result = run(main, ["reproduce", "cross-no-symbolic", "--torch", "1.10.2"])
    assert "one of 19 cells: torch 1.10.2" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cros-no-symbolic"], "nearest: cross-no-symbolic"),
        (["cross-*"], "one cell is shown at a time"),
        (["cross-no-symbolic", "--torch", "0.4"], "has not been measured"),
        # a folder that nobody may make, root neither
        (["cross-no-symbolic", "-o", f"{__file__}/x.py"], "cannot be written"),
    ],
)
def test_what_cannot_be_reproduced_is_named(words, said):
    result = CliRunner().invoke(main, ["reproduce", *words])
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_upgrade_of_torch_has_no_script_of_its_own(cases):
    name = next(
        f"{item.id}/{variant}"
        for item in cases.values()
        if issubclass(item.cls, Case)
        for variant, one in item.variants.items()
        if not one.measured
    )
    result = CliRunner().invoke(main, ["reproduce", name])
    assert result.exit_code == 2
    assert "its plain form" in result.stderr
