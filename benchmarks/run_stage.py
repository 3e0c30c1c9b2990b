"""Bundles a second through the whole runner, against a bare onnxruntime loop over the same files in the same run.

::

    python benchmarks/run_stage.py bundles.zip --bundles 1500 --rounds 5

Run it with the Python of an environment that has onnxruntime and numpy; the archive is one of `caniexport bundles
pack`. What is compared:

bare loop  what a script does without us: for each model in a folder, a session made from its path (one thread), its
           inputs read from .npy files beside it, one run. Nothing is compared, nothing is written, a model that fails
           is stepped over, and one that kills the process would end everything
in memory  the same loop with models and arrays in memory already: onnxruntime's own work and no other
runner     the whole command, `python ARCHIVE`: archive, check of each bundle's content against its name,
           two processes of which one watches the other, comparison with eager's outputs, a row for each in a journal

All in CPU seconds, those of both processes of the runner, so that what else the machine does hardly shows. What a start
costs is taken off the runner's (that of a run of one bundle). Rounds alternate; medians count.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from caniexport.runner import tensors
from caniexport.runner.archive import Archive

ROOT = Path(__file__).resolve().parent.parent


def unpack(archive: Archive, places: Sequence[int], folder: Path) -> list[Any]:
    """Write each bundle as a folder of its own; (model, arrays of every input set) of each come back."""
    import numpy

    found = []
    for place in places:
        bundle = archive.read(archive.entries[place].bundle)
        here = folder / str(place)
        here.mkdir()
        (here / "model.onnx").write_bytes(bundle.model)
        sets = [[tensors.read_tensor(data) for data in files] for files in bundle.inputs]
        for number, arrays in enumerate(sets):
            for position, array in enumerate(arrays):
                numpy.save(here / f"{number}_{position}.npy", array)
        found.append((bundle.model, sets))
    return found


def from_disk(folder: Path, shapes: Sequence[tuple[int, Sequence[int]]]) -> None:
    """``shapes``: the folder's name, and how many inputs each of its sets has."""
    import numpy

    for place, sets in shapes:
        here = f"{folder}/{place}"
        try:
            session = create(f"{here}/model.onnx")
            names = [item.name for item in session.get_inputs()]
            for number, count in enumerate(sets):
                arrays = [numpy.load(f"{here}/{number}_{position}.npy") for position in range(count)]
                session.run(None, dict(zip(names, arrays)))
        except Exception:  # a file that the runtime refuses is work all the same
            continue


def in_memory(models: Sequence[Any]) -> None:
    for model, sets in models:
        try:
            session = create(model)
            names = [item.name for item in session.get_inputs()]
            for arrays in sets:
                session.run(None, dict(zip(names, arrays)))
        except Exception:  # as above
            continue


def create(model: Any) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def runner(path: Path, done: Path, folder: Path) -> None:
    command = [sys.executable, str(path), "--runtime", "onnxruntime", "-o", str(folder)]
    subprocess.run([*command, "--done", str(done)], check=True, stdout=subprocess.DEVNULL)


def spent(work: Callable[[], None]) -> float:
    """CPU seconds of this process and of its children that have ended."""

    def now() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    before = now()
    work()
    return now() - before


def without(archive: Archive, places: Sequence[int], file: Path) -> Path:
    """A file that names all bundles but these as done."""
    wanted = set(places)
    left = [entry.key for place, entry in enumerate(archive.entries) if place not in wanted]
    file.write_text("\n".join(left), encoding="utf-8")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--bundles", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    archive = Archive(options.archive)
    step = max(1, len(archive.entries) // options.bundles)
    places = list(range(0, len(archive.entries), step))[: options.bundles]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = unpack(archive, places, folder)
        shapes = [(place, [len(arrays) for arrays in sets]) for place, (_, sets) in zip(places, models)]
        all_done, one_done = without(archive, places, folder / "all"), without(archive, places[:1], folder / "one")
        in_memory(models[:50])
        times: Any = {"bare": [], "in_memory": [], "runner": []}
        for _ in range(options.rounds):
            times["bare"].append(spent(lambda: from_disk(folder, shapes)))
            times["in_memory"].append(spent(lambda: in_memory(models)))
            start = spent(lambda: runner(options.archive, one_done, folder / "rows"))
            times["runner"].append(spent(lambda: runner(options.archive, all_done, folder / "rows")) - start)
    rates = {name: len(places) / statistics.median(seconds) for name, seconds in times.items()}
    ratios = {name: rates["runner"] / rates[name] for name in ("bare", "in_memory")}
    sys.stdout.write(json.dumps({"bundles": len(places), "per_second": rates, "ratio": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
