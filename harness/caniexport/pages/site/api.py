"""The answers of the static copy as JSON files with addresses that can be guessed: docs/api.md has the promise.

Each file has an answer as the command prints it with ``--json``, and the ``command``; a case's file has its cells too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from caniexport import home as homes
from caniexport.answers.answer import as_json
from caniexport.answers.filters import Filters
from caniexport.answers.outcomes import outcomes
from caniexport.answers.plain import plain
from caniexport.answers.scope import Scope
from caniexport.answers.signs import STATUS
from caniexport.answers.supported import CaseSupport, supported
from caniexport.answers.upgrade import ladder
from caniexport.home.data_package import read_version
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.model.status import Exporter
from caniexport.pages.kept import Kept

#: raised when something of it is renamed or removed, which makes a new folder beside this one
VERSION = 1
FOLDER = f"api/v{VERSION}"
SCHEMA = "schema.json"
#: colours of a badge, in the words of shields.io
_COLOURS = {"green": "brightgreen", "yellow": "yellow", "red": "red", "magenta": "critical"}


def write(kept: Kept, folder: Path) -> None:
    """Write every file of the interface below ``folder``, and ``llms.txt``, which tells an agent of it."""
    files = dict(_files(kept))
    for name, content in files.items():
        path = folder / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    here = Path(__file__).resolve().parent
    shutil.copyfile(here / "api_schema.json", folder / FOLDER / SCHEMA)
    shutil.copyfile(here / "llms.txt", folder / "llms.txt")


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
    """Every file by its address below the folder of this version."""
    cases = supported(kept, Filters())
    by_op = _by_op(kept, cases)
    torch = kept.rows().torch
    yield "index.json", _index(kept, cases, by_op)
    yield from case_files(kept, cases)
    for item in cases:
        yield badge_address(item.case), _badge(item)
    for op, using in by_op.items():
        yield op_address(op), _answer(f"support --op {op}", using)
    for release in torch:
        found = as_json(ladder(kept, {"torch": release}, Scope()))
        yield torch_address(release), _answer(f"upgrade --from {release}", found)


def case_files(kept: Kept, cases: Collection[CaseSupport]) -> Iterator[tuple[str, object]]:
    """The files of cases, by address: where each works, and how every cell of it ends."""
    found = outcomes(kept, [item.case for item in cases])
    for item in cases:
        yield case_address(item.case), _answer(f"support {item.case}", [item]) | plain(found[item.case])


def _by_op(kept: Kept, cases: Iterable[CaseSupport]) -> dict[str, list[CaseSupport]]:
    """The cases that use each operator, operators by name."""
    ops = {entry.case: entry.ops for entry in kept.rows().catalogue.values()}
    found: dict[str, list[CaseSupport]] = {}
    for item in cases:
        for op in dict.fromkeys(ops[item.case]):
            found.setdefault(op, []).append(item)
    return dict(sorted(found.items()))


def _answer(command: str, answer: object) -> dict[str, Any]:
    return {"api": VERSION, "command": f"caniexport {command} --json", "answer": plain(answer)}


def _index(kept: Kept, cases: Iterable[CaseSupport], ops: Iterable[str]) -> dict[str, Any]:
    """What there is: the dataset, and the address of every answer."""
    version = read_version(homes.find().published)
    rows = kept.rows()
    return {
        "api": VERSION,
        "dataset": {
            "version": str(version) if version else None,
            "contract": SCHEMA_VERSION,
            "cells": rows.count,
            "newest": rows.measured_at,
        },
        "cases": _addresses((item.case for item in cases), case_address),
        "ops": _addresses(ops, op_address),
        "torch": _addresses(rows.torch, torch_address),
        "schema": SCHEMA,
    }


def _addresses(names: Iterable[str], address: Any) -> Mapping[str, str]:
    return {name: address(name) for name in names}


def _badge(item: CaseSupport) -> dict[str, Any]:
    """What shields.io's endpoint reads: the line of a bare call, or of the first exporter that has one."""
    lines = {line.exporter: line for line in item.support}
    line = lines.get(Exporter.DEFAULT.value) or next(iter(lines.values()), None)
    if line is None:
        return {"schemaVersion": 1, "label": item.case, "message": "not measured", "color": "lightgrey"}
    colour = _COLOURS.get(STATUS[line.status].colour, "lightgrey")
    return {"schemaVersion": 1, "label": item.case, "message": line.text, "color": colour}
