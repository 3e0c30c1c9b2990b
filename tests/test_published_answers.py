"""What the commands answer over the published rows is what these rows say."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from onnx_bytes import field, node, value

from caniexport.answers.samples import Samples
from caniexport.cli import main

pytestmark = pytest.mark.published


def ask(*args: str, text: str | None = None) -> str:
    """What a command prints, in one line."""
    return " ".join(CliRunner().invoke(main, args, input=text).output.split())


@pytest.mark.parametrize(
    "words",
    [
        *(("case", name) for name in ("cross-no-symbolic", "grid-sample-bicubic", "and-in-place")),
        *(("op", name) for name in ("grid_sample", "sdpa", "irfft2")),
        ("op",),
        ("upgrade", "--from", "1.13.1", "--to", "2.15"),
        ("upgrade", "--from", "2.5"),
        ("workaround",),
        ("table",),
    ],
)
def test_an_answer_fits_on_one_screen_and_its_first_line_in_a_hundred_columns(words):
    lines = CliRunner().invoke(main, words).output.splitlines()

    assert 2 < len(lines) <= 40
    assert max(map(len, lines)) <= 100


def test_no_operator_passes_at_an_opset_where_it_is_measured_to_fail(results):
    samples = Samples.of(results)
    rows = samples.views.fetch(
        """SELECT op, torch, exporter, opset, passing = calls FROM samples JOIN judged USING (op)
            WHERE form IS NULL AND dtype = first_dtype AND calls > 0 AND exporter IS NOT NULL
            ORDER BY hash(op, torch, exporter, opset) LIMIT 60"""
    )

    mine = [row for row in rows if samples.called(row[0])[0] == row[0]]
    assert len(mine) > 50
    assert [row for row in mine if samples.pass_at(*row[:4]) is not row[4]] == []


def onnx_file(path, *nodes):
    """A file as torch 2.8.0 writes it by trace at opset 17."""
    graph = b"".join(field(1, item) for item in nodes) + field(12, value("o", 1, "batch", 16, 32))
    graph += b"".join(field(11, value(name, 1, "batch", 16, 32)) for name in "qkv")
    opset = field(8, field(1, "") + field(2, 17))
    path.write_bytes(field(1, 8) + field(2, "pytorch") + field(3, "2.8.0") + opset + field(7, graph))
    return str(path)


ATTENTION = [
    node("Transpose", ["k"], ["t"]),
    node("Constant", [], ["s"]),
    node("Mul", ["q", "s"], ["scaled"]),
    node("MatMul", ["scaled", "t"], ["scores"]),
    node("Softmax", ["scores"], ["weights"]),
    node("MatMul", ["weights", "v"], ["o"]),
]


def test_a_model_of_which_little_was_measured_is_no_all_clear(tmp_path):
    """Attention of three axes fails by default on 2.15.0, and no file by trace shows it."""
    path = onnx_file(tmp_path / "attention.onnx", *ATTENTION)
    reply = CliRunner().invoke(main, ["upgrade", "--model", path, "--to", "2.15.0"])

    assert reply.output.startswith("Not enough measured: too few cases at 2.15.0 with ")
    assert reply.exit_code == 1


APEX = """/site/apex_or_not.py:3: UserWarning: No module named 'apex'
  warnings.warn(str(error))
Traceback (most recent call last):
torch.onnx.errors.UnsupportedOperatorError: Exporting the operator 'aten::{}' to ONNX opset version 17 is not supported.
"""


def test_a_warning_of_a_missing_module_hides_no_operator():
    warned = APEX.format("cross")
    alone = warned.partition("Traceback")[2]

    with_warning, without = (ask("why", "-", text=text) for text in (warned, f"Traceback{alone}"))
    assert "A Python package is not installed" not in with_warning
    assert with_warning == without
    assert "cross" in with_warning


def _cases(answer):
    return re.findall(r"caniexport case (\S+)", answer)


def test_a_missing_module_that_ends_an_export_is_the_cause():
    text = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'apex'\n"

    assert ask("why", "-", text=text).startswith("A Python package is not installed where this ran: no export failed.")


def test_a_case_that_fails_so_in_the_asked_cell_goes_before_one_that_passes_there():
    asked = ("why", "-", "--torch", "2.13.0", "--exporter", "dynamo")
    answer = ask(*asked, text="RuntimeError: invalid expand shape\n")

    assert _cases(answer)[0] == "bilstm-by-two-lstms"
    assert re.search(r"torch 2\.13\.0, dynamo=True, opset_version=\d+ +✗ same error", answer)
