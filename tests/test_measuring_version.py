"""The measuring code's version is raised when the code changes: otherwise old rows would pass for new ones."""

from __future__ import annotations

import ast
import hashlib
import sys
from pathlib import Path

from harness.worker.casehash import canonical
from harness.worker.rows import MEASURING_VERSION

WORKER = Path(__file__).resolve().parent.parent / "harness" / "worker"
LOCK = Path(__file__).with_name("measuring.lock")
#: what decides a row's content; scheduling, journals and progress do not
MODULES = (
    "cell",
    "compare",
    "exporters",
    "keeping",
    "messages",
    "onnx_file",
    "runtimes",
    "sharing",
    "subject",
    "tensors",
    "warm",
)


def line() -> str:
    """The version and a hash over the syntax trees of the measuring modules: comments and layout do not count."""
    trees = [canonical(ast.parse((WORKER / f"{name}.py").read_text(encoding="utf-8"))) for name in MODULES]
    return f"{MEASURING_VERSION} {hashlib.sha256(chr(10).join(trees).encode()).hexdigest()[:16]}"


def test_the_measuring_code_is_that_of_its_version():
    assert line() == LOCK.read_text(encoding="utf-8").strip(), (
        "the measuring code has changed: raise MEASURING_VERSION (harness/worker/rows.py) unless no row can change by "
        "it, then run `python tests/test_measuring_version.py` to note it"
    )


if __name__ == "__main__":
    LOCK.write_text(line() + "\n", encoding="utf-8")
    sys.stdout.write(f"{LOCK.name}: {line()}\n")
