"""Texts of rows and cases in scripts: whatever they hold, they add no line of code, and every script is a script."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from caniexport.model import corpus
from caniexport.model.errors import StoreError
from caniexport.model.tensors import f32
from caniexport.reproduce.values import format_value
from caniexport.reproduce.write import ShownCell, write_script

CASES = '''
from caniexport.model.case import Case, EnvironmentCase, fix
from caniexport.model.tensors import f32


class Hostile(Case):
    """A title with \\"\\"\\" and \\\\ in it

    More.
    """
    sources = ("caniexport",)
    inputs = (({"a\\nPLANTED = 1": f32(2)},), ({"a\\nPLANTED = 1": f32(3)},))
    dynamic = {"x": {0: 'batch")\\nPLANTED = 1\\n("'}}

    def setup(self):
        self.weight = None

    def forward(self, x):
        return x

    @fix("rewrite", "a note\\nPLANTED = 1\\n\\"\\"\\"\\nPLANTED = 2\\0")
    def other(self, x):
        return x + 0


class Packages(EnvironmentCase):
    """Packages"""
    sources = ("caniexport",)
    packages = ('numpy==1.0"\\nPLANTED = 1\\n# "',)
    code = "import numpy"
'''

HOSTILE = [
    'a"""\nPLANTED = 1\n"""',
    "a'''\nPLANTED = 1\n'''",
    '\\"""\nPLANTED = 1',
    'x"\nPLANTED = 1\n"',
    "\\",
    '"',
    "\\N{DIGIT ONE}\\x41\\",
    "a\0b",
    "half \udcff of a pair \ud800",
    "\r\nPLANTED = 1\r\n",
    "\x0b\x0c\x1c\x85\u2028PLANTED = 1\u2029",
    "# ///\nPLANTED = 1\n# /// script",
    "{case} {0} %s {",
    "größe ✓ 🙂",
    "\x1b[31mred",
    "\u202eder",
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "hostile.py"
    path.write_text(CASES)
    return corpus.load([path], stand_in=True)


def shown(variant="plain", **changes):
    given = {
        "torch": "2.8.0",
        "python": "3.12",
        "exporter": "dynamo",
        "opset": 18,
        "stage": "done",
        "status": "pass",
        "packages": {"torch": "2.8.0+cpu"},
    }
    return ShownCell(variant, **{**given, **changes})


#: statuses whose script runs the cell in a process of its own: it has other lines, on purpose
_OTHER_SCRIPTS = {"crash", "timeout"}


def code_of(text):
    """The statements of a script without its docstring and what it holds as measured."""
    path = Path("script.py")
    tree = ast.parse(text.encode("utf-8"), str(path))
    body = [node for node in tree.body[1:] if "MEASURED" not in {name.id for name in _names(node)}]
    assert isinstance(tree.body[0].value, ast.Constant)
    assert "PLANTED" not in {name.id for name in _names(tree)}
    return [ast.dump(node) for node in body]


def _names(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def metadata(text):
    """What a runner reads: the block as PEP 723 has it."""
    (found,) = re.findall(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$", text)
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in found[1].splitlines(keepends=True))
    return tomllib.loads("".join(lines))


@pytest.mark.parametrize("field", ["message", "status", "stage", "measured_at", "python"])
@given(text=st.text().filter(lambda text: text not in _OTHER_SCRIPTS))
@settings(max_examples=15)
@example(HOSTILE[0])
@example(HOSTILE[3])
@example(HOSTILE[7])
@example(HOSTILE[8])
@example(HOSTILE[9])
@example(HOSTILE[10])
@example(HOSTILE[11])
def test_no_text_of_a_row_changes_a_line_of_code(cases, field, text):
    expected = write_script(cases["hostile"], shown("other"))

    found = write_script(cases["hostile"], shown("other", **{field: text}))

    assert code_of(found) == code_of(expected)
    assert metadata(found)["dependencies"] == ["torch==2.8.0"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_or_version_of_a_package_becomes_more_than_a_requirement(cases, text):
    packages = {"torch": "2.8.0+cpu", text: "1.0", "odd": text, "far": "1.0 @ https://example.org/x.whl", "none": None}

    found = write_script(cases["hostile"], shown(packages=packages))

    assert metadata(found)["dependencies"] == ["torch==2.8.0"]
    assert code_of(found) == code_of(write_script(cases["hostile"], shown()))
    assert "Left out of the pins" in found
    assert "far" in found


@pytest.mark.parametrize("variant", ["plain", "other"])
@pytest.mark.parametrize(
    ("exporter", "torch"), [("dynamo", "2.5.1"), ("dynamo", "2.8.0"), ("torchscript-trace", "2.8.0")]
)
def test_texts_of_a_case_stay_texts(cases, variant, exporter, torch):
    text = write_script(cases["hostile"], shown(variant, exporter=exporter, torch=torch))

    code_of(text)
    assert "\0" not in text
    assert ("a note" in text) == (variant == "other")


def test_a_package_of_an_environment_case_is_one_requirement(cases):
    found = write_script(cases["packages"], shown(torch="", exporter="", opset=None))

    assert metadata(found)["dependencies"] == ['numpy==1.0"\nPLANTED = 1\n# "']
    assert [type(node) for node in ast.parse(found).body] == [ast.Expr, ast.Import]


@pytest.mark.parametrize("torch", ["", "2", "two", "2.x", "2.8\nPLANTED = 1 #"])
def test_a_row_of_no_release_is_refused_or_named_as_it_is(cases, torch):
    try:
        code_of(write_script(cases["hostile"], shown(torch=torch)))
    except StoreError as error:
        assert "is no release" in str(error)


def test_a_provider_nobody_knows_is_refused_with_those_that_are_known(cases):
    with pytest.raises(StoreError, match=r"provider is 'cpu\"\]\)'.*cuda"):
        write_script(cases["hostile"], shown(provider='cpu"])'))


@given(st.text())
@example('"""')
@example("\\")
@example("\ud800")
@example("🙂 \u2028 \0")
def test_a_text_is_read_back_as_it_was(text):
    said = format_value(text)

    assert ast.literal_eval(said) == text
    said.encode("utf-8")
    ast.parse(format_value(f32(2), seed=text))
