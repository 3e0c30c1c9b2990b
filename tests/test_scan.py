"""Source trees: each kind of finding, held against the published rows at the level of the command."""

from __future__ import annotations

import ast
import json

import pytest
from click.testing import CliRunner

from caniexport import scan_source
from caniexport.answers.answer import as_json
from caniexport.cli import main
from caniexport.scan import gates, patterns

pytestmark = pytest.mark.usefixtures("opened_once")

CROSS = """
import torch as t

def turned(self, first, second):
    a, b, c = first.unbind(1)
    d, e, f = second.unbind(1)
    return t.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim=1)
"""
SYMBOLIC = """
import torch
from torch.onnx import register_custom_op_symbolic as register

register("aten::cross", lambda g, *_: None, 11)
"""


@pytest.fixture
def scanned(tmp_path, results):
    """The tables of a scan of a tree of one file, by title, and the whole answer."""

    def run(text, **asked):
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        answer = scan_source(results, tmp_path, **asked)
        assert len(answer.verdict) <= 100
        return {table["title"]: table["rows"] for table in as_json(answer)["tables"]}, answer

    return run


def words(rows):
    return [(row["place"]["line"], row["verdict"]["word"]) for row in rows]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ('"1.12" <= torch.__version__', "torch >= 1.12"),
        ('packaging.version.Version(torch.__version__) == Version("2.0")', "torch == 2.0"),
        ('parse(torch.__version__.split("+")[0]) > parse("1.6")', "torch > 1.6"),
        ('digit_version(TORCH_VERSION) >= digit_version("1.10.0")', "torch >= 1.10.0"),
        ('tuple(map(int, torch.__version__.split(".")[:2])) >= (1, 8)', "torch >= 1.8"),
        ('[int(x) for x in torch_version.split(".")] >= [1, 8]', "torch >= 1.8"),
        ('int(torch.__version__.split(".")[0]) >= 2', "torch >= 2"),
        ("float(torch.__version__[:3]) < 1.7", "torch < 1.7"),
        ('torch.__version__.startswith("1.")', "torch == 1"),
        ('not torch.__version__ >= "1.12"', "torch < 1.12"),
        ("parse(torch.__version__).major < 2", "torch < 2"),
        ("v.major == 1 and v.minor < 10", "torch < 1.10"),
        ("is_torch_greater_or_equal_than_2_1", "torch >= 2.1"),
        ('is_torch_version("<", "1.12")', "torch < 1.12"),
        ('compare_version("torch", operator.ge, "1.12.0")', "torch >= 1.12.0"),
        ('check_version(torch.__version__, "1.10.0")', "torch >= 1.10.0"),
        ("TORCH_MAJOR > 1 or (TORCH_MAJOR == 1 and TORCH_MINOR >= 8)", "torch >= 1.8"),
        ('is_in_onnx_export() and torch.__version__ < "1.12"', "torch < 1.12"),
        ('not (exported and parse(torch.__version__) >= parse("1.12"))', "torch < 1.12"),
        ('"1.8" in torch.__version__', "torch == 1.8"),
        ("(1, 8) <= TORCH_VERSION < (1, 12)", "torch >= 1.8, torch < 1.12"),
        ('(torch.__version__ < "1.12" and a) or not torch.__version__ >= "1.9"', "torch < 1.12, torch < 1.9"),
    ],
)
def test_a_gate_is_understood_in_the_forms_in_which_it_is_written(test, said):
    derived = frozenset({"v"})
    found = gates.conditions(ast.parse(test, mode="eval").body, {}, derived)
    assert ", ".join(one.text for one in found) == said


@pytest.mark.parametrize(
    "test",
    [
        'torchvision.__version__ < "0.12"',
        '"1.8" in torchvision.__version__',
        'torch.__version__ == "parrots"',
        "parse(torch.__version__).minor < 10",
        'int(torch.__version__.split(".")[1]) < 10',
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


@pytest.mark.published
@pytest.mark.parametrize(
    ("torch", "line", "said"),
    [
        ("2.8", "Remove 1 of 1 workaround found at torch 2.8.0.", "stack_rewrite  ○ remove  1.12.1"),
        ("1.10.2", "Keep 1 of 1 workaround found at torch 1.10.2.", "stack_rewrite  ● keep"),
    ],
)
def test_a_copied_workaround_is_named_with_what_to_do_and_since_when(tmp_path, torch, line, said):
    (tmp_path / "model.py").write_text(CROSS, encoding="utf-8")
    reply = CliRunner().invoke(main, ["scan", str(tmp_path), "--torch", torch, "--exporter", "trace"])
    assert reply.exit_code == 0, reply.output
    assert reply.stdout.splitlines()[0] == line
    assert f"{tmp_path}/model.py:7  {said}" in reply.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import torch.nn.functional as F\ny = x * F.relu6(x + 3.0) / 6",
        "from torch.nn import functional as fn\ny = (x * fn.relu6((x + 3.)) /\n 6.)",
        "import torch\ny = x * torch.nn.functional.relu6(x + 3, inplace=True) / 6",
        "from torch import nn\ny = x * (nn.functional.relu6(x + 3) / 6)",
        "from torch.nn.functional import relu6\nfor y in x * relu6(x + 3) / 6:\n    pass",
        "from torch import nn\nclass A:\n    def __init__(self):\n        self.r = nn.ReLU6(inplace=True)\n"
        "    def forward(self, x):\n        return x * self.r(x + 3) / 6",
    ],
)
def test_a_rule_knows_a_name_however_it_is_imported(scanned, code):
    tables, _ = scanned(f"{code}\n", torch=["2.8.0"])
    assert [row["case"] for row in tables["workarounds"]] == ["hardswish-no-rule"]
    assert words(tables["workarounds"]) == [(2, "obsolete")]


@pytest.mark.parametrize(
    "code",
    [
        "from mine import functional as F\ny = x * F.relu6(x + 3) / 6",
        "import torch.nn.functional as F\ny = x * F.relu6(z + 3) / 6",
        "import torch.nn.functional as F\ny = 'x * F.relu6(x + 3) / 6'  # x * F.relu6(x + 3) / 6",
        "import torch\nrows = torch.eye(3)[None]\nmore = torch.eye(n)[:: n // 2]",
    ],
)
def test_what_is_not_the_workaround_is_none(scanned, code):
    tables, answer = scanned(f"{code}\n", torch=["2.8.0"])
    assert "workarounds" not in tables
    assert answer.verdict == "No known workaround found at torch 2.8.0."


def test_every_rule_is_about_a_workaround_of_the_corpus(results):
    known = set(results.grouped(("case", "variant"), {}))
    assert {(rule.case, rule.variant) for rule in patterns.rules()} <= known


def test_a_marker_is_judged_whatever_its_code_and_an_unknown_one_is_named(scanned):
    text = "import torch\n# caniexport: cross-no-symbolic/stack_rewrite\nx = own(x)\n# caniexport: cros/by_hand\n"
    tables, answer = scanned(text, torch=["2.8.0"], exporter="trace")
    assert words(tables["workarounds"]) == [(2, "obsolete"), (4, "unknown")]
    assert any("model.py:4: unknown workaround 'cros/by_hand' (nearest: " in note for note in answer.notes)
    marked = CROSS.replace("    return", "    # caniexport: cross-no-symbolic/stack_rewrite\n    return")
    assert len(scanned(marked, torch=["2.8.0"])[0]["workarounds"]) == 1


def test_a_registered_symbolic_is_needed_where_its_operator_has_none(scanned):
    for torch, word in (("1.10.2", "needed"), ("2.8.0", "obsolete")):
        tables, _ = scanned(SYMBOLIC, torch=[torch], exporter="trace")
        assert words(tables["workarounds"]) == [(5, word)]
    unknown = SYMBOLIC.replace("aten::cross", "mmcv::nms")
    assert words(scanned(unknown, torch=["2.8.0"])[0]["workarounds"]) == [(5, "unknown")]


def test_what_the_oldest_release_needs_stays(scanned):
    tables, answer = scanned(CROSS, torch=[">=1.10,<=2.8"], exporter="trace")
    (row,) = tables["workarounds"]
    assert (row["verdict"], row["since"]) == ({"word": "needed", "text": "remove with torch>=1.12.1"}, "1.12.1")
    assert answer.verdict == "Keep 1 of 1 workaround found at torch 1.10.2 to 2.8.0."


def test_a_gate_is_held_against_the_releases_that_the_project_takes(tmp_path, results):
    (tmp_path / "versions.py").write_text("import torch\nNEW = torch.__version__ >= (2, 0)\n", "utf-8")
    (tmp_path / "use.py").write_text("from versions import NEW  # torch\nx = 1 if NEW else 2\n", "utf-8")
    for torch, holds in (("1.13.1", "never true"), ("2.8", "always true"), (">=1.13,<2.2", "true at some")):
        (table,) = as_json(scan_source(results, tmp_path, torch=[torch]))["tables"]
        (row,) = table["rows"]
        assert (table["title"], row["condition"], row["at these releases"]) == ("version gates", "torch >= 2.0", holds)


def test_a_branch_on_exporting_is_listed(scanned):
    text = "import torch\nfrom torch.onnx import is_in_onnx_export as ask\nif not ask() and x:\n    x = 1\n"
    assert [row["place"]["line"] for row in scanned(text)[0]["branches on exporting"]] == [3]
    assert "branches on exporting" not in scanned("import torch\nif self.onnx_trace:\n    x = 1\n")[0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("torch.onnx.export(m, a, 'f', dynamo=False, opset_version=17)", "dynamo=False, opset_version=17"),
        ("torch.onnx.dynamo_export(m, a)", "dynamo=True"),
        ("torch.onnx.export(torch.export.export(m, a))", "dynamo=True"),
        ("partial(torch.onnx.export, opset_version=OPSET)(m, a)\nOPSET = 17", "dynamo=False, opset_version=17"),
        ("p.add_argument('--opset', default=17)\ntorch.onnx.export(m, a, opset_version=args.opset)",
         "dynamo=False, opset_version=17"),
        ("more = dict(opset_version=17, dynamo=False)\ntorch.onnx.export(m, a, **more)",
         "dynamo=False, opset_version=17"),
        ("torch.onnx.export(m, a, 'f')", "the default call"),
        ("torch.onnx.export(m, a, 'f', dynamo=True)\ntorch.onnx.export(m, a, 'f', dynamo=False)",
         "dynamo=True and dynamo=False"),
    ],
)  # fmt: skip
def test_workarounds_are_judged_by_what_the_export_calls_name(scanned, call, said):
    _, answer = scanned(f"import torch\n{call}\n", torch=["2.8.0"])
    assert f"export by {said}" in answer.notes


def test_what_one_of_the_projects_exporters_needs_stays(scanned):
    calls = "t.onnx.export(m, a, 'f', dynamo=True)\nt.onnx.export(m, a, 'f', dynamo=False)\n"
    (both,) = scanned(CROSS + calls, torch=["2.0.1"])[0]["workarounds"]
    (trace,) = scanned(CROSS, torch=["2.0.1"], exporter="trace")[0]["workarounds"]
    assert (both["verdict"]["word"], trace["verdict"]["word"]) == ("unknown", "obsolete")


@pytest.mark.parametrize(
    ("given", "torch", "said"),
    [
        ("opset_version=30", "2.8.0", "opset_version=30: not in torch 2.8.0"),
        ("example_outputs=y", "2.8.0", "example-outputs-argument-removed"),
        ("example_outputs=y", "1.8.1", None),
        ("opset_version=17", "2.8.0", None),
    ],
)
def test_an_export_call_that_a_release_refuses_is_the_first_thing_to_fix(scanned, given, torch, said):
    call = f"torch.onnx.export(m, a, 'f', {given})"
    tables, answer = scanned(f"import torch\n{call}\n", torch=[torch])
    assert [row["argument"] for row in tables.get("export calls that fail", ())] == ([said] if said else [])
    assert answer.verdict.startswith("Fix 1 export call at") is bool(said)
    gated = f"import torch\nif torch.__version__ < '1.9':\n    {call}\n"
    assert "export calls that fail" not in scanned(gated, torch=[torch])[0]


@pytest.mark.published
def test_json_has_every_place_and_a_verdict_can_stop_a_build(tmp_path):
    (tmp_path / "model.py").write_text(SYMBOLIC, encoding="utf-8")
    asked = ["scan", str(tmp_path / "model.py"), "--torch", "2.8", "--exporter", "trace"]
    found = json.loads(CliRunner().invoke(main, [*asked, "--json"]).stdout)
    (table,) = found["tables"]
    assert table["rows"][0]["place"] == {"path": str(tmp_path / "model.py"), "line": 5}
    stopped = CliRunner().invoke(main, [*asked, "--fail-on", "obsolete"])
    assert (stopped.exit_code, "Exit 1, by --fail-on: " in stopped.stderr) == (1, True)
    assert CliRunner().invoke(main, [*asked, "--fail-on", "harmful"]).exit_code == 0
