"""The hash of a variant changes when what is measured does, and only then."""

import subprocess
from pathlib import Path

import pytest

from caniexport.machine import interpreters
from caniexport.model.casehash import FileHashes

ROOT = Path(__file__).resolve().parent.parent

SOURCE = '''
import torch
from caniexport.model.case import Case, fix
LIMIT = 3

def helper(x):
    """Words."""
    return x[0, 1:2] * LIMIT

class Thing(Case):
    """A title."""
    sources = ("a/b#1",)
    inputs = (1.5, -2, "text", None, ...)

    def forward(self, x):
        return helper(x)

    @fix("rewrite", "one note")
    def other(self, x):
        return x + 1

    later = fix("raise-opset", "another note", opset=11)
'''


def hashes(source):
    found = FileHashes(source)
    return {name: found.variant("Thing", name) for name in ("plain", "other", "later")}


def changed(old, new):
    before, after = hashes(SOURCE), hashes(SOURCE.replace(old, new))
    assert old in SOURCE
    return {name for name in before if before[name] != after[name]}


def test_every_variant_has_its_own_hash():
    assert len(set(hashes(SOURCE).values())) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return helper(x)", "return helper(x)  # a comment"),
        ("    def forward(self, x):\n        return", "    def forward(\n        self, x\n    ):\n\n        return"),
        ("A title.", "Another title."),
        ("Words.", "Other words."),
        ("one note", "a better note"),
        ('("a/b#1",)', '("a/b#1", "c/d#2")'),
    ],
    ids=["comment", "layout", "title", "docstring", "note", "source"],
)
def test_words_and_layout_change_no_hash(old, new):
    assert changed(old, new) == set()


EVERY = {"plain", "other", "later"}


@pytest.mark.parametrize(
    ("old", "new", "variants"),
    [
        ("return helper(x)", "return helper(x) + 1", EVERY),
        ("return x + 1", "return x + 2", {"other"}),
        ("opset=11", "opset=12", {"later"}),
        ("LIMIT = 3", "LIMIT = 4", EVERY),
        ("(1.5, -2,", "(1.5, -3,", EVERY),
    ],
    ids=["failing-form", "fix", "option", "constant-of-a-helper", "inputs"],
)
def test_a_change_changes_the_hash_of_what_reaches_it(old, new, variants):
    assert changed(old, new) == variants


@pytest.mark.parametrize("minor", ["3.7", "3.10", "3.13"])
def test_the_hash_is_the_same_on_every_python(minor, tmp_path):
    python = interpreters.find_python(minor, fetch=False)
    if python is None:
        pytest.skip(f"no Python {minor} on this machine")
    file = tmp_path / "thing.py"
    file.write_text(SOURCE)
    program = (
        "import sys; from caniexport.model.casehash import FileHashes; found = FileHashes(open(sys.argv[1]).read());"
        "print([found.variant('Thing', name) for name in ('plain', 'other', 'later')])"
    )

    reply = subprocess.run(
        [python, "-c", program, file], cwd=ROOT / "harness", capture_output=True, text=True, check=True
    )

    assert reply.stdout.strip() == str(list(hashes(SOURCE).values()))
