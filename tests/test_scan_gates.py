"""Rewrites that a gate on a release chooses, and the word on what export calls are given."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from scanned_texts import only

from caniexport import scan_source
from caniexport.cli import main
from caniexport.scan.decision import decide

_CROSS = """torch.stack([
        a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
        a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
        a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
    ], -1)"""
_OLD = 'if Version(torch.__version__) < Version("1.12"):\n'
_GATES = {
    "lambda": f"{_OLD}    cross = lambda a, b: {_CROSS}\nelse:\n    cross = torch.cross\n",
    "lambda alone": f"{_OLD}    cross = lambda a, b: {_CROSS}\n",
    "def": f"{_OLD}    def cross(a, b):\n        return {_CROSS}\nelse:\n    cross = torch.cross\n",
    "statement": f"a = b = torch.rand(2, 3)\n{_OLD}    c = {_CROSS}\nelse:\n    c = torch.cross(a, b, -1)\n",
    "turned": f'cross = torch.cross if Version(torch.__version__) >= Version("1.12") else lambda a, b: {_CROSS}\n',
}
_ATTENTION = """
import torch
import torch.nn.functional as F

TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])


def attend(q, k, v):
    if {test}:
        return F.scaled_dot_product_attention(q, k, v)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return {formula}
"""


@pytest.fixture
def scanned(tmp_path, results):
    """Scan a tree of one file."""

    def run(text, **asked):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        return scan_source(results, tmp_path, **asked)

    return run


@pytest.mark.parametrize("spelling", _GATES)
@pytest.mark.parametrize(("torch", "word"), [("1.10.2", "needed"), ("2.15.0", "obsolete")])
def test_a_gate_around_a_rewrite_is_about_the_rewrites_case(scanned, spelling, torch, word):
    text = f"import torch\nfrom packaging.version import Version\n\n{_GATES[spelling]}"
    found = scanned(text, torch=[torch], exporter="trace")
    gate, rewrite = only(found, "version-gate"), only(found, "known-rewrite")
    assert gate.site.fixes[0] == rewrite.site.fixes[0] == ("cross-no-symbolic", "stack_rewrite")
    assert (gate.word.value, rewrite.word.value) == (word, word)
    assert not gate.is_elsewhere


@pytest.mark.parametrize("test", ["TORCH >= (2, 1)", 'torch.__version__ >= "2.1"'])
def test_a_gate_that_chooses_between_an_operator_and_its_formula_is_about_the_operators_case(scanned, test):
    found = scanned(_ATTENTION.format(test=test, formula="scores.softmax(-1) @ v"), torch=["2.15.0"])
    gate = only(found, "version-gate")
    assert gate.site.fixes == (("sdpa-opset-13", "formula"),)
    assert (gate.word.value, gate.holds) == ("obsolete", "always")


def test_a_gate_whose_other_branch_computes_something_else_is_about_no_case(scanned):
    found = scanned(_ATTENTION.format(test="TORCH >= (2, 1)", formula="fast(scores, v)"), torch=["2.15.0"])
    assert only(found, "version-gate").is_elsewhere


def test_the_arguments_of_a_lambda_are_not_what_is_called_so_around_it(scanned):
    text = f"import torch\n\na = torch.zeros(3)\ncross = lambda a, b: {_CROSS}\n"
    assert only(scanned(text, torch=["1.10.2"]), "known-rewrite").site.fixes[0] == (
        "cross-no-symbolic",
        "stack_rewrite",
    )


def test_an_argument_that_does_harm_is_the_first_sentence_and_fails_where_that_is_asked(tmp_path):
    text = "import torch\ntorch.onnx.export(m, a, 'f', enable_onnx_checker=False)\n"
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    words = ["workaround", "--scan", str(tmp_path), "--torch", "2.15.0"]
    reply = CliRunner().invoke(main, [*words, "--fail-on", "harmful"])
    assert reply.stdout.startswith("1 argument of an export call does harm: enable_onnx_checker. No workaround for an ")
    assert reply.exit_code == 1


def test_each_argument_at_fault_is_named_before_the_workarounds(scanned):
    calls = "".join(f"torch.onnx.export(m, a, 'f', opset_version={opset})\n" for opset in (97, 98))
    cross = f"def cross(a, b):\n    return {_CROSS}\n"
    said = decide(scanned(f"import torch\n{calls}\n\n{cross}", torch=["1.10.2"]))
    assert said.startswith("2 arguments of export calls do harm: opset_version=97, opset_version=98. 1 workaround was ")


def test_exporters_that_take_different_opsets_are_compared_each_at_one_that_it_takes(scanned):
    text = "import torch\ntorch.onnx.export(m, a, 'f', dynamo=False, opset_version=11)\n"
    found = only(scanned(text, torch=["2.15.0"]), "dynamo-pin")
    assert {item.text for item in found.evidence} == {
        "works with the TorchScript exporter only",
        "works with dynamo only",
    }
    assert found.statement.endswith("(at opset 11, and dynamo at opset 20: of dynamo nothing is measured at 11)")
