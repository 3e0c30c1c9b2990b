"""Cost against the number of cells: planning with nothing to do, and measuring 1,000 to 50,000 cells.

``python benchmarks/scaling.py [--cells 1000 10000 50000]``

Planning is timed on the real corpus: ``caniexport measure --release all --missing --plan`` against the published rows,
from the command line to its end. Measuring runs the real plugin over generated cases with the stand-in packages of
``tests/mini`` (an export there takes no time, so what is timed is our own work: plan, fork, journal, bundle). Seconds
per cell should stay the same; the last column says what they are relative to the first run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from mini import runner  # noqa: E402  # the folders are not installed

from caniexport.model import corpus, plan, releases  # noqa: E402  # as above

VERSION = "92.0.0"
_CASE = '''

class Generated{number}(Case):
    """A generated case, number {number}."""

    sources = ("benchmark",)
    inputs = ((f32(2, 3),), (f32(4, 3),))

    def forward(self, x):
        return x + {number}
'''


def main() -> int:
    """Print the planning time, then one line for each number of cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, nargs="*", default=[1_000, 10_000, 50_000])
    arguments = parser.parse_args()
    _planning()
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        _measuring(Path(folder), arguments.cells)
    return 0


def _planning() -> None:
    loaded = corpus.load([ROOT / "cases"], stand_in=True)
    cells = sum(len(plan.cells(loaded, release, "cpu")) for release in releases.read_table())
    line = "from caniexport.cli import main; main()"
    started = time.perf_counter()
    reply = subprocess.run(
        [sys.executable, "-c", line, "measure", "--release", "all", "--missing", "--plan"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "harness")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - started
    print(f"planning {cells} cells of {len(releases.read_table())} releases: {seconds:.1f} s ({_last(reply.stdout)})")


def _last(text: str) -> str:
    return text.strip().splitlines()[-1]


def _measuring(folder: Path, numbers: list[int]) -> None:
    python = runner.environment(folder, VERSION)
    minor = ".".join(map(str, sys.version_info[:2]))
    table = runner.releases_file(folder, minor, importlib.metadata.version("numpy"))
    first = 0.0
    for number in numbers:
        cases = _cases(folder / f"cases-{number}", number, table)
        local = folder / f"local-{number}"
        command = runner.command(python, VERSION, cases, local, "-n", "2", "--dist", "worksteal")
        started = time.perf_counter()
        subprocess.run(command, env=runner.environ(table), cwd=cases, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        rows = len(runner.journal_rows(local))
        first = first or seconds / rows
        print(
            f"measured {rows} cells in {seconds:.1f} s, {1000 * seconds / rows:.2f} ms a cell, "
            f"{seconds / rows / first:.2f} of the first",
            flush=True,
        )


def _cases(folder: Path, cells: int, table: Path) -> Path:
    """Case files with about so many cells, a hundred cases each, and the canaries."""
    runner.copy_cases(folder, runner.CASES)
    (folder / "outcomes.py").unlink()
    (folder / "fixes.py").unlink()
    (release,) = [item for item in runner.read_table(table) if item.torch == VERSION]
    each = sum(len(release.opsets(exporter)) for exporter in _exporters())
    head = '"""Generated."""\n\nfrom caniexport.model.case import Case\nfrom caniexport.model.tensors import f32\n'
    numbers = range(max(cells // each, 1))
    for start in range(0, len(numbers), 100):
        body = "".join(_CASE.format(number=number) for number in numbers[start : start + 100])
        (folder / f"generated_{start}.py").write_text(head + body, encoding="utf-8")
    return folder


def _exporters() -> list[str]:
    from caniexport.model.status import Exporter

    return [member.value for member in Exporter]


if __name__ == "__main__":
    sys.exit(main())
