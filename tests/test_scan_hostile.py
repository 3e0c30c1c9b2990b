"""Files that no scan can read: each is named with the reason, none stops the scan or takes more than seconds."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from click.testing import CliRunner

from caniexport import scan_source
from caniexport.answers.answer import as_json
from caniexport.cli import main
from caniexport.scan import sites

pytestmark = pytest.mark.usefixtures("opened_once")

GOOD = 'import torch\nif torch.__version__ < "1.12":\n    pass\n'
DEEP = "nested more deeply than can be read"
CODING = "its text is not in the encoding that it names, or UTF-8"

#: files with torch in them by what they are called, and the reason that is given
UNREADABLE = {
    "chain.py": ("import torch\nx = a" + ".b" * 20_000, DEEP),
    "calls.py": ("import torch\nx = a" + ".b()" * 20_000, DEEP),
    "sum.py": ("import torch\nx = " + "+".join(["1"] * 20_000), DEEP),
    "minus.py": ("import torch\nx = " + "-" * 50_000 + "1", DEEP),
    "lambdas.py": ("import torch\nx = " + "lambda: " * 20_000 + "1", DEEP),
    "elif.py": ("import torch\nif torch: pass\n" + "elif torch.__version__ < '1': pass\n" * 5000, DEEP),
    "longer.py": ("if torch.x(" + "+".join(["a.b"] * 700) + "): pass", DEEP),
    "brackets.py": ("import torch\nx = " + "(" * 5000 + ")" * 5000, "does not parse (line 2)"),
    "number.py": ("import torch\nx = " + "9" * 50_000, "does not parse (line 2)"),
    "nul.py": ("import torch\n\0", "does not parse"),
    "large.py": ("# torch\n" + "a" * 100_000_000, "larger than 2 MiB"),
    "latin.py": (b"# torch \xe9\n", CODING),
    "wide.py": ("import torch".encode("utf-16"), None),  # there is no word of torch in its bytes
    "rot13.py": (b"# coding: rot13\nimport torch\n", CODING),
    "hex.py": (b"# coding: hex\nimport torch\n", CODING),
    "none.py": (b"# coding: " + b"x" * 10_000 + b"\nimport torch\n", CODING),
    "undefined.py": (b"# coding: undefined\nimport torch\n", "its coding is undefined, which no source has"),
    "puny.py": (b"# coding: punycode\nimport torch\n" + b"a" * 500_000 + b"-" + b"abcd" * 100_000, "punycode"),
    "escapes.py": (b"# coding: raw_unicode_escape\nimport torch\nx = '\\ud800'\n", "does not parse"),
}

#: files that look as bad and can be read
READABLE = {
    "opset.py": f"torch.onnx.export(m, opset_version=0x{'f' * 9999})",
    "hex.number.py": f"if torch.__version__ >= 0x{'f' * 9999}: pass",
    "tuple.py": f"if torch.__version__ >= (0x{'f' * 9999}, 1): pass",
    "version.py": f"if torch.__version__ < '{'1' * 4000}.2': pass\nif torch.__version__ < '{'1.' * 4000}2': pass",
    "and.py": "if " + " and ".join(["torch.__version__ < '1.2'"] * 300) + ": pass",
    "text.py": "import torch\nx = '" + "a" * 900_000 + "'",
    "lines.py": "import torch" + "\n" * 300_000,
    "comment.py": "import torch\nn = 1  #   torch.export.Dim('n', min=1)\n",
}


def rows_of(answer, title):
    return next((table["rows"] for table in as_json(answer)["tables"] if table["title"] == title), [])


def skipped(answer, tree):
    found = rows_of(answer, "not looked at")
    return {row["place"]["path"].removeprefix(f"{tree}/"): row["reason"] for row in found}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    (tree / "good.py").write_text(GOOD)
    for name, (text, _) in UNREADABLE.items():
        (tree / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, text in READABLE.items():
        (tree / name).write_text(text)
    (tree / "broken.py").symlink_to("/nowhere/at/all")
    (tree / "loop.py").symlink_to("loop.py")
    (tree / "endless.py").symlink_to("/dev/zero")
    os.mkfifo(tree / "pipe.py")
    (tree / os.fsdecode(b"odd\xff.py")).write_bytes(b"import torch\n\0")
    below = os.open(tree, os.O_RDONLY)
    for _ in range(2500):
        os.mkdir("d", dir_fd=below)
        deeper = os.open("d", os.O_RDONLY, dir_fd=below)
        os.close(below)
        below = deeper
    os.close(below)
    yield tree
    subprocess.run(["rm", "-rf", str(tree / "d")], check=True)


def test_what_cannot_be_read_is_named_with_its_reason_and_the_rest_is_judged(tree, results):
    started = time.thread_time()

    found = scan_source(results, tree)

    assert time.thread_time() - started < 60
    reasons = skipped(found, tree)
    for name, (_, why) in UNREADABLE.items():
        assert (why in reasons[name]) if why else name not in reasons, name
    assert "cannot be read" in reasons["loop.py"]
    for name in ("broken.py", "endless.py", "pipe.py"):
        assert reasons[name] == "not a file that can be read"
    assert reasons["odd\\udcff.py"] == "does not parse"
    assert [reason for path, reason in reasons.items() if path.startswith("d/d/")] == [
        "a folder that cannot be read (File name too long)"
    ]
    assert not set(READABLE) & set(reasons)
    gates = [row["place"] for row in rows_of(found, "version gates")]
    assert {"path": f"{tree}/good.py", "line": 2} in gates


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", b"a = " + b"[" * 100_000),
        ("pyproject.toml", b"project = []"),
        ("pyproject.toml", b"[project]\noptional-dependencies = 3"),
        ("pyproject.toml", b"[project.optional-dependencies]\na = 3"),
        ("setup.cfg", b"\xff\xfe"),
        ("setup.cfg", b"no section"),
        ("setup.py", b"x = " + b"(" * 1000),
        ("setup.py", b"x = a" + b".b" * 50_000),
        ("requirements.txt", b"torch" * 30_000_000),
    ],
)
def test_a_projects_file_that_cannot_be_read_is_named(tmp_path, results, name, content):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "model.py").write_text(GOOD)

    found = scan_source(results, tmp_path / "model.py")

    assert any(note.startswith(f"{name}: ") for note in found.notes)
    assert len(rows_of(found, "version gates")) == 1


def test_a_pipe_in_the_place_of_a_projects_file_is_named_and_not_waited_for(tmp_path, results):
    os.mkfifo(tmp_path / "requirements.txt")
    (tmp_path / "requirements-more.txt").symlink_to("/nowhere")
    (tmp_path / "model.py").write_text(GOOD)

    notes = scan_source(results, tmp_path / "model.py").notes

    assert [note.partition(":")[0] for note in notes if "not looked at" in note] == [
        "requirements-more.txt",
        "requirements.txt",
    ]


@pytest.mark.parametrize("name", ["no/such/thing", "x" * 5000, "model.py/below"])
def test_a_path_that_cannot_be_is_answered_in_words(tmp_path, name):
    (tmp_path / "model.py").write_text(GOOD)

    done = CliRunner().invoke(main, ["scan", f"{tmp_path}/{name}"])

    assert isinstance(done.exception, SystemExit) and done.exit_code == 2


def test_a_file_that_the_scan_itself_fails_on_loses_no_other(results, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "typed.py").write_text(
        "import torch\nimport torch.onnx\n\ndef f(x):\n    return torch.sum(x).to(dtype='int64')\n", encoding="utf-8"
    )
    (tree / "odd.py").write_text("import torch\n# onnx\nodd = torch.sum\n", encoding="utf-8")
    assert skipped(scan_source(results, tree), tree) == {}

    look = sites._Finder.look

    def failing(self):
        if self.source.path.endswith("odd.py"):
            raise KeyError("odd")
        return look(self)

    monkeypatch.setattr(sites._Finder, "look", failing)
    assert skipped(scan_source(results, tree), tree) == {
        "odd.py": "cannot be looked through: KeyError in the scan itself"
    }
