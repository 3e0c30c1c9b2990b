"""Cells per second of the whole pipeline against a bare in-process loop over the same cells, in one run.

``python benchmarks/throughput.py [--release 2.15.0] [--workers 2]`` makes the release's environment through tox,
then for
the TorchScript exporter and for dynamo runs the bare loop and the measuring line in turn, and prints both rates and
their ratio. Environment creation and imports are in neither figure. Quote the ratio, not the rates: machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: a sample of the corpus over several op families; none of these cases crashes a process, or the bare loop would end
CASES = (
    "cross-no-symbolic",
    "cross-rewrite-rejects-rank-broadcast",
    "tracer-item-bakes-value",
    "interpolate-bicubic-needs-opset-11",
    "multi-input-tuple",
    "fully-conv-dynamic-hw",
)
OPSETS = {"torchscript-trace": range(9, 21), "dynamo": range(18, 22)}


def main() -> int:
    """Print one line per exporter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="2.15.0")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=str(ROOT / "cases"))
    arguments = parser.parse_args()
    name = f"torch{arguments.release}-cpu"
    python = _environment(name)
    for exporter, opsets in OPSETS.items():
        selected = [f"--case={case}" for case in CASES] + [f"--opset={opset}" for opset in opsets]
        selected.append(f"--exporter={exporter}")
        bare, piped = [], []
        for _ in range(arguments.rounds):
            bare.append(_bare(python, arguments, exporter, selected))
            piped.append(_pipeline(python, arguments, selected))
        ratio = statistics.median(b / a for a, b in zip(bare, piped, strict=True))
        print(
            f"torch {arguments.release} {exporter}: bare loop {statistics.median(bare):.1f} cells/s, caniexport with "
            f"{arguments.workers} workers {statistics.median(piped):.1f} cells/s, ratio {ratio:.2f}",
            flush=True,
        )
    return 0


def _environment(name: str) -> Path:
    command = [sys.executable, "-m", "tox", "run", "-q", "-c", str(ROOT / "tox.ini"), "-e", name, "--notest"]
    subprocess.run(command, check=True, cwd=ROOT)
    return ROOT / ".tox" / name / "bin" / "python"


def _bare(python: Path, arguments: argparse.Namespace, exporter: str, selected: list[str]) -> float:
    """Cells per second of the bare loop; it loads the canaries too, like every run of ours."""
    command = [str(python), str(ROOT / "benchmarks" / "bare_loop.py"), "--cases", arguments.cases]
    command += ["--release", arguments.release, *[item for item in selected if not item.startswith("--exporter")]]
    reply = subprocess.run(
        [*command, "--exporter", exporter],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"},
    )
    told = json.loads(reply.stdout.strip().splitlines()[-1])
    return float(told["cells"] / told["seconds"])


def _pipeline(python: Path, arguments: argparse.Namespace, selected: list[str]) -> float:
    """Cells per second from the first row's time to the last one's, journals and bundles written."""
    with tempfile.TemporaryDirectory(prefix="caniexport-") as local:
        command = [str(python), "-m", "pytest", "-c", str(ROOT / "harness" / "worker" / "pytest.ini")]
        command += ["--rootdir", str(ROOT), "-p", "harness.worker.plugin", "-n", str(arguments.workers)]
        command += ["--release", arguments.release, "--results-local", local, *selected, arguments.cases]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        started = time.time()
        subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT)
        return _rate(Path(local), started)


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
