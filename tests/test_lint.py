"""``caniexport case --lint``: what the linter finds in case files, and the stub of a new case."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from caniexport.cli import main
from caniexport.corpus.claim_files import read_documents
from caniexport.corpus.lint import KnownNames, lint, read_torch_operators
from caniexport.corpus.stub import add_stub
from caniexport.model import corpus as corpus_module

ROOT = Path(__file__).resolve().parent.parent
KNOWN = KnownNames(frozenset({"aten::cross", "aten::add"}), frozenset({"Add"}))

CASE = """
from caniexport.model.case import Case, fix
from caniexport.model.tensors import f32, values

class RollNegative(Case):
    "A roll by a negative shift"
    sources = ("pytorch/pytorch#1",)
    aten_ops = ("aten::cross",)
    onnx_ops = ("Add",)
    inputs = ((f32(2),), (f32(3),))

    def forward(self, x):
        return x

    other = fix("raise-opset", "at 11", opset=11)
"""


CLAIM = """
[[roll-negative.claims]]
source = "pytorch/pytorch#1"
says = "it fails"
status = "fail"
"""


def findings(tmp_path, text, graphs=None, claim=CLAIM):
    file = tmp_path / "rolls.py"
    file.write_text(text)
    (tmp_path / "claims").mkdir(exist_ok=True)
    (tmp_path / "claims" / "rolls.toml").write_text(claim)
    corpus = corpus_module.load([file], stand_in=True)
    return [(item.rule, item.text) for item in lint(corpus, read_documents(corpus), KNOWN, graphs or {})]


def test_a_case_in_order_has_no_finding(tmp_path):
    assert findings(tmp_path, CASE) == []


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("@torch.jit.script\ndef f(x):\n    return x\n", ["torch.jit", "torch.jit.script"]),
        ("def f(x=torch.float8_e4m3fn):\n    return x\n", ["torch.float8_e4m3fn"]),
        ("ONE = torch.ones(1)\n", ["torch.ones"]),
        ("class F(torch.autograd.Function):\n    pass\n", []),
        ("LATER = lambda: torch.export.Dim\n", []),
        ("def f(x):\n    return torch.jit.script(x)\n", []),
    ],
)
def test_a_case_file_uses_nothing_of_torch_while_it_is_imported(tmp_path, written, said):
    """Two scripted helpers, in two files, once kept every case from being measured on torch 1.0 to 1.8."""
    found = findings(tmp_path, "import torch\n" + CASE + "\n" + written)
    assert [text.split(": ")[1].split(" ")[0] for rule, text in found if rule == "import"] == said


def test_a_state_of_a_source_that_no_case_names_is_found(tmp_path):
    states = tmp_path / "upstream.csv"
    states.write_text("source,kind,state,as_of,seen\npytorch/pytorch#11,issue,closed,,2026-11-22\n")

    assert findings(tmp_path, CASE) == [
        ("upstream", "no case names pytorch/pytorch#11 (nearest: pytorch/pytorch#1)"),
    ]


def test_operators_that_no_exporter_has_a_rule_for_are_known_as_torchs():
    known = read_torch_operators(ROOT / "cases")

    assert {"aten::kthvalue", "aten::histc", "aten::cross"} <= known
    assert "aten::crosss" not in known


@pytest.mark.parametrize(
    ("old", "new", "rule", "words"),
    [
        ('"pytorch/pytorch#1",)', '"an issue somewhere",)', "source", "'an issue somewhere' is none of"),
        ('"aten::cross"', '"aten::crosss"', "operator", "torch has no operator aten::crosss"),
        ('"aten::cross"', '"cross"', "operator", "as torch names it, aten::cross"),
        ('("Add",)', '("Addd",)', "operator", "ONNX has no operator Addd"),
        ("(f32(2),), (f32(3),)", "(values([1.0], 'float32'),), (values([1.0], 'float32'),)", "inputs", "same values"),
        ("(f32(3),))", "(f32(2),)); dynamic = {'x': {0: 'n'}}", "inputs", "same shapes"),
        ('    other = fix("raise-opset", "at 11", opset=11)', "", "fix", "without a fix beside it"),
        ('"A roll by a negative shift"', '"Roll"', "title", "one sentence"),
        ('"at 11"', '"TODO: what it does"', "unfinished", "'TODO: what it does' is still to be written"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_rule(tmp_path, old, new, rule, words):
    assert CASE.count(old) >= 1
    found = findings(tmp_path, CASE.replace(old, new))

    assert [name for name, _ in found] and {name for name, _ in found} == {rule}
    assert words in found[0][1]


def test_an_id_that_is_not_in_kebab_case_is_found(tmp_path):
    ((rule, text),) = findings(tmp_path, CASE.replace("RollNegative", "RollNegative_"), claim="")

    assert (rule, text.partition(":")[0]) == ("id", "write it in kebab case")


@pytest.mark.parametrize(
    ("more", "rule", "words"),
    [
        ('why_not = "contradicted"', "claim", "'it fails' is contradicted without a finding that shows it"),
        ('[[roll-negative.claims]]\nsource = "a/b#1"\nsays = "TODO: it"', "unfinished", "'TODO: it' is still to be"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said_with_its_rule(tmp_path, more, rule, words):
    ((name, text),) = findings(tmp_path, CASE, claim=CLAIM + more + "\n")

    assert name == rule
    assert words in text


def test_two_cases_with_the_same_graphs_are_one_unless_they_say_why_not(tmp_path):
    second = CASE[CASE.index("class RollNegative") :].replace("RollNegative", "RollTwice")
    same = {("torchscript-trace", 9): "abc", ("dynamo", 18): "def"}
    graphs = {"roll-negative": same, "roll-twice": same}

    found = findings(tmp_path, CASE + second, graphs)
    assert found[0][0] == "same-graph"
    assert "roll-negative in all 2 cells" in found[0][1]

    one_differs = {**graphs, "roll-twice": {**same, ("dynamo", 18): "another"}}
    assert findings(tmp_path, CASE + second, one_differs) == []
    waived = second.replace("    inputs", '    same_graph_as = ("roll-negative",)\n    inputs')
    assert findings(tmp_path, CASE + waived, graphs) == []


def test_the_corpus_is_in_order():
    reply = CliRunner().invoke(main, ["case", "--lint", "--json"], env={"CANIEXPORT_HOME": str(ROOT)})

    assert json.loads(reply.stdout)["findings"] == []
    assert reply.exit_code == 0


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Two files of the corpus with their claims."""
    folder = tmp_path / "home"
    (folder / "cases" / "claims").mkdir(parents=True)
    for name in ("geometry.py", "indexing.py", "claims/geometry.toml", "claims/indexing.toml"):
        shutil.copy(ROOT / "cases" / name, folder / "cases" / name)
    monkeypatch.setenv("CANIEXPORT_HOME", str(folder))
    return folder


@pytest.mark.parametrize(("theme", "file"), [("indexing", "indexing.py"), ("signal-windows", "signal_windows.py")])
def test_the_stub_of_a_new_case_is_a_case(home, theme, file):
    reply = CliRunner().invoke(main, ["case", "--new", "roll-at-9x", "--theme", theme, "--source", "pytorch/pytorch#7"])

    assert reply.exit_code == 0, reply.output
    assert "caniexport measure --case roll-at-9x --release" in reply.output
    loaded = corpus_module.load([home / "cases"], stand_in=True)["roll-at-9x"]
    assert loaded.path.name == file
    assert list(loaded.variants) == ["plain", "rewritten"]
    assert loaded.cls.sources == ("pytorch/pytorch#7",)
    assert (home / "cases" / "claims" / file.replace(".py", ".toml")).is_file()


def test_a_stub_imports_what_it_uses_into_a_file_that_imports_nothing(home):
    (home / "cases" / "loops.py").write_text('"""Loops."""\n', encoding="utf-8")

    add_stub(home / "cases", "roll-at-9x", "loops", "pytorch/pytorch#7")

    assert "roll-at-9x" in corpus_module.load([home / "cases"], stand_in=True)


def hashes(corpus, cases):
    return {
        f"{case}/{name}": corpus[case].case_hash(name)
        for case in cases
        for name in [*corpus[case].variants, *corpus[case].environment_variants]
    }


def test_a_stub_goes_into_any_file_of_the_corpus_and_changes_no_other_case(tmp_path):
    home = tmp_path
    shutil.copytree(
        ROOT / "cases", home / "cases", ignore=shutil.ignore_patterns("__pycache__", "operators", "*.jsonl")
    )
    files = sorted(path.name for path in (home / "cases").glob("*.py") if not path.name.startswith("_"))
    before = corpus_module.load([home / "cases"], stand_in=True)

    for number, file in enumerate(files):
        add_stub(
            home / "cases", f"another-form-{number}", file.removesuffix(".py").replace("_", "-"), "pytorch/pytorch#7"
        )

    after = corpus_module.load([home / "cases"], stand_in=True)
    made = sorted(set(after) - set(before), key=lambda case: int(case.rsplit("-", 1)[1]))
    assert [after[case].path.name for case in made] == files
    assert all(list(after[case].variants) == ["plain", "rewritten"] for case in made)
    assert hashes(after, before) == hashes(before, before)
    line = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,I"]
    line += ["--config", "lint.isort.known-first-party = ['caniexport']", home / "cases"]
    ruff = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ruff.returncode == 0, ruff.stdout
    imports = [line for file in files for line in (home / "cases" / file).read_text().splitlines() if "import" in line]
    assert all(len(line) <= 120 for line in imports)


def contents(home):
    return {path: path.read_bytes() for path in (home / "cases").rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("identifier", "theme", "source", "words"),
    [
        ("cross-no-symbolic", "geometry", "a/b#1", "there is a case cross-no-symbolic already, in geometry.py"),
        ("Roll", "geometry", "a/b#1", "'Roll' cannot be a case id"),
        ("roll", "../away", "a/b#1", "'../away' cannot be a theme"),
        ("roll", "geometry", 'a", __import__("os").getcwd(), "', "cannot be a source"),
        ("roll", "geometry", "half a pair \udcff", "cannot be a source"),
    ],
)
def test_a_stub_that_cannot_be_is_refused_and_nothing_is_written(home, identifier, theme, source, words):
    before = contents(home)
    reply = CliRunner().invoke(main, ["case", "--new", identifier, "--theme", theme, "--source", source])

    assert reply.exit_code in (1, 2)
    assert words in reply.output
    assert contents(home) == before


def test_a_case_file_that_ends_the_program_ends_no_command_in_silence(home):
    (home / "cases" / "ending.py").write_text("raise SystemExit(0)\n")

    reply = CliRunner().invoke(main, ["case", "--lint"])

    assert reply.exit_code == 2
    assert "ending.py: a case file may not end the program: SystemExit: 0" in reply.output
