"""Scripts of published cells in a real environment, made by uv from the file alone. Takes minutes (``real``)."""

import subprocess

import pytest
from click.testing import CliRunner

from harness import interpreters
from harness.cli import main

pytestmark = pytest.mark.real

TORCH = "1.10.2"
#: one cell for each way to end that this release shows: status and stage as published
CELLS = {
    "pass at done": ["cross-no-symbolic/stack_rewrite", "--exporter", "trace", "--opset", "14"],
    "fail at export": ["cross-no-symbolic", "--exporter", "trace", "--opset", "14"],
    "unsupported at export": ["cross-no-symbolic/stack_rewrite", "--exporter", "trace", "--opset", "15"],
    "mismatch at compare": ["tracer-item-bakes-value", "--exporter", "trace", "--opset", "11"],
}


@pytest.mark.parametrize(("ended", "cell"), CELLS.items())
def test_a_script_makes_its_environment_and_ends_as_its_row(ended, cell, tmp_path):
    path = tmp_path / "cell.py"
    result = CliRunner().invoke(main, ["reproduce", *cell, "--torch", TORCH, "-o", str(path)])
    assert result.exit_code == 0, result.stderr

    # where uv does not see the Python that is there, it would fetch one
    line = [interpreters.uv(), "run", "--python", str(interpreters.find("3.8")), "--script", str(path)]
    reply = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    if "torch==1.10.2" in reply.stderr and not reply.stdout:
        pytest.skip(f"the environment cannot be made here: {reply.stderr[-500:]}")
    assert reply.returncode == 0, reply.stdout + reply.stderr
    assert f"\n{ended}" in reply.stdout
    assert f"measured was: {ended} (the same)" in reply.stdout
