"""How well the workers of a Dask cluster share a release.

``python benchmarks/machines.py [--workers 4]`` measures the stand-in release of tests/mini with one process, then with
so many workers of ``measure --on local:N``, and prints the time of one divided by that of all and their number: 1.0 is
ideal. Cases that take a second each are added, so that starting processes is a small part, as it is of a real release.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from mini.home import Home, make_home  # noqa: E402  # the folder is not installed

RELEASE = "91.0.0"
_SLOW = """
class Slow{number}(Case):
    "An addition that takes a second."

    sources = ("harness",)
    exporters = ("torchscript-trace",)
    inputs = ((values([1.0, 2.0]),), (values([3.0, 4.0]),))

    def forward(self, x):
        __import__("time").sleep({seconds})
        return x + {number}

"""


def slow_home(folder: Path, cases: int, seconds: float) -> Home:
    """A home whose release has so many more cases, each of which takes so long wherever it is run."""
    home = make_home(folder)
    text = (home.cases / "canaries.py").read_text()
    head = text[: text.index("class")]
    slow = (_SLOW.format(number=number, seconds=seconds) for number in range(cases))
    (home.cases / "slow.py").write_text(head + "".join(slow))
    return home


def timed(home: Home, *words: str) -> float:
    """Seconds of a measurement."""
    started = time.monotonic()
    home.caniexport("measure", "--release", RELEASE, "--repeat", "0", *words)
    return time.monotonic() - started


def efficiency(workers: int, cases: int, seconds: float) -> None:
    """Print the two times and their ratio; the environment is made before."""
    with tempfile.TemporaryDirectory(prefix="caniexport-machines-") as name:
        folder = Path(name)
        home = slow_home(folder, cases, seconds)
        home.caniexport("measure", "--release", RELEASE, "--repeat", "0", "--case", "passes")
        single, many = (home.copy(folder / name, with_rows=False) for name in ("single", "many"))
        one = timed(single, "--workers", "1")
        together = timed(many, "--on", f"local:{workers}", "--shards", str(workers))
        assert many.cells(RELEASE) == single.cells(RELEASE)
    ratio = one / (workers * together)
    print(f"one process {one:.1f} s, {workers} workers {together:.1f} s, efficiency {ratio:.2f}; the rows are the same")


def main() -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=1.0, help="that a case's forward takes")
    asked = parser.parse_args()
    efficiency(asked.workers, asked.cases, asked.seconds)


if __name__ == "__main__":
    main()
