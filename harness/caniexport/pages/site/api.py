"""The answers of the static copy as JSON files with addresses that can be guessed: docs/api.md has the promise.

Each file has an answer as the command prints it with ``--json``, and the ``command``; a case's file has its cells too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from caniexport import home as homes
from caniexport.answers.answer import Answer, AnswerOutcome, as_json
from caniexport.answers.case import answer_case
from caniexport.answers.op import answer_op
from caniexport.answers.operators import NO_FILTER
from caniexport.answers.plain import to_plain
from caniexport.answers.samples import Samples
from caniexport.answers.scope import Scope
from caniexport.answers.upgrade import answer_ladder
from caniexport.home.data_package import read_version
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.pages.kept import Kept

#: raised when something of it is renamed or removed, which makes a new folder beside this one
VERSION = 1
FOLDER = f"api/v{VERSION}"
SCHEMA = "schema.json"
#: colors of a badge, in the words of shields.io
_COLORS = {
    AnswerOutcome.WORKS: "brightgreen",
    AnswerOutcome.FAILS: "red",
    AnswerOutcome.NOT_MEASURED: "lightgrey",
    AnswerOutcome.LISTED: "lightgrey",
}


def write(kept: Kept, folder: Path) -> None:
    """Write ``llms.txt``, which tells agents of the interface, and every file but those of cases and operators."""
    for name, content in _files(kept):
        _write(folder, name, content)
    here = Path(__file__).resolve().parent
    shutil.copyfile(here / "api_schema.json", folder / FOLDER / SCHEMA)
    shutil.copyfile(here / "llms.txt", folder / "llms.txt")


def write_case(kept: Kept, folder: Path, name: str) -> None:
    """Write the file and the badge of a case."""
    answer = kept.answer(answer_case, name)
    _write(folder, case_address(name), _answer(f"case {name}", as_json(answer)))
    _write(folder, badge_address(name), _badge(name, answer))


def write_op(kept: Kept, folder: Path, name: str) -> None:
    """Write the file of an operator, by a name that a case has."""
    if name in kept.inventory.ops:
        _write(folder, op_address(name), _answer(f"op {name}", as_json(kept.answer(answer_op, name, NO_FILTER))))


def _write(folder: Path, name: str, content: object) -> None:
    path = folder / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def case_address(case: str) -> str:
    """Where the answer about a case lies."""
    return f"case/{case}.json"


def op_address(op: str) -> str:
    """Where the answer about an operator lies; ``::`` is no part of a file's name everywhere."""
    return f"op/{op.replace('::', '.')}.json"


def torch_address(torch: str) -> str:
    """Where the answer about a torch release lies."""
    return f"torch/{torch}.json"


def badge_address(case: str) -> str:
    """Where the badge of a case lies."""
    return f"badge/{case}.json"


def _files(kept: Kept) -> Iterator[tuple[str, object]]:
    """Every other file by its address below the folder of this version."""
    cases = kept.inventory.documented
    ops = sorted({name for entry in cases for name in entry.ops})
    yield "index.json", _index(kept, [entry.case for entry in cases], ops)
    if Samples.of(kept).operators:
        yield "operators.json", _answer("op", as_json(answer_op(kept)))
    for release in kept.inventory.torch:
        found = as_json(answer_ladder(kept, {"torch": release}, Scope()))
        yield torch_address(release), _answer(f"upgrade --from {release}", found)


def _answer(command: str, answer: object) -> dict[str, Any]:
    return {"api": VERSION, "command": f"caniexport {command} --json", "answer": to_plain(answer)}


def _index(kept: Kept, cases: Iterable[str], ops: Iterable[str]) -> dict[str, Any]:
    """What there is: the dataset, and the address of every answer."""
    version = read_version(homes.find().published)
    newest = max((row["measured_at"] for row in kept.environment_records() if row["measured_at"]), default=None)
    return {
        "api": VERSION,
        "dataset": {
            "version": str(version) if version else None,
            "contract": SCHEMA_VERSION,
            "cells": kept.inventory.count(),
            "newest": newest,
        },
        "cases": _addresses(cases, case_address),
        "ops": _addresses(ops, op_address),
        "torch": _addresses(kept.inventory.torch, torch_address),
        "schema": SCHEMA,
    }


def _addresses(names: Iterable[str], address: Any) -> Mapping[str, str]:
    return {name: address(name) for name in names}


def _badge(name: str, answer: Answer) -> dict[str, Any]:
    """What shields.io's endpoint reads: whether the case works on the newest release."""
    return {"schemaVersion": 1, "label": name, "message": answer.outcome.value, "color": _COLORS[answer.outcome]}
