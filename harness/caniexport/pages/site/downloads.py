"""The static copy as files for other tools: its tables as parquet, the matrix and the fixes as CSV, answers as JSON.

The JSON files have addresses that can be guessed: docs/api.md has the promise.
Each has an answer as the command prints it with ``--json``, and the ``command``; a case's file has its cells too.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport import home as homes
from caniexport.answers.filters import Filters
from caniexport.answers.matrix import MatrixRow, table
from caniexport.answers.outcomes import outcomes
from caniexport.answers.plain import plain
from caniexport.answers.policy import policy
from caniexport.answers.signs import STATUS
from caniexport.answers.standings import workarounds
from caniexport.answers.support import CaseSupport, supported
from caniexport.home.data_package import read_version
from caniexport.model.rows import SCHEMA_VERSION
from caniexport.model.status import Exporter
from caniexport.pages.kept import Kept
from caniexport.pages.sheet import as_csv
from caniexport.store.schema import columns

if TYPE_CHECKING:
    import pyarrow as pa


#: forms of the matrix file: every case, every form, every exporter
_EVERYTHING = Filters(variants=("*",), exporters=("*",))

#: signs of the hash of a file in the table of cells
_BUNDLE = 10
#: files that a reader may take, with what each is
WHAT = {
    "cells.parquet": f"every measured cell; a file is {_BUNDLE} signs of its hash, a time whole hours",
    "matrix.csv.gz": "the matrix: one row for each case, form, exporter and release",
    "workarounds.csv.gz": "every fix: needed, obsolete, broken or harmful at the newest release",
    "environments.parquet": "every environment with all of its versions",
    "messages.parquet": "the error texts",
    "cases.parquet": "the cases with their sources and code",
    "claims.parquet": "what sources say, and what was measured of it",
}
#: raised when something of it is renamed or removed, which makes a new folder beside this one
VERSION = 1
FOLDER = f"api/v{VERSION}"
SCHEMA = "schema.json"
#: colours of a badge, in the words of shields.io
_COLOURS = {"green": "brightgreen", "yellow": "yellow", "red": "red", "magenta": "critical"}


def write(kept: Kept, folder: Path, beside: Executor) -> list[Future[None]]:
    """Write every file of :data:`WHAT` into ``folder``; those that take long to pack are on their way, ``beside``."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = kept.answer(table, _EVERYTHING)
    _compressed(folder / "matrix.csv.gz", _matrix(shown.lines, shown.columns))
    _compressed(folder / "workarounds.csv.gz", _fixes(kept))
    return [beside.submit(_parquet, folder / f"{name}.parquet", rows) for name, rows in _tables(kept)]


def _matrix(lines: Sequence[MatrixRow], releases: Iterable[str]) -> list[dict[str, Any]]:
    """One row for each place: its leading status, its text, and the opsets of each status."""
    return [
        {
            "case": line.case,
            "variant": line.variant,
            "theme": line.theme,
            "exporter": line.exporter,
            "provider": line.provider or "",
            "torch": torch,
            "status": line.places[torch].status.value,
            "text": line.places[torch].text,
            **{f"opsets_{status}": " ".join(where) for status, where in sorted(line.places[torch].at.items())},
        }
        for line in lines
        for torch in releases
    ]


def _fixes(kept: Kept) -> list[dict[str, Any]]:
    answer = kept.answer(workarounds, Filters(exporters=("*",)))
    names = (
        "case",
        "variant",
        "kind",
        "exporter",
        "provider",
        "torch",
        "opset",
        "statement",
        "caution",
        "obsolete_since",
    )
    return [
        {**{name: getattr(item, name) for name in names}, "word": item.word.value, "along": item.along.text}
        | {"obsolete_since": item.obsolete_since or ""}
        for item in (*answer.standings, *answer.cautions)
    ]


def _compressed(path: Path, rows: list[dict[str, Any]]) -> None:
    """The rows as CSV in gzip, which spreadsheets and pandas read; the same rows give the same bytes."""
    path.write_bytes(gzip.compress(as_csv(rows).encode(), mtime=0))


def _tables(kept: Kept) -> Iterable[tuple[str, pa.Table]]:
    import pyarrow as pa

    frame = kept.cells(columns=list(columns("cells")))
    # whole hashes of files are a half of the table
    frame["bundle"] = frame["bundle"].str[:_BUNDLE]
    # so are minutes, which a run's id has, and digits of what it took that no second measurement has
    frame["measured_at"] = frame["measured_at"].dt.floor("h")
    for name in ("seconds_export", "seconds_load", "seconds_run"):
        frame[name] = frame[name].round(2)
    # neighbours that are alike are packed best, here and in the other tables
    frame = frame.sort_values(["case", "variant", "exporter", "opset", "torch"], kind="stable")
    yield "cells", pa.Table.from_pandas(frame, preserve_index=False)
    texts = kept.messages({*frame["message_id"].dropna(), *frame["warning_id"].dropna(), *frame["checker_id"].dropna()})
    known = sorted(texts.items(), key=lambda item: item[::-1])
    yield "messages", pa.table({"message_id": [name for name, _ in known], "text": [text for _, text in known]})
    for name, rows in (("environments", kept.environments()), ("cases", kept.cases()), ("claims", kept.claims())):
        yield name, pa.Table.from_pandas(rows, preserve_index=False)


def _parquet(path: Path, rows: pa.Table) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows.replace_schema_metadata(None), path, compression="zstd", compression_level=19)


def write_answers(kept: Kept, folder: Path) -> None:
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
        found = policy(kept, Filters(torch=(release,)))
        yield torch_address(release), _answer(f"policy --torch {release}", found)


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
