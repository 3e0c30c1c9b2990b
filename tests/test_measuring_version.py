"""The measuring code's version is raised when the code changes: otherwise old rows would pass for new ones."""

from __future__ import annotations

import sys
from pathlib import Path

from caniexport.model.rows import MEASURING_VERSION
from caniexport.worker.codehash import hash_measuring_code, hash_sources

LOCK = Path(__file__).with_name("measuring.lock")


def line() -> str:
    """The version and the hash of the measuring code."""
    return f"{MEASURING_VERSION} {hash_measuring_code()}"


def test_the_measuring_code_is_that_of_its_version():
    assert line() == LOCK.read_text(encoding="utf-8").strip(), (
        "the measuring code has changed: raise MEASURING_VERSION (model/rows.py) unless no row can change by "
        "it, then run `python tests/test_measuring_version.py` to note it"
    )


def test_words_and_layout_do_not_change_the_hash_and_code_does():
    plain = hash_sources(["def f(x):\n    return x + 1\n"])

    assert hash_sources(['def f(x):\n    """Words."""\n    # a comment\n    return (x + 1)\n']) == plain
    assert hash_sources(["def f(x):\n    return x + 2\n"]) != plain


if __name__ == "__main__":
    LOCK.write_text(line() + "\n", encoding="utf-8")
    sys.stdout.write(f"{LOCK.name}: {line()}\n")
