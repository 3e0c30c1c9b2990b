"""Source trees: version gates, export rules and export calls, each held against the committed rows."""

from __future__ import annotations

import ast

import pytest
from scanned_texts import CROSS, GATE, PIN, SYMBOLIC, only

from caniexport import scan_source
from caniexport.corpus.verdicts import Workaround
from caniexport.scan import gates, sites
from caniexport.scan.decision import decide, workarounds


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
        assert (found.word, found.is_measured) == (Workaround.UNKNOWN, False)
        assert "it is for tensorrt" in found.statement

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
    assert (found.word.value, found.is_measured, found.evidence) == ("unknown", False, ())
    assert found.statement == "no measured case applies to this"


def test_a_gate_that_has_to_do_with_an_export_and_an_operator_is_judged_by_its_cases(scanned):
    text = """
import torch


def normed(x):
    if torch.onnx.is_in_onnx_export() and torch.__version__ < "1.12":
        return by_hand(x)
    else:
        return torch.group_norm(x, 2)
"""
    found = only(scanned(text, torch=["2.8.0"], exporter="trace"), "version-gate")
    assert (found.word.value, found.is_measured, found.holds) == ("obsolete", True, "never")
    assert found.statement == "obsolete at torch 2.8.0; never true at the releases looked at"
    assert "group-norm-no-symbolic" in {item.case for item in found.evidence}


def test_a_gate_without_an_export_is_never_judged_by_export_cases(scanned):
    found = [item for item in scanned(GATE, torch=["2.8.0"]).findings if item.site.line == 13]
    assert [(item.word.value, item.is_measured) for item in found] == [("unknown", False)]
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
    assert (before.word.value, after.word.value, after.is_measured) == ("obsolete", "unknown", True)
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
        ["more = {'dynamo': False, 'opset_version': 17}"],
    ],
)
def test_arguments_are_read_however_they_are_gathered(scanned, lines):
    body = "".join(f"    {line}\n" for line in [*lines, "torch.onnx.export(m, a, 'f', **more)"])
    found = scanned(f"import torch\ndef save(m, a):\n{body}", torch=["2.15.0"])
    assert (found.exporter, found.opset) == ("torchscript-trace", 17)


@pytest.mark.parametrize("given", ["**more", "**self.options", "dynamo=True, **more", "opset_version=18, **more"])
def test_an_export_call_whose_arguments_are_not_known_is_told(scanned, given):
    text = f"import torch\n\ndef save(m, a, **more):\n    torch.onnx.export(m, a, 'f', {given})\n"
    note = "the export call at model.py:4 takes **kwargs that are not known: an exporter or opset may be chosen there"
    assert note in scanned(text, torch=["2.15.0"]).notes
    assert note not in scanned(text, torch=["2.15.0"], exporter="dynamo", opset=18).notes


def test_arguments_that_choose_no_exporter_leave_the_releases_own(scanned):
    found = scanned("import torch\ntorch.onnx.export(m, a, 'f', input_names=['x'])\n", torch=["2.15.0"])
    assert (found.exporter, found.exporters, found.notes) == (None, (), ())
    named = "torch.onnx.export(m, a, 'f', dynamo=True, opset_version=18, **more)\n"
    assert not any("**kwargs" in note for note in scanned(f"import torch\n{named}", torch=["2.15.0"]).notes)


#: at torch 2.8.0 the first is needed by dynamo alone, the second by TorchScript alone
REWRITES = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        n = x.size(0) // 3
        return x[:n], x[n : 2 * n] * 2.0, x[2 * n :] * 3.0


def scaled(layer, y):
    return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * layer.norm.weight
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
    assert (found.exporter, words_of(found)) == ("dynamo", {6: "needed", 11: "obsolete"})
    assert "Held against torch 2.8.0, dynamo, its own opset." in decide(found)


@pytest.mark.parametrize("call", ["torch.onnx.export(m, a, 'f')", "torch.onnx.utils.export(m, a, 'f')"])
def test_a_call_without_dynamo_is_by_torchscript_before_the_default_changed(scanned, call):
    found = scanned(f"{REWRITES}\n\n{call}\n", torch=["2.8.0"])
    assert words_of(found) == {6: "obsolete", 11: "needed"}


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
    assert words_of(found) == {6: "needed", 11: "needed"}
    assert f"Held against torch 2.8.0, {said}, its own opset." in decide(found)
    first = next(item for item in found.findings if item.site.line == 6)
    assert "by dynamo: needed at torch 2.8.0" in first.statement
    assert "obsolete at torch 2.8.0" in first.statement
    assert any("each place is held against both" in note for note in found.notes)
    # whoever asks for one exporter has the word of that one
    assert words_of(scanned(f"{REWRITES}\n\n{lines}", torch=["2.8.0"], exporter="dynamo"))[11] == "obsolete"


def test_a_release_without_the_projects_exporter_is_looked_at_by_its_own(scanned):
    found = only(scanned(f"import torch\n{CROSS}\n{BY_DYNAMO[0]}\n", torch=["1.10.2", "2.8.0"]), "known-workaround")
    assert found.statement == "needed at torch 1.10.2, obsolete at torch 2.8.0"


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


def test_an_argument_that_is_gone_is_harmful_where_it_is_gone_and_no_finding_before(scanned):
    text = "import torch\ntorch.onnx.export(m, a, 'f', enable_onnx_checker=False, export_params=True, verbose=True)\n"
    gone = only(scanned(text, torch=["2.8.0"]), "export-argument")
    assert (gone.site.name, gone.word.value) == ("enable_onnx_checker", "harmful")
    assert [item.case for item in gone.evidence] == ["export-argument-enable-onnx-checker"]
    assert scanned(text, torch=["1.8.1"]).findings == ()


def test_a_gone_argument_behind_a_comparison_with_torchs_version_is_given_to_other_releases(scanned):
    text = "import torch\nmore = {}\nif torch.__version__ < '1.11':\n    more['enable_onnx_checker'] = False\n"
    assert not [
        item
        for item in scanned(f"{text}torch.onnx.export(m, a, 'f', **more)\n", torch=["2.8.0"]).findings
        if item.is_setting
    ]


def test_every_gone_argument_has_a_case(results):
    from caniexport.answers.select import load

    assert set(sites.GONE.values()) <= set(load(results).catalogue)


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("hardswish", "obsolete at torch 2.1.2 to 2.8.0, unknown at torch 2.9.1 to 2.15.0"),
        ("tril", "no measured case applies to this"),
    ],
)
def test_a_rule_is_not_judged_where_a_release_was_not_measured(scanned, name, statement):
    rule = f"""
import torch
from torch.onnx import register_custom_op_symbolic
register_custom_op_symbolic("aten::{name}", rule, 11)
torch.onnx.export(m, a, "f", opset_version=11)
"""
    found = scanned(rule, torch=[">=2.1"])
    (finding,) = workarounds(found)
    assert (finding.word.value, finding.statement) == ("unknown", statement)
    assert "1 workaround: 1 cannot be judged." in decide(found)


def test_that_an_argument_is_gone_is_told_of_releases_that_were_not_asked_for_the_opset(scanned):
    found = scanned(
        "import torch\ntorch.onnx.export(m, a, 'f', opset_version=11, enable_onnx_checker=False)\n", torch=[">=2.1"]
    )
    argument = next(item for item in found.findings if item.site.name == "enable_onnx_checker")
    assert argument.statement.endswith("harmful at torch 2.7.1 to 2.15.0")


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


def test_a_function_that_writes_nodes_of_its_own_domain_is_for_another_backend(scanned):
    text = """
import torch


class Boxes(torch.autograd.Function):
    def forward(ctx, boxes):
        return boxes

    def symbolic(g, boxes):
        return g.op("mmdeploy::NMS", boxes)
"""
    item = only(scanned(text, torch="2.15.0"), "custom-symbolic")
    assert (item.word.value, item.is_measured) == ("unknown", False)
    assert "it is for mmdeploy" in item.statement


@pytest.mark.parametrize("own", ["tex.gemm_inf", "aten.cdist"])
def test_a_rule_in_a_translation_table_is_found_with_its_operator(scanned, own):
    text = f"""
import torch  # onnx


def gemm(x, w):
    return op.Gemm(x, w)


TABLE = {{torch.ops.{own}.default: gemm}}
"""
    site = only(scanned(text, torch="2.15.0"), "custom-symbolic").site
    assert (site.name, bool(site.fixes)) == (own.replace(".", "::"), own.startswith("tex"))


def test_what_does_harm_in_export_calls_is_the_first_sentence(scanned):
    calls = "".join(f"torch.onnx.export(m, a, 'f', opset_version={opset})\n" for opset in (97, 98))
    said = decide(scanned(f"import torch\n{calls}", torch=["1.10.2"]))
    assert said.startswith("Harmful in export calls: opset_version=97, opset_version=98. No workaround was found. ")


def test_exporters_that_take_different_opsets_are_compared_each_at_one_that_it_takes(scanned):
    text = "import torch\ntorch.onnx.export(m, a, 'f', dynamo=False, opset_version=11)\n"
    found = only(scanned(text, torch=["2.15.0"]), "dynamo-pin")
    texts = {item.text for item in found.evidence}
    assert texts == {"works with the TorchScript exporter only", "works with dynamo only"}
    assert "(opset 11)" in found.statement
    assert "(opset 20)" in found.statement
