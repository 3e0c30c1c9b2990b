"""Cells per second of the whole pipeline against a bare in-process loop over the same cells, in one run.

``python benchmarks/throughput.py [--release 2.15.0] [--workers 2]`` makes the release's environment through tox, then
for the TorchScript exporter and for dynamo runs the bare loop and the measuring line in turn, and prints both rates,
their ratio, and the most memory a worker took. Environment creation and imports are in neither figure. Quote the ratio,
not the rates: machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from caniexport.model import corpus as corpus_module  # noqa: E402  # the folder is not installed
from caniexport.model.case import Case  # noqa: E402  # as above

#: all opsets of these; the bare loop needs minutes for what ours does in seconds
DYNAMO_CASES = (
    "cross-no-symbolic",
    "tracer-item-bakes-value",
    "interpolate-bicubic-needs-opset-11",
    "fully-conv-dynamic-hw",
)


class Sample(NamedTuple):
    """What is measured both ways: cases (or case/variant) and exporters."""

    title: str
    cases: tuple[str, ...]
    exporters: tuple[str, ...]

    def options(self) -> list[str]:
        return [f"--case={name}" for name in self.cases] + [f"--exporter={name}" for name in self.exporters]


def main() -> int:
    """Print one line per exporter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="2.15.0")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sample", type=int, default=90, help="cases drawn at random, the same ones every time")
    parser.add_argument("--cases", default=str(ROOT / "cases"))
    arguments = parser.parse_args()
    name = f"torch{arguments.release}-cpu"
    python = _environment(name)
    drawn = Sample("TorchScript", _torchscript_variants(arguments.cases, arguments.sample), ("torchscript-trace",))
    for sample in (drawn, Sample("dynamo", DYNAMO_CASES, ("dynamo",))):
        bare, piped, memory = [], [], []
        for _ in range(arguments.rounds):
            bare.append(_bare(python, arguments, sample))
            rate, peak = _pipeline(python, arguments, sample)
            piped.append(rate)
            memory.append(peak)
        ratio = statistics.median(ours / theirs for theirs, ours in zip(bare, piped, strict=True))
        print(
            f"torch {arguments.release} {sample.title}: bare loop {statistics.median(bare):.1f} cells/s, caniexport "
            f"with {arguments.workers} workers {statistics.median(piped):.1f} cells/s, ratio {ratio:.2f}, "
            f"{max(memory) / arguments.workers:.0f} MiB a worker",
            flush=True,
        )
    return 0


def _torchscript_variants(cases: str, count: int) -> tuple[str, ...]:
    """All variants of some random cases, but those that themselves go to another exporter."""
    loaded = corpus_module.load([Path(cases)], stand_in=True)
    found = [item for item in loaded.values() if issubclass(item.cls, Case)]
    return tuple(
        f"{item.id}/{name}"
        for item in random.Random(0).sample(found, min(count, len(found)))
        for name, variant in item.variants.items()
        if variant.measured and not (variant.fix and variant.fix.exporter)
    )


def _environment(name: str) -> Path:
    command = [sys.executable, "-m", "tox", "run", "-q", "-c", str(ROOT / "tox.ini"), "-e", name, "--notest"]
    subprocess.run(command, check=True, cwd=ROOT)
    return ROOT / ".tox" / name / "bin" / "python"


def _bare(python: Path, arguments: argparse.Namespace, sample: Sample) -> float:
    """Cells per second of the bare loop; it loads the canaries too, like every run of ours."""
    command = [str(python), str(ROOT / "benchmarks" / "bare_loop.py"), "--cases", arguments.cases]
    command += ["--release", arguments.release, *sample.options()]
    reply = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"},
    )
    told = json.loads(reply.stdout.strip().splitlines()[-1])
    return float(told["cells"] / told["seconds"])


def _pipeline(python: Path, arguments: argparse.Namespace, sample: Sample) -> tuple[float, float]:
    """Cells per second from the first row's time to the last one's, journals and bundles written; and peak MiB."""
    with tempfile.TemporaryDirectory(prefix="caniexport-") as local:
        command = [str(python), "-m", "pytest", "-c", str(ROOT / "harness" / "caniexport" / "worker" / "pytest.ini")]
        command += ["--rootdir", str(ROOT / "harness"), "-p", "caniexport.worker.plugin", "-n", str(arguments.workers)]
        command += ["--dist", "worksteal", "--release", arguments.release, "--results-local", local]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "harness")}
        started = time.time()
        process = subprocess.Popen(
            [*command, *sample.options(), arguments.cases],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        peak = _Peak(process.pid)
        if process.wait() != 0:
            raise SystemExit(f"the measuring line ended with {process.returncode}")
        return _rate(Path(local), started), peak.end()


class _Peak:
    """The most memory a process and its descendants took together, in MiB: shared pages count once (PSS)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> float:
        """Stop looking; returns the most that was seen."""
        self._over.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        # looking costs 10 ms a process, of the same two cores
        while not self._over.wait(4.0):
            self._most = max(self._most, sum(_pss(pid) for pid in _descendants(self._pid)))


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for path in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue  # it ended meanwhile
    return found


def _pss(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def _rate(local: Path, started: float) -> float:
    """The first cell of each worker waits for its warm-up; the rate is over the others."""
    times: list[list[float]] = []
    for path in (local / "journal").glob("*.jsonl"):
        found = [
            _seconds(json.loads(line)["row"]["measured_at"])
            for line in path.read_text(encoding="utf-8").splitlines()
            if '"kind": "cell"' in line[:40]
        ]
        times += [sorted(found)] if found else []
    first, last = min(found[0] for found in times), max(found[-1] for found in times)
    if last <= first:
        return 1.0 / max(time.time() - started, 1e-6)
    return (sum(len(found) for found in times) - len(times)) / (last - first)


def _seconds(text: str) -> float:
    hours, minutes, seconds = re.findall(r"T(\d+):(\d+):([\d.]+)", text)[0]
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


if __name__ == "__main__":
    sys.exit(main())
