"""One bit of a dataset's files changed at a time: is there a wrong value that nobody is told of?

``python benchmarks/bit_flips.py [--flips 1000] [--seed 18]``

In a temporary folder lie the published dataset and a local one made from it the way a measurement makes it: files that
were compacted, a journal that was not, a table of declared operators, bundles. Every second flip draws its file by
size, the others draw every file alike. After each, a new process asks the dataset that the file is of, and its answers
are held against those before; each tenth time it asks for everything, else for the file's own release, two others and
the smaller tables.

changed    a value that was not there before, or a row lost without a word: there must be none
named      the file is named among the problems, and what is left is as it was
no effect  everything is as it was, as where a zip file notes a time
error, hang  anything but an answer
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _duckdb  # noqa: F401  # imported once, before each process forks
import pandas  # noqa: F401  # as above
import pyarrow.dataset  # as above
import pyarrow.parquet  # noqa: F401  # as above

ROOT = Path(__file__).resolve().parent.parent

from caniexport.bundles import pack as bundles  # noqa: E402  # beside ROOT
from caniexport.model.errors import CaniexportError  # noqa: E402  # beside ROOT
from caniexport.model.journal import Journal  # noqa: E402  # beside ROOT
from caniexport.model.rows import TABLES  # noqa: E402  # beside ROOT
from caniexport.store import Dataset, compact, files, graphs, summary  # noqa: E402  # beside ROOT
from caniexport.store.schema import columns  # noqa: E402  # beside ROOT
from caniexport.worker.declared import checksum  # noqa: E402  # beside ROOT

RELEASE = "2.15.0"
_COMPACTED, _JOURNALLED = 3000, 300
_SECONDS = 120
#: releases that are always asked for
_OTHERS = ("1.0.1", "1.2.0")
_LARGE = ("runs", "graphs", "messages", "claims", "cases", "declared")
_COUNTED = {"rows": "count(*)"}


@dataclass
class Answers:
    """What is asked of both datasets: values by what they are of, and the problems that were told."""

    values: dict[tuple[Any, ...], frozenset[Any]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def main() -> int:
    """Print the counts, and each flip that was not right; exit code 1 where there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=18)
    arguments = parser.parse_args()
    drawn = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        os.environ[summary.VARIABLE] = str(Path(folder) / "kept")
        home = Path(folder) / "home"
        in_a_child(lambda: prepare(home))
        paths = sorted(path for path in home.rglob("*") if path.is_file() and path.stat().st_size)
        sizes = [path.stat().st_size for path in paths]
        print(f"{len(paths)} files, {sum(sizes) / 1e6:.1f} MB, seed {arguments.seed}", flush=True)
        before: dict[Asked, Answers] = {}
        counts: Counter[str] = Counter()
        kinds: dict[str, Counter[str]] = {}
        started = time.monotonic()
        for number in range(arguments.flips):
            path = drawn.choices(paths, sizes)[0] if number % 2 else drawn.choice(paths)
            asked = asked_of(path, number % 10 == 0)
            if asked not in before:
                before[asked] = in_a_child(lambda what=asked: ask(home, what))
            bit = drawn.randrange(path.stat().st_size * 8)
            word, why = flipped(path, bit, home, asked, before[asked])
            counts[word] += 1
            kinds.setdefault(kind_of(path.relative_to(home)), Counter())[word] += 1
            if number % 50 == 49:
                print(f"{number + 1}: {dict(counts)}", flush=True)
            if word not in ("named", "no effect"):
                print(f"{word}: bit {bit} of {path.relative_to(home)}: {why}", flush=True)
        seconds = (time.monotonic() - started) / max(arguments.flips, 1)
    for kind, found in sorted(kinds.items()):
        print(f"{kind:16}" + ", ".join(f"{count} {word}" for word, count in sorted(found.items())))
    print(f"{'all':16}" + ", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    print(f"{seconds:.2f} s a flip")
    return int(any(counts[word] for word in ("changed", "error", "hang")))


def prepare(home: Path) -> None:
    """The published dataset and a local one beside it."""
    shutil.copytree(ROOT / "results", home / "results")
    local = home / "results-local"
    rows = files.read(home / "results" / "cells" / f"torch-{RELEASE}-cpu.parquet", "cells").to_pylist()
    environments = files.read(home / "results" / "environments.parquet", "environments").to_pylist()
    texts = files.read(home / "results" / "messages.parquet", "messages").to_pylist()
    texts = {row["message_id"]: row["text"] for row in texts}
    with Journal(local / "journal", "compacted") as journal:
        for row in environments:
            if row["release"] == RELEASE:
                journal.environment(_plain(row))
        note(journal, rows[:_COMPACTED], texts)
    compact(local)
    with Journal(local / "journal", "fresh") as journal:
        note(journal, rows[_COMPACTED : _COMPACTED + _JOURNALLED], texts)
    told = {"release": RELEASE, "torch": RELEASE, "onnx": "1.23.2", "rows": [["dynamo", "aten::cross", [18, 19]]] * 50}
    (local / "declared").mkdir()
    (local / "declared" / f"torch-{RELEASE}.json").write_text(json.dumps({**told, "crc": checksum(told)}))
    for entry, data in bundles.probe_entries():
        path = graphs.file_of(local, entry.bundle)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def note(journal: Journal, rows: Iterable[dict[str, Any]], texts: dict[str, str]) -> None:
    """Rows with the texts they refer to, as a measurement writes them."""
    for row in rows:
        ids = [row[name] for name in ("message_id", "warning_id") if row[name] in texts]
        journal.cell(_plain(row), {name: texts[name] for name in ids})


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if name == "measured_at" else value for name, value in row.items()}


@dataclass(frozen=True)
class Asked:
    """What is asked: a dataset, the ``releases`` whose every value is, the tables, and if ``whole`` all of it."""

    origin: str
    releases: tuple[str, ...]
    tables: tuple[str, ...]
    whole: bool


def asked_of(path: Path, whole: bool) -> Asked:
    """What is asked after a flip in a file: all tables where ``whole``, else its own and the smaller ones."""
    own = [path.name.split("-")[1]] if path.parent.name == "cells" and path.name.startswith("torch-") else []
    mine = path.parent.name if path.parent.name in ("runs", "declared") else path.stem
    tables = tuple(name for name in TABLES if whole or name not in _LARGE or name == mine)
    origin = "local" if "results-local" in path.parts else "published"
    return Asked(origin, tuple(sorted({*own, *_OTHERS})), tables, whole)


def ask(home: Path, asked: Asked) -> Answers:
    """Every row of the local dataset; of the published one the releases', and of the others how many there are."""
    found = Answers()
    if asked.origin == "local":
        dataset = Dataset.open(None, home / "results-local")
        found.values["cells",] = frozenset(map(repr, dataset.select(columns("cells"), runtimes=True)))
        ask_bundles(home / "results-local" / "bundles", found)
    else:
        dataset = Dataset.open(home / "results", None)
        for row in dataset.grouped(("torch",), _hashed("cells"), {"torch": asked.releases}):
            found.values["cells", row[0]] = frozenset({row})
        for row in dataset.grouped(("torch",), _COUNTED) if asked.whole else ():
            found.values["count", row[0]] = frozenset({row})
    for table in asked.tables:
        if table == "runs":
            for row in dataset.run_groups(("runtime", "provider"), _hashed("runs")):
                found.values["runs", *row[:2]] = frozenset({row})
        elif table != "cells":
            found.values[table,] = frozenset(repr(row) for row in dataset.records(table))
    found.problems += dataset.problems
    return found


def ask_bundles(folder: Path, found: Answers) -> None:
    """The graphs of every bundle."""
    for path in sorted(folder.rglob("*.zip")):
        try:
            found.values["bundle", path.name] = frozenset({repr(graphs.read(path, path.stem))})
        except CaniexportError as error:
            found.problems += (str(error),)


def _hashed(table: str) -> dict[str, str]:
    """A hash over every value of a group of rows, whatever their order."""
    said = ", ".join(f'"{name}"' for name in columns(table))
    return {**_COUNTED, "hash": f"sum(hash({said})::HUGEINT)::VARCHAR"}


def flipped(path: Path, bit: int, home: Path, asked: Asked, before: Answers) -> tuple[str, str]:
    """The word for one flip, and why; the file is afterwards as it was."""
    whole = path.read_bytes()
    data = bytearray(whole)
    data[bit // 8] ^= 1 << bit % 8
    try:
        path.write_bytes(data)
        after = in_a_child(lambda: ask(home, asked))
    except TimeoutError:
        return "hang", f"no answer within {_SECONDS} s"
    except RuntimeError as error:
        return "error", str(error)
    finally:
        path.write_bytes(whole)
    named = any(str(path) in problem for problem in after.problems)
    new = [key for key, values in after.values.items() if values - before.values.get(key, frozenset())]
    lost = [key for key, values in before.values.items() if values - after.values.get(key, frozenset())]
    if new or (lost and not named):
        return "changed", f"{'new' if new else 'lost'} values of {(new or lost)[0]}"
    return ("named" if named else "no effect"), ""


def in_a_child(act: Any) -> Any:
    """What ``act`` returns in a process of its own; raises :class:`TimeoutError`, or :class:`RuntimeError`."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(_SECONDS)
        with os.fdopen(writing, "wb") as file:
            try:
                pickle.dump((True, act()), file)
            except BaseException as error:  # told to the parent
                pickle.dump((False, f"{type(error).__name__}: {error}"), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    status = os.waitpid(child, 0)[1]
    if status == signal.SIGALRM:
        raise TimeoutError
    if status or not data:
        raise RuntimeError(f"the process ended with {status}")
    good, found = pickle.loads(data)
    if not good:
        raise RuntimeError(found)
    return found


def kind_of(path: Path) -> str:
    """What sort of file it is."""
    if path.name == "MANIFEST":
        return path.name
    if path.suffix == ".parquet":
        return "parquet"
    return {".jsonl": "journal", ".json": "declared", ".zip": "bundle"}.get(path.suffix, "other")


if __name__ == "__main__":
    sys.exit(main())
