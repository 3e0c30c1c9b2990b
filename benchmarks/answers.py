"""Every answer from the published dataset, and from one of a million rows, from the command line in a new process.

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
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent

from caniexport.store import files, writer  # noqa: E402  # beside ROOT

_LINE = "from caniexport.cli import main; main()"
CASE = "cross-no-symbolic"
QUESTIONS: dict[str, list[str]] = {
    "table, one theme": ["table", "--theme", "pooling"],
    "table, everything": ["table"],
    "case, one cell": ["case", CASE, "--torch", "1.10.2", "--opset", "14"],
    "case": ["case", CASE],
    "workaround, one case": ["workaround", CASE],
    "workaround, everything": ["workaround"],
    "upgrade": ["upgrade", "--from", "torch=1.13.1", "--to", "torch=2.15.0"],
    "alerts, one release": ["alerts", "--torch", "2.15.0"],
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
        print(f"{'':24}{'published':>16}{'large':>16}{'ratio':>8}")
        for name, line in QUESTIONS.items():
            times = [cold(line, home, arguments.repeat) for home in (ROOT, large)]
            shown = "".join(f"{wall:9.3f} ({work:.2f})" for wall, work in times)
            print(f"{name:24}{shown}{times[1][1] / times[0][1]:8.2f}", flush=True)
    return 0


def enlarge(published: Path, home: Path, wanted: int) -> int:
    """Write a home whose dataset has about ``wanted`` rows; how many it has.

    The last copy has as many of the cases as are needed, the same in every file.
    """
    (home / "cases").mkdir()
    tables = {path.name: pq.read_table(path) for path in files.cells_files(published)}
    times = wanted / sum(table.num_rows for table in tables.values())
    many = {name: repeated(table, times) for name, table in tables.items()}
    for name, table in many.items():
        writer.write_rows(home / "results" / "cells" / name, "cells", table.to_pylist())
    cases = repeated(pq.read_table(published / "cases.parquet"), times)
    writer.write_rows(home / "results" / "cases.parquet", "cases", cases.to_pylist())
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
