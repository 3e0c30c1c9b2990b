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
from caniexport.reproduce.model_script import write_model_script
from caniexport.store import Dataset

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
    chance = random.Random(asked.seed)
    chance.shuffle(rows)
    bad = [row for row in rows if row[5] in ("fail", "mismatch")][: asked.cells // 2]
    drawn = bad + [row for row in rows if row not in bad][: asked.cells - len(bad)]
    agreeing = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, variant, exporter, opset, stage, status in drawn:
            found = cases[case]
            text = write_model_script(found.cls, found.variants[variant], exporter, opset, (status, stage))
            script = Path(folder) / "model.py"
            script.write_text(text, encoding="utf-8")
            command = [str(asked.python.absolute()), str(script)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
            agreeing += done.returncode == 0
            if done.returncode:
                last = "\n".join((done.stdout or done.stderr).strip().splitlines()[-3:])
                print(f"{asked.torch}/{case}/{variant}/{exporter}: published {status} at {stage}\n{last}", flush=True)
    print(f"torch {asked.torch}: {agreeing} of {len(drawn)} rows agree", flush=True)
    return int(agreeing < len(drawn))


if __name__ == "__main__":
    sys.exit(main())
