"""Functions that are a copy of a workaround of the corpus, whatever their names."""

from __future__ import annotations

import ast

import pytest
from scanned_texts import CROSS, only

from caniexport import scan_source
from caniexport.answers.select import load
from caniexport.scan.copies import learn

BODY = CROSS.partition(":")[2]
FIX = ("cross-no-symbolic", "stack_rewrite")


@pytest.fixture
def scanned(tmp_path, results):
    """Scan a tree of one file."""

    def run(text, **asked):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        return scan_source(results, tmp_path, **asked)

    return run


@pytest.mark.parametrize(("torch", "word"), [("1.10.2", "needed"), ("2.15.0", "obsolete")])
@pytest.mark.parametrize(
    "head",
    [
        "import torch\ndef turned(self, first, second):",
        "import torch\ndef turned(self, first: torch.Tensor, second: int = 3) -> int:\n    'What it does.'",
        "import torch\n@decorated\ndef turned(self, first, *, second=None):",
    ],
)
def test_a_copy_has_the_word_of_its_workaround(scanned, head, torch, word):
    found = only(scanned(head + BODY, torch=[torch], exporter="trace"), "known-workaround")
    assert (found.site.fixes, found.word.value) == ((FIX,), word)


@pytest.mark.parametrize("imported", ["import torch as t", "from torch import stack"])
def test_imports_are_spelled_out(scanned, imported):
    given = {"import torch as t": "t.stack"}.get(imported, "stack")
    text = f"{imported}\ndef turned(self, first, second):{BODY.replace('torch.stack', given)}"
    assert bool(scanned(text, torch=["1.10.2"]).findings) is (given == "t.stack")


@pytest.mark.parametrize(
    ("before", "after"),
    [("a * e - b * d", "a * e + b * d"), ("dim=1", "dim=-1"), ("self.conv", "self.layer"), ("d, e", "e, d")],
)
def test_a_function_that_is_not_the_same_is_none(scanned, before, after):
    text = f"import torch\ndef turned(self, first, second):{BODY.replace(before, after, 1)}"
    assert not scanned(text, torch=["1.10.2"]).findings


def test_no_short_body_and_no_failing_form_is_known(results):
    known = learn(load(results).catalogue.values())
    assert len(known) > 100
    assert FIX in {fix for fixes in known.values() for fix in fixes}
    assert not {fix for fixes in known.values() for fix in fixes if fix[1] == "plain"}


def test_the_corpuss_own_function_is_found_under_other_names(scanned, results):
    entry = load(results).catalogue[FIX]
    tree = ast.parse(entry.code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("x", "y"):
            node.id = f"other_{node.id}"
        elif isinstance(node, ast.arg) and node.arg in ("x", "y"):
            node.arg = f"other_{node.arg}"
    found = scanned(f"import torch\n{ast.unparse(tree)}\n", torch=["1.10.2"])
    assert only(found, "known-workaround").site.fixes == (FIX,)


def test_a_gate_around_a_copy_is_about_its_case(scanned):
    body = BODY.replace("\n    ", "\n        ")
    text = f"import torch\nif torch.__version__ < '1.12':\n    def turned(self, first, second):{body}"
    text += "else:\n    turned = torch.cross\n"
    for torch, word in (("1.10.2", "needed"), ("2.15.0", "obsolete")):
        gate = only(scanned(text, torch=[torch], exporter="trace"), "version-gate")
        assert (gate.site.fixes, gate.word.value, gate.is_undecided) == ((FIX,), word, False)


def test_a_branch_on_exporting_around_a_copy_is_counted_once(scanned):
    body = BODY.replace("\n    ", "\n        ")
    text = f"import torch\nif torch.onnx.is_in_onnx_export():\n    def turned(self, first, second):{body}"
    (found,) = scanned(text, torch=["1.10.2"]).findings
    assert found.site.kind.value == "known-workaround"
