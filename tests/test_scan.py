"""Source trees: every form of a version gate, every known workaround, each held against the committed rows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scanned_texts import GATE, PIN, SYMBOLIC, only

from caniexport import scan_source
from caniexport.corpus.verdicts import Workaround
from caniexport.scan import gates
from caniexport.scan.decision import decide, why_not, workarounds

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def rows(results):
    return results


@pytest.fixture
def scanned(tmp_path, rows):
    """Scan a tree of one file."""

    def run(text, **asked):
        (tmp_path / "tree").mkdir(exist_ok=True)
        (tmp_path / "tree" / "model.py").write_text(text, encoding="utf-8")
        return scan_source(rows, tmp_path / "tree", **asked)

    return run


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ('torch.__version__ < "1.12"', "torch < 1.12"),
        ('"1.12" <= torch.__version__', "torch >= 1.12"),
        ('version.parse(torch.__version__) >= version.parse("1.12.0")', "torch >= 1.12.0"),
        ('packaging.version.Version(torch.__version__) == Version("2.0")', "torch == 2.0"),
        ('LooseVersion(torch.__version__) < LooseVersion("1.6")', "torch < 1.6"),
        ('parse(torch.__version__.split("+")[0]) > parse("1.6")', "torch > 1.6"),
        ('digit_version(TORCH_VERSION) >= digit_version("1.10.0")', "torch >= 1.10.0"),
        ('tuple(int(x) for x in torch.__version__.split(".")[:2]) < (1, 12)', "torch < 1.12"),
        ('tuple(map(int, torch.__version__.split(".")[:2])) >= (1, 8)', "torch >= 1.8"),
        ('[int(x) for x in torch_version.split(".")] >= [1, 8]', "torch >= 1.8"),
        ('int(torch.__version__.split(".")[0]) >= 2', "torch >= 2"),
        ("float(torch.__version__[:3]) < 1.7", "torch < 1.7"),
        ('torch.__version__.startswith("1.")', "torch == 1"),
        ('torch.__version__.startswith("1.10")', "torch == 1.10"),
        ('not torch.__version__ >= "1.12"', "torch < 1.12"),
        ("parse(torch.__version__).major < 2", "torch < 2"),
        ("v.major == 1 and v.minor < 10", "torch < 1.10"),
        ("TORCH_1_11", "torch >= 1.11"),
        ("not torch_utils.TORCH_1_9", "torch < 1.9"),
        ("is_torch_greater_or_equal_than_2_1", "torch >= 2.1"),
        ('is_torch_greater_or_equal("2.5")', "torch >= 2.5"),
        ('is_torch_version("<", "1.12")', "torch < 1.12"),
        ('compare_versions("torch", "<", "2.0.0")', "torch < 2.0.0"),
        ('compare_version("torch", operator.ge, "1.12.0")', "torch >= 1.12.0"),
        ('check_version(torch.__version__, "1.10.0")', "torch >= 1.10.0"),
        ("torch_version_at_least('2.8')", "torch >= 2.8"),
        ("TORCH_MAJOR > 1 or (TORCH_MAJOR == 1 and TORCH_MINOR >= 8)", "torch >= 1.8"),
        ('is_in_onnx_export() and torch.__version__ < "1.12"', "torch < 1.12"),
        ('not (exported and parse(torch.__version__) >= parse("1.12"))', "torch < 1.12"),
        ('"1.8" in torch.__version__', "torch == 1.8"),
    ],
)
def test_a_gate_is_understood_in_the_forms_in_which_it_is_written(test, said):
    derived = frozenset({"v"})
    (found,) = gates.conditions(ast.parse(test, mode="eval").body, {}, derived)
    assert found.text == said


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ('"1.10" <= torch.__version__ < "1.12"', ["torch >= 1.10", "torch < 1.12"]),
        ("(1, 8) <= TORCH_VERSION < (1, 12)", ["torch >= 1.8", "torch < 1.12"]),
        (
            '(torch.__version__ < "1.12" and a) or (b and not torch.__version__ >= "1.9")',
            ["torch < 1.12", "torch < 1.9"],
        ),
    ],
)
def test_each_comparison_of_a_combined_gate_is_understood(test, said):
    found = gates.conditions(ast.parse(test, mode="eval").body, {}, frozenset())
    assert [one.text for one in found] == said


@pytest.mark.parametrize(
    "test",
    [
        'torchvision.__version__ < "0.12"',
        '"1.8" in torchvision.__version__',
        'torch.__version__ == "parrots"',
        'numpy.__version__ < "2"',
        "parse(torch.__version__).minor < 10",
        'int(torch.__version__.split(".")[1]) < 10',
        "torch.cuda.is_available()",
        'is_transformers_version("<", "4.0")',
        'check_version(onnx.__version__, "1.12")',
        "optimizer == ADAMW_TORCH_4BIT",
        "version > 3",
    ],
)
def test_what_is_no_comparison_with_torchs_version_is_left_alone(test):
    assert gates.conditions(ast.parse(test, mode="eval").body, {}, frozenset()) == []


@pytest.mark.parametrize(
    ("condition", "torch", "holds"),
    [
        (gates.Condition("<", "1.10"), "1.9.1", True),
        (gates.Condition("<", "1.10"), "1.10.2", False),
        (gates.Condition("==", "1.10", 2), "1.10.2", True),
        (gates.Condition("<=", "1.10", 2), "1.10.2", True),
        (gates.Condition("<=", "1.10"), "1.10.2", False),
        (gates.Condition(">", "1", 1), "1.13.1", False),
    ],
)
def test_a_condition_compares_numbers_and_as_many_as_are_written(condition, torch, holds):
    assert condition.holds(torch) is holds
    assert condition.negated.holds(torch) is not holds


def test_a_registered_symbolic_is_needed_on_the_old_release_and_obsolete_on_the_new(scanned):
    old = only(scanned(SYMBOLIC, torch=["1.10.2"]), "custom-symbolic")
    new = only(scanned(SYMBOLIC, torch=["2.8.0"]), "custom-symbolic")
    both = only(scanned(SYMBOLIC, torch=["1.10.2", "2.8.0"]), "custom-symbolic")
    assert (old.site.name, old.word.value, new.word.value, both.word.value) == (
        *("aten::cross", "needed", "obsolete"),
        "needed",
    )
    assert both.statement == "needed at torch 1.10.2, obsolete at torch 2.8.0"
    assert ("cross-no-symbolic", "custom_symbolic") in {(item.case, item.variant) for item in both.evidence}
    assert (both.site.path, both.site.line) == ("model.py", 5)


def test_the_old_registry_names_the_same_operator(scanned):
    text = "import torch.onnx.symbolic_registry as sym\nsym_registry = torch.onnx.symbolic_registry\n"
    text += "torch.onnx.symbolic_registry.register_op('asinh', None, '', 9)\n"
    assert only(scanned(text, torch=["1.10.2"]), "custom-symbolic").site.name == "aten::asinh"


def test_a_symbolic_that_says_it_is_for_another_runtime_is_not_judged_by_onnx_runtimes_cells(scanned):
    text = "import torch\n@R.register_symbolic('cross', is_pytorch=True{})\ndef cross(g, *_): pass\n"
    for backend in (", backend='tensorrt'", ", backend=Backend.TENSORRT.value"):
        found = only(scanned(text.format(backend), torch=("2.0.1",)), "custom-symbolic")
        assert (found.word, found.spoken) == (Workaround.UNKNOWN, False)
        assert "registered for tensorrt" in found.statement

    for backend in ("", ", backend=Backend.ONNXRUNTIME.value", ", backend='default'"):
        found = only(scanned(text.format(backend), torch=("2.0.1",)), "custom-symbolic")
        assert (found.word, found.site.name) == (Workaround.OBSOLETE, "aten::cross")


def test_a_pin_given_to_the_export_function_under_another_name_is_seen(scanned):
    text = "import torch\nexport = torch.onnx.export\ndef patched(*a, **k):\n    return export(*a, **k, dynamo=False)\n"
    assert only(scanned(text, torch=("2.9.1",)), "dynamo-pin").site.line == 4
    # and whoever has nothing to do with the exporter may call an argument so
    assert not scanned("import torch\nrun(dynamo=False)\n", torch=("2.9.1",)).findings


@pytest.mark.parametrize("operator", ["mmcv::nms", "mydomain::cross", "aten::fft_hfft"])
def test_an_operator_that_no_case_has_is_said_to_be_unknown(scanned, operator):
    found = only(scanned(SYMBOLIC.replace("aten::cross", operator), torch=["1.10.2"]), "custom-symbolic")
    assert (found.word.value, found.spoken, found.evidence) == ("unknown", False, ())
    assert found.statement == "no measured case applies to this"


def test_a_gate_that_has_to_do_with_an_export_and_an_operator_is_judged_by_its_cases(scanned):
    text = """
import torch


def export_onnx(x):
    if torch.__version__ < "1.12":
        return by_hand(x)
    else:
        return torch.group_norm(x, 2)
"""
    found = only(scanned(text, torch=["2.8.0"], exporter="trace"), "version-gate")
    assert (found.word.value, found.spoken, found.holds) == ("obsolete", True, "never")
    assert found.statement == "obsolete at torch 2.8.0; never true at the releases looked at"
    assert "group-norm-no-symbolic" in {item.case for item in found.evidence}


def test_a_gate_without_an_export_is_never_judged_by_export_cases(scanned):
    found = [item for item in scanned(GATE, torch=["2.8.0"]).findings if item.site.line == 13]
    assert [(item.word.value, item.spoken) for item in found] == [("unknown", False)]
    assert found[0].statement == "no measured case applies to this; never true at the releases looked at"


def test_a_flag_of_another_file_is_known(tmp_path, rows):
    (tmp_path / "versions.py").write_text(
        "import torch\nOLD = check_version(torch.__version__, '1.9.0')\nNEW = torch.__version__ >= (2, 0)\n", "utf-8"
    )
    (tmp_path / "use.py").write_text("from versions import NEW, OLD  # torch\nx = 1 if NEW else 2\n", "utf-8")
    found = scan_source(rows, tmp_path, torch=["1.13.1"])
    assert [(item.site.path, item.site.line, item.site.name, item.holds) for item in found.findings] == [
        ("use.py", 2, "torch >= 2.0", "never")
    ]


def test_a_pin_of_the_torchscript_exporter_changes_nothing_before_the_default_did(scanned):
    before = only(scanned(PIN, torch=["2.8.0"]), "dynamo-pin")
    after = only(scanned(PIN, torch=["2.9.1"]), "dynamo-pin")
    assert (before.word.value, after.word.value, after.spoken) == ("obsolete", "unknown", True)
    assert after.statement.startswith("it depends on the model: at torch 2.9.1 ")
    texts = {item.text for item in after.evidence}
    assert texts == {"works with the TorchScript exporter only", "works with dynamo only"}


def test_arguments_gathered_in_a_dictionary_are_seen(scanned):
    found = scanned("import torch\nmore = {'dynamo': False, 'opset_version': 17}\ntorch.onnx.export(m, a, **more)\n")
    assert {item.site.kind.value for item in found.findings} == {"dynamo-pin", "opset-pin"}
    assert (found.exporter, found.opset) == ("torchscript-trace", 17)


@pytest.mark.parametrize(
    "lines",
    [
        ["more = {'opset_version': 17}", "if torch.__version__ >= '2.5':", "    more['dynamo'] = False"],
        ["more = dict(opset_version=17, dynamo=False)"],
        ["more = dict(opset_version=17)", "more.update(dynamo=False)"],
        ["more = dict({'opset_version': 17})", "more.setdefault('dynamo', False)"],
        ["first = {'dynamo': False}", "more = {**first, 'opset_version': 17}"],
        ["more = {}", "more.update({'dynamo': False})", "more |= {'opset_version': 17}"],
    ],
)
def test_arguments_are_read_however_they_are_gathered(scanned, lines):
    body = "".join(f"    {line}\n" for line in [*lines, "torch.onnx.export(m, a, 'f', **more)"])
    found = scanned(f"import torch\ndef save(m, a):\n{body}", torch=["2.15.0"])
    assert (found.exporter, found.opset) == ("torchscript-trace", 17)
    assert not any("**kwargs" in note for note in found.notes)


def test_what_another_function_gathers_is_not_read(scanned):
    other = "def other():\n    more = {}\n    more['dynamo'] = False\n"
    call = "def save(m, a):\n    more = dict(opset_version=17)\n    torch.onnx.export(m, a, 'f', **more)\n"
    found = scanned(f"import torch\n{other}{call}", torch=["2.15.0"])
    assert (found.exporter, found.opset) == (None, 17)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("**more", "pass"),
        ("**self.options", "pass"),
        ("**made", "made = options()"),
        ("**made", "made = {name: False}"),
        ("**made", "made = {'dynamo': flag}"),
        ("**made", "made = dict(more, opset_version=17)"),
        ("dynamo=True, **more", "more['input_names'] = []"),
    ],
)
def test_an_export_call_whose_arguments_are_not_known_is_told(scanned, given, line):
    text = f"import torch\ndef save(m, a, **more):\n    {line}\n    torch.onnx.export(m, a, 'f', {given})\n"
    note = "the export call at model.py:4 takes **kwargs that are not known: an exporter or opset may be chosen there"
    assert note in scanned(text, torch=["2.15.0"]).notes
    assert note not in scanned(text, torch=["2.15.0"], exporter="dynamo", opset=18).notes


def test_arguments_that_choose_no_exporter_leave_the_releases_own(scanned):
    call = "more = dict(input_names=['x'])\ntorch.onnx.export(m, a, 'f', **more)\n"
    found = scanned(f"import torch\n{call}", torch=["2.15.0"])
    assert (found.exporter, found.exporters, found.notes) == (None, (), ())
    named = "torch.onnx.export(m, a, 'f', dynamo=True, opset_version=18, **more)\n"
    assert not any("**kwargs" in note for note in scanned(f"import torch\n{named}", torch=["2.15.0"]).notes)


#: at torch 2.8.0 the first is needed by dynamo alone, the second by TorchScript alone
REWRITES = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        # torch.chunk(3) on a dynamic axis does not export to onnx
        n = x.shape[1] // 3
        return x[:, :n], x[:, n:2*n], x[:, 2*n:]

    def pos(self, mask):
        # onnx CumSum takes no bool
        return mask.int().cumsum(1)
"""
BY_DYNAMO = [
    "torch.onnx.export(m, a, 'f', dynamo=True)",
    "more = {'dynamo': True}\ntorch.onnx.export(m, a, 'f', **more)",
    "torch.onnx.dynamo_export(m, a)",
    "import torch.onnx as to\nto.dynamo_export(m, a)",
    "from torch import onnx as to\nto.export(m, a, 'f', dynamo=True)",
    "from torch.onnx import export as ex\nex(m, a, 'f', dynamo=True)",
    "ex = torch.onnx.export\nex(m, a, 'f', dynamo=True)",
    "from functools import partial\nex = partial(torch.onnx.export, dynamo=True)\nex(m, a, 'f')",
    "import functools\nex = functools.partial(torch.onnx.export, verbose=True)\nex(m, a, 'f', dynamo=True)",
    "from functools import partial\nmake(partial(torch.onnx.export, dynamo=True))",
    "program = torch.export.export(m, a)\ntorch.onnx.export(program, a, 'f')",
    "def save(program: torch.export.ExportedProgram):\n    torch.onnx.export(program, (), 'f')",
    "def save(m, a, dynamo=True):\n    torch.onnx.export(m, a, 'f', dynamo=dynamo)",
]


def words_of(found):
    return {item.site.line: item.word.value for item in found.findings if not item.is_setting}


@pytest.mark.parametrize("call", BY_DYNAMO)
def test_a_project_that_exports_by_dynamo_is_held_against_dynamo(scanned, call):
    found = scanned(f"{REWRITES}\n\n{call}\n", torch=["2.8.0"])
    assert (found.exporter, words_of(found)) == ("dynamo", {8: "needed", 13: "obsolete"})
    assert "Held against torch 2.8.0, dynamo, its own opset." in decide(found)


@pytest.mark.parametrize("call", ["torch.onnx.export(m, a, 'f')", "torch.onnx.utils.export(m, a, 'f')"])
def test_a_call_without_dynamo_is_by_torchscript_before_the_default_changed(scanned, call):
    found = scanned(f"{REWRITES}\n\n{call}\n", torch=["2.8.0"])
    assert words_of(found) == {8: "obsolete", 13: "needed"}


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (["", ", dynamo=True"], "each release's own exporter and dynamo"),
        ([", dynamo=True", ", dynamo=True", ", dynamo=False"], "dynamo and trace"),
        ([", dynamo=args.dynamo"], "trace and dynamo"),
    ],
)
def test_what_one_of_the_projects_exporters_needs_can_not_go(scanned, calls, said):
    lines = "".join(f"torch.onnx.export(m, a, 'f'{more})\n" for more in calls)
    found = scanned(f"{REWRITES}\n\n{lines}", torch=["2.8.0"])
    assert words_of(found) == {8: "needed", 13: "needed"}
    assert f"Held against torch 2.8.0, {said}, its own opset." in decide(found)
    first = next(item for item in found.findings if item.site.line == 8)
    assert "by dynamo: needed at torch 2.8.0" in first.statement
    assert "obsolete at torch 2.8.0" in first.statement
    assert any("each place is held against both" in note for note in found.notes)
    # whoever asks for one exporter has the word of that one
    assert words_of(scanned(f"{REWRITES}\n\n{lines}", torch=["2.8.0"], exporter="dynamo"))[13] == "obsolete"


def test_a_release_without_the_projects_exporter_is_looked_at_by_its_own(scanned):
    found = scanned(f"{REWRITES}\n\n{BY_DYNAMO[0]}\n", torch=["1.13.1", "2.8.0"])
    last = next(item for item in found.findings if item.site.line == 13)
    assert last.statement == "needed at torch 1.13.1, obsolete at torch 2.8.0"


@pytest.mark.parametrize(
    ("opset", "torch", "word", "said"),
    [
        (18, "1.13.1", "harmful", "refused by torchscript-trace at torch 1.13.1"),
        (14, "1.13.1", "obsolete", "the opset that the default call writes in each of these releases"),
        (11, "1.13.1", "unknown", "it depends on the model: at torch 1.13.1 "),
        (11, "2.15.0", "unknown", "no measured case applies to this: opset 11 was not asked of dynamo"),
    ],
)
def test_a_pinned_opset_is_held_against_what_the_release_takes_and_writes(scanned, opset, torch, word, said):
    found = only(
        scanned(f"import torch\ntorch.onnx.export(m, a, 'f', opset_version={opset})\n", torch=[torch]), "opset-pin"
    )
    assert found.word.value == word
    assert found.statement.startswith(said)


@pytest.mark.parametrize("name", ["ONNX_ATEN_FALLBACK", "ONNX_FALLTHROUGH"])
def test_a_fallback_export_type_is_held_against_the_cases_that_use_it(scanned, name):
    text = f"import torch\ntorch.onnx.export(m, a, 'f', operator_export_type=torch.onnx.OperatorExportTypes.{name})\n"
    found = only(scanned(text, torch=["1.10.2"]), "fallback-type")
    assert (found.site.name, found.spoken) == (name, True)
    assert found.word.value in ("broken", "harmful")
    assert found.evidence


def test_an_argument_that_is_gone_is_harmful_where_it_is_gone_and_no_finding_before(scanned):
    text = "import torch\ntorch.onnx.export(m, a, 'f', enable_onnx_checker=False, export_params=True, verbose=True)\n"
    gone = only(scanned(text, torch=["2.8.0"]), "export-argument")
    assert (gone.site.name, gone.word.value) == ("enable_onnx_checker", "harmful")
    assert [item.case for item in gone.evidence] == ["export-argument-enable-onnx-checker"]
    assert scanned(text, torch=["1.8.1"]).findings == ()


@pytest.mark.parametrize(
    ("name", "reason", "statement"),
    [
        (
            "hardswish", "whose case was measured at some of the releases only",
            "obsolete at torch 2.1.2 to 2.8.0, not measured at torch 2.9.1 to 2.15.0",
        ),
        ("tril", "whose operator fails where no such fix was measured", "no measured case applies to this: cases of "),
    ],
)  # fmt: skip
def test_why_a_rule_has_no_word_is_told_by_what_was_measured(scanned, name, reason, statement):
    rule = f"""
import torch
from torch.onnx import register_custom_op_symbolic
register_custom_op_symbolic("aten::{name}", rule, 11)
torch.onnx.export(m, a, "f", opset_version=11)
"""
    found = scanned(rule, torch=[">=2.1"])
    (finding,) = workarounds(found)
    assert why_not(finding) == reason
    assert finding.statement.startswith(statement)
    assert f"1 cannot be judged (1 {reason})" in decide(found)


def test_that_an_argument_is_gone_is_told_of_releases_that_were_not_asked_for_the_opset(scanned):
    found = scanned(
        "import torch\ntorch.onnx.export(m, a, 'f', opset_version=11, enable_onnx_checker=False)\n", torch=[">=2.1"]
    )
    argument = next(item for item in found.findings if item.site.name == "enable_onnx_checker")
    assert argument.statement.endswith("harmful at torch 2.7.1 to 2.15.0")


def test_a_rewrite_of_the_corpus_is_recognised_under_other_names(scanned, rows):
    """The corpus's own expression, with every name and number another."""
    from caniexport.answers.select import load

    entry = load(rows).catalogue["cross-no-symbolic", "stack_rewrite"]

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.Name(node.id if node.id in ("torch", "fix") else f"other_{node.id}", node.ctx)

    code = ast.unparse(Renamed().visit(ast.parse(entry.code[entry.code.index("def ") :])))
    found = [item for item in scanned(f"import torch\n\n{code}\n", torch=["1.10.2"]).findings if item.evidence]
    assert {fix for item in found for fix in item.site.fixes} >= {("cross-no-symbolic", "stack_rewrite")}
    assert found[0].word.value == "needed"


def test_the_corpus_recognises_its_own_rewrites(rows):
    found = scan_source(rows, ROOT / "cases", torch=["1.10.2"], exporter="trace")
    shapes = [item for item in found.findings if item.site.kind.value == "known-rewrite"]
    assert shapes
    assert all(item.evidence for item in shapes)
    assert {item.word.value for item in shapes} & {"needed", "obsolete"}


def test_that_a_functions_own_rule_may_go_is_never_said(scanned):
    text = """
import torch


class Boxes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, boxes, scores):
        return torch.randint(0, 10, (3, 3))

    @staticmethod
    def symbolic(g, boxes, scores):
        return g.op("NonMaxSuppression", boxes, scores)
"""
    item = only(scanned(text, torch="2.15.0"), "custom-symbolic")

    assert (item.word.value, item.statement.partition(":")[0]) == ("unknown", "it depends on the function")
