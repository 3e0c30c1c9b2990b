"""Random rows of whole models against the plain script, in the environment that measured them.

    python benchmarks/models/audit.py --torch 2.15.0 --python .tox/torch2.15.0-cpu/bin/python --cells 20 --seed 149

The script (`caniexport reproduce MODEL`) imports nothing of ours. Each row has a process; prints every row that the
script does not come to, and how many it does. Of a row whose process ended (crash, time, memory) nothing is asked.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from caniexport import home as homes
from caniexport.home import NEWEST
from caniexport.model.architectures import MODELS
from caniexport.model.decoders import EXPORTABLE_MODULE
from caniexport.reproduce.model_script import write_model_script
from caniexport.store import Dataset

#: in the environment: the packages once, then a fork for each script
RUN = """
import contextlib, importlib, os, runpy, sys, traceback
for name in ("torch", "onnx", "onnxruntime", "transformers", "timm", "torchvision"):
    with contextlib.suppress(Exception):
        importlib.import_module(name)
sys.modules["torch"].set_num_threads(1)
for number in range(int(sys.argv[1])):
    if os.fork() == 0:
        code = 1
        with open(f"{number}.txt", "w") as file, contextlib.redirect_stdout(file):
            try:
                runpy.run_path(f"{number}.py", run_name="__main__")
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:
                traceback.print_exc(file=file)
            print(f"exit {code}", end="")
        os._exit(code)
    os.wait()
    if not os.path.exists(f"{number}.txt"):
        open(f"{number}.txt", "w").close()
"""
ENDS = ("pass", "degraded", "fail", "mismatch", "skip")


def main() -> int:
    """Draw the rows, half of them failing ones, and run them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--profile", default=NEWEST)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    home = homes.find().of_corpus(MODELS).of(asked.profile)
    dataset, cases = Dataset.open(home.published, home.local), home.read_cases()
    columns = ("case", "variant", "exporter", "opset", "stage", "status")
    rows = sorted(dataset.select(columns, {"torch": (asked.torch,), "corpus": (MODELS,), "status": ENDS}), key=str)
    rows = [row for row in rows if row[1] != EXPORTABLE_MODULE]
    chance = random.Random(asked.seed)
    chance.shuffle(rows)
    bad = [row for row in rows if row[5] in ("fail", "mismatch")][: asked.cells // 2]
    drawn = bad + [row for row in rows if row not in bad][: asked.cells - len(bad)]
    with tempfile.TemporaryDirectory() as folder:
        for number, (case, variant, exporter, opset, stage, status) in enumerate(drawn):
            found = cases[case]
            text = write_model_script(found.cls, found.variants[variant], exporter, opset, (status, stage))
            Path(folder, f"{number}.py").write_text(text, encoding="utf-8")
        command = [str(asked.python.absolute()), "-c", RUN, str(len(drawn))]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        said = [Path(folder, f"{number}.txt").read_text(encoding="utf-8") for number in range(len(drawn))]
    differing = [(row, text) for row, text in zip(drawn, said, strict=True) if not text.endswith("exit 0")]
    for (case, variant, exporter, _, stage, status), text in differing:
        last = "\n".join(text.splitlines()[-4:])
        print(f"{asked.torch}/{case}/{variant}/{exporter}: published {status} at {stage}\n{last}", flush=True)
    print(f"torch {asked.torch}: {len(drawn) - len(differing)} of {len(drawn)} rows agree", flush=True)
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
