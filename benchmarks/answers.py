"""Every answer from the published dataset, and from one of a million rows: cold from the command line, warm in-process.

``python benchmarks/answers.py [--rows 1000000] [--repeat 3]``

The large dataset is the published one with its cases several times over under new names, made in a temporary folder.
Seconds on the wall and of processor time (all threads), the best of some runs; the ratio is large to published. On a
busy machine only the processor time says something.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parent.parent

from caniexport.store import files, writer  # noqa: E402  # beside ROOT

_LINE = "from caniexport.cli import main; main()"
CASE = "cross-no-symbolic"
QUESTIONS: dict[str, list[str]] = {
    "table, one theme": ["table", "--theme", "pooling"],
    "table, everything": ["table"],
    "why, one cell": ["why", CASE, "--torch", "1.10.2", "--opset", "14"],
    "why, one case": ["why", CASE],
    "workaround, one case": ["workaround", CASE],
    "workaround, everything": ["workaround"],
    "upgrade": ["upgrade", "--from", "torch=1.13.1", "--to", "torch=2.15.0"],
    "claims": ["claims"],
    "op, one operator": ["op", "grid_sample"],
    "op, every operator": ["op"],
}


def main() -> int:
    """Print one line for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        large = Path(folder)
        rows = enlarge(ROOT / "results", large, arguments.rows)
        print(f"large: {rows:,} rows; seconds on the wall (of processor time)")
        print(f"{'':24}{'cold':>16}{'cold, large':>16}{'warm':>16}{'warm, large':>16}{'ratio':>8}")
        for name, line in QUESTIONS.items():
            times = [ask(line, home, arguments.repeat) for ask in (cold, warm) for home in (ROOT, large)]
            shown = "".join(f"{wall:9.3f} ({work:.2f})" for wall, work in times)
            print(f"{name:24}{shown}{times[3][1] / times[2][1]:8.2f}", flush=True)
    return 0


def enlarge(published: Path, home: Path, wanted: int) -> int:
    """Write a home whose dataset has about ``wanted`` rows; how many it has.

    The last copy has as many of the cases as are needed, the same in every file.
    """
    (home / "cases").mkdir()
    tables = {path.name: files.read(path, "cells") for path in files.cells_files(published)}
    times = wanted / sum(table.num_rows for table in tables.values())
    many = {name: repeated(table, times) for name, table in tables.items()}
    for name, table in many.items():
        writer.write(home / "results" / "cells" / name, "cells", table)
    cases = repeated(files.read(published / "cases.parquet", "cases"), times)
    writer.write(home / "results" / "cases.parquet", "cases", cases)
    for name in ("claims", "declared", "environments", "messages"):
        (home / "results" / f"{name}.parquet").write_bytes((published / f"{name}.parquet").read_bytes())
    # a run is of a file's content, and the same files stand for every copy
    shutil.copytree(published / "runs", home / "results" / "runs")
    return sum(table.num_rows for table in many.values())


def repeated(table: pa.Table, times: float) -> pa.Table:
    """The rows as they are, and again under other case names; of the last copy a share of the cases."""
    at = table.column_names.index("case")
    copies = [table]
    for number in range(2, math.ceil(times) + 1):
        taken = _share(table, times - (number - 1))
        renamed = pc.binary_join_element_wise(taken.column("case"), f"copy-{number}", "-")
        copies.append(taken.set_column(at, table.schema.field("case"), renamed))
    return pa.concat_tables(copies)


def _share(table: pa.Table, share: float) -> pa.Table:
    names = [name for name in table.column("case").unique().to_pylist() if name is not None]
    chosen = [name for name in names if zlib.crc32(name.encode()) < share * 2**32]
    return table if share >= 1 else table.filter(pc.is_in(table.column("case"), pa.array(chosen, pa.string())))


def cold(line: list[str], home: Path, repeat: int) -> tuple[float, float]:
    """From the command line to its end, imports included."""
    environ = {**os.environ, "CANIEXPORT_HOME": str(home)}

    def run() -> None:
        done = subprocess.run(
            [sys.executable, "-c", _LINE, *line], env=environ, cwd=home, stdout=subprocess.DEVNULL, check=False
        )
        assert done.returncode in (0, 1), line

    return best(run, repeat, resource.RUSAGE_CHILDREN)


def warm(line: list[str], home: Path, repeat: int) -> tuple[float, float]:
    """The answer itself, as data, in a process that has asked once."""
    code = (
        "import sys, time, click; sys.path.insert(0, 'benchmarks'); from answers import in_process;"
        f"print(*in_process({line!r}, {str(home)!r}, {repeat}))"
    )
    reply = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    wall, work = map(float, reply.stdout.split())
    return wall, work


def in_process(line: list[str], home: str, repeat: int) -> tuple[float, float]:
    """The best of some calls of the answer behind a command line, the dataset open."""
    from caniexport.answers.matrix import By, table

    from caniexport import api
    from caniexport.answers.documents import claims
    from caniexport.answers.filters import Filters
    from caniexport.store import Dataset

    dataset = Dataset.open(Path(home) / "results", None)
    command, *rest = line
    given = dict(zip(rest[::2], rest[1::2], strict=False)) if rest[:1] != [CASE] else {"--case": CASE}
    cases = (CASE,) if rest[:1] == [CASE] else ()
    torch = tuple(rest[rest.index("--torch") + 1 :][:1]) if "--torch" in rest else ()
    opsets = tuple(rest[rest.index("--opset") + 1 :][:1]) if "--opset" in rest else ()
    themes = (given["--theme"],) if "--theme" in given else ()
    asked = Filters(cases=cases, torch=torch, opsets=opsets, themes=themes)
    answers: dict[str, Callable[[], object]] = {
        "table": lambda: table(dataset, asked, By.TORCH),
        "case": lambda: api.case(dataset, CASE, torch="".join(torch), opset="".join(opsets)),
        "workaround": lambda: api.workaround(dataset, case=cases, theme=themes),
        "upgrade": lambda: api.upgrade(dataset, given["--from"], given["--to"]),
        "claims": lambda: claims(dataset, asked),
        "op": lambda: api.op(dataset, "".join(rest)),
    }
    answers[command]()
    return best(answers[command], repeat, resource.RUSAGE_SELF)


def best(act: Callable[[], object], repeat: int, who: int) -> tuple[float, float]:
    """Seconds on the wall and of processor time, the least of each."""
    walls, works = [], []
    for _ in range(repeat):
        before, started = resource.getrusage(who), time.perf_counter()
        act()
        walls.append(time.perf_counter() - started)
        after = resource.getrusage(who)
        works.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(walls), min(works)


if __name__ == "__main__":
    raise SystemExit(main())
