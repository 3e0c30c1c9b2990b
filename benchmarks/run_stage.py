"""Bundles a second through the whole runner, against a bare onnxruntime loop over the same bundles in the same run.

::

    python benchmarks/run_stage.py bundles.zip --bundles 1500 --rounds 3

Run it with the Python of an environment that has onnxruntime and numpy; the archive is one of `caniexport bundles
pack`. The bare loop has models and arrays in memory already and compares nothing. The runner reads the archive, checks
each bundle's content against its name, watches over its process, compares, and makes the row. Both are CPU seconds
(of both processes of the runner), so that what else the machine does hardly shows. Rounds alternate; medians count.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.runner import tensors
from harness.runner.archive import Archive
from harness.runner.supervise import Settings, Supervisor


def bare(models: Sequence[Any]) -> None:
    import onnxruntime

    for model, sets in models:
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
            names = [item.name for item in session.get_inputs()]
            for arrays in sets:
                session.run(None, dict(zip(names, arrays)))
        except Exception:  # a file that the runtime refuses is work all the same
            continue


def read(archive: Archive, places: Sequence[int]) -> list[Any]:
    found = []
    for place in places:
        bundle = archive.read(archive.entries[place].bundle)
        found.append((bundle.model, [[tensors.read(data) for data in files] for files in bundle.inputs]))
    return found


def supervised(path: Path, places: Sequence[int]) -> float:
    """CPU seconds of both processes for these bundles, those of starting the runtime taken off."""
    settings = Settings([sys.executable, "-m", "harness.runner"], path, "onnxruntime", "cpu")

    def run(some: Sequence[int]) -> float:
        before = spent()
        with Supervisor(settings) as supervisor:
            for _ in supervisor.run(some):
                pass
        return spent() - before

    few = places[:1]
    return run(places) - run(few)


def spent() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--bundles", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    archive = Archive(options.archive)
    step = max(1, len(archive.entries) // options.bundles)
    places = list(range(0, len(archive.entries), step))[: options.bundles]
    models = read(archive, places)
    bare(models[:50])
    times: Any = {"bare": [], "runner": []}
    for _ in range(options.rounds):
        started = spent()
        bare(models)
        times["bare"].append(spent() - started)
        times["runner"].append(supervised(options.archive, places))
    rates = {name: len(places) / statistics.median(seconds) for name, seconds in times.items()}
    found = {"bundles": len(places), "per_second": rates, "ratio": rates["runner"] / rates["bare"]}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
