"""Branches on exporting: which tests are one, and what the rows say of what a branch leaves out."""

from __future__ import annotations

import ast

import pytest
from scanned_texts import only

from caniexport import scan_source
from caniexport.scan.branches import exporting

_BRANCH = """
import torch


def shift(x, exporter=None):
    if {test}:
        x = {ours}
    else:
        x = {other}
    return x
"""


@pytest.fixture
def scanned(tmp_path, results):
    """Scan a tree of one file."""

    def run(text, torch, **asked):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        return scan_source(results, tmp_path, torch=[torch], **asked)

    return run


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("torch.onnx.is_in_onnx_export()", True),
        ("not torch.onnx.is_in_onnx_export()", False),
        ("torch.jit.is_tracing()", True),
        ("torch.compiler.is_exporting()", True),
        ("torch._C._get_tracing_state() is not None", True),
        ("torch._C._get_tracing_state() is None", False),
        ("self.export is True", True),
        ("self.onnx_trace", True),
        ("self.exportable and x.ndim > 2", True),
        ("static", True),
        ("exporter.fast", None),
        ("exporter is not None", None),
        ("onnx is None", None),
        ("torch.jit.is_scripting()", None),
        ("x.is_cuda", None),
    ],
)
def test_what_a_test_answers_while_exporting(test, answer):
    assert exporting(ast.parse(test, mode="eval").body, {"static": True}) is answer


@pytest.mark.parametrize(
    ("op", "word", "said"), [("cdist", "needed", "needed at"), ("group_norm", "unknown", "not every case of what")]
)
def test_a_branch_is_needed_where_every_case_of_what_it_leaves_out_fails_and_never_obsolete(scanned, op, word, said):
    text = _BRANCH.format(test="torch.onnx.is_in_onnx_export()", ours="by_hand(x)", other=f"torch.{op}(x, 2)")
    found = only(scanned(text, "2.8.0", exporter="trace"), "export-branch")
    assert (found.site.ops, found.word.value) == ((op,), word)
    assert found.statement.startswith(said)
    assert found.evidence


def test_a_branch_that_leaves_out_nothing_measured_is_not_judged(scanned):
    text = _BRANCH.format(test="torch.onnx.is_in_onnx_export()", ours="by_hand(x)", other="own_kernel(x)")
    found = only(scanned(text, "1.10.2"), "export-branch")
    assert (found.word.value, found.is_measured, found.is_undecided) == ("unknown", False, True)


def test_what_follows_a_branch_that_returns_is_its_other_side(scanned):
    text = "import torch\ndef f(x):\n  if torch.onnx.is_in_onnx_export():\n    return x\n  return torch.roll(x, 1)\n"
    assert only(scanned(text, "1.10.2"), "export-branch").site.ops == ("roll",)


def test_a_comment_is_not_read(scanned):
    text = "import torch\n\n\ndef f(x):\n    # ONNX does not support torch.cdist\n    return (x[:, None] - x).norm()\n"
    assert scanned(text, "1.10.2").findings == ()
