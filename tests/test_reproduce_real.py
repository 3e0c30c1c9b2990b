"""Published cells in a real environment: by scripts that uv runs, and by the audit. Takes minutes (``real``)."""

import re
import subprocess

import pytest
from click.testing import CliRunner

from caniexport import home as homes
from caniexport.audit.run import AuditOptions, audit
from caniexport.cli import main
from caniexport.machine import interpreters

pytestmark = pytest.mark.real

#: one cell for each way to end, then one for each way in which an export was written over the years: release,
#: status and stage as published, the cell
CELLS = [
    ("1.10.2", "pass at done", "cross-no-symbolic/stack_rewrite", "trace", "14"),
    ("1.10.2", "fail at export", "cross-no-symbolic", "trace", "14"),
    ("1.10.2", "unsupported at export", "cross-no-symbolic/stack_rewrite", "trace", "15"),
    ("1.10.2", "mismatch at compare", "tracer-item-bakes-value", "trace", "11"),
    ("1.2.0", "fail at export", "cross-no-symbolic", "trace", "9"),
    ("1.5.1", "pass at done", "cross-no-symbolic/stack_rewrite", "script", "11"),
    ("2.1.2", "pass at done", "cross-no-symbolic", "dynamo", "18"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """uv makes an environment for each path of a script: those of one release have one path."""
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.parametrize(("torch", "ended", "cell", "exporter", "opset"), CELLS)
def test_a_script_makes_its_environment_and_ends_as_its_row(torch, ended, cell, exporter, opset, folder):
    path = folder / f"torch-{torch}.py"
    words = [cell, "--torch", torch, "--exporter", exporter, "--opset", opset]
    result = CliRunner().invoke(main, ["reproduce", *words, "-o", str(path)])
    assert result.exit_code == 0, result.stderr

    # where uv does not see the Python that is there, it would fetch one
    python = re.search(r'requires-python = "==([\d.]+)\.\*"', path.read_text())
    assert python is not None
    line = [interpreters.find_uv(), "run", "--python", str(interpreters.find_python(python[1])), "--script", str(path)]
    reply = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)

    if f"torch=={torch}" in reply.stderr and not reply.stdout:
        pytest.skip(f"the environment cannot be made here: {reply.stderr[-500:]}")
    assert reply.returncode == 0, reply.stdout + reply.stderr
    assert f"\n{ended}" in reply.stdout
    assert f"measured was: {ended} (the same)" in reply.stdout


def test_the_published_rows_of_an_old_release_are_found_again_by_the_plain_script():
    """An environment of torch 1.10.2, made out of the table's pins; a handful of published cells."""
    (found,) = audit(AuditOptions(homes.find(), cells=25, seed=11, releases=("1.10.2",)), print)

    if found.problem:
        pytest.skip(found.problem)
    # what onnx's strict check once ended is measured anew by and by
    left = [item for item in found.differing if " at check" not in item.published]
    assert left == []
    assert found.cells == 25
