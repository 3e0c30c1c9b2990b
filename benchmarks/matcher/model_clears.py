"""Is a real model ever said to be untouched by known failures, and fails?

``python benchmarks/matcher/models.py --export FOLDER`` writes the models by trace at opset 18, in an environment of
the release with their packages; ``python benchmarks/matcher/model_clears.py FOLDER 2.15.0`` then asks
``upgrade --model`` of each that works by trace there what dynamo makes of it. ``failures`` of ``models.jsonl`` tell
the truth.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from caniexport.answers.filters import Filters
from caniexport.answers.model_file import read_model
from caniexport.answers.upgrade import upgrade
from caniexport.model.status import Exporter
from caniexport.store import Dataset

HERE = Path(__file__).parent


def main() -> int:
    """Print what is said of each model, and the counts."""
    folder, torch = Path(sys.argv[1]), sys.argv[2]
    dataset = Dataset.open(HERE.parents[1] / "results", None)
    clear = false = 0
    for line in (HERE / "models.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = folder / f"{row['model']}.onnx"
        failing = {one["exporter"] for one in row["failures"][torch]}
        if not path.is_file() or Exporter.TRACE.value in failing:
            continue
        before = {"torch": torch, "exporter": Exporter.TRACE.value, "opset": "18"}
        target = upgrade(dataset, before, before | {"exporter": "dynamo"}, Filters(), read_model(path, ()).graph).target
        fails = Exporter.DYNAMO.value in failing
        clear += target.is_known
        false += target.is_known and fails
        assert target.model is not None
        unseen = f", nothing known of {', '.join(target.model.unseen)}" if target.model.unseen else ""
        print(f"{row['model']:26} {'fails' if fails else 'works'}: {target.model.word}{unseen}")
    print(f"all clears: {clear}, false: {false}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
