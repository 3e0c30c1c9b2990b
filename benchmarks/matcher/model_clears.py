"""Is a real model ever said to be untouched by known failures, and fails?

``python benchmarks/matcher/models.py --export FOLDER`` writes the models by trace at opset 18, in an environment of a
release with their packages; ``python benchmarks/matcher/model_clears.py FOLDER 2.5.1 2.15.0 trace`` then asks
``upgrade --model`` of each what becomes of it at another release, or with another exporter. ``failures`` of
``models.jsonl`` tell the truth; what is known to fail by trace where it comes from is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caniexport.answers.filters import Filters
from caniexport.answers.model_file import read_model
from caniexport.answers.select import exporter_name
from caniexport.answers.upgrade import upgrade
from caniexport.model.status import Exporter
from caniexport.store import Dataset

HERE = Path(__file__).parent


def main() -> int:
    """Print what is said of each model, and the counts."""
    folder, source, target, exporter = Path(sys.argv[1]), *sys.argv[2:]
    dataset = Dataset.open(HERE.parents[1] / "results", None)
    clear = false = 0
    for line in (HERE / "models.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = folder / f"{row['model']}.onnx"
        if not path.is_file() or Exporter.TRACE.value in _failing(row, source):
            continue
        before = {"torch": source, "exporter": Exporter.TRACE.value, "opset": "18"}
        after = {"torch": target, "exporter": exporter_name(exporter), "opset": "18"}
        found = upgrade(dataset, before, after, Filters(), read_model(path, ())).target
        fails = after["exporter"] in _failing(row, target)
        clear += found.is_known
        false += found.is_known and fails
        assert found.model is not None
        unseen = f", nothing known of {', '.join(found.model.unseen)}" if found.model.unseen else ""
        word = "all clear" if found.is_known else found.model.word.value
        print(f"{row['model']:26} {'fails' if fails else 'works'}: {word}{unseen}")
    print(f"all clears: {clear}, false: {false}")
    return 0


def _failing(row: Mapping[str, Any], torch: str) -> set[str]:
    """The exporters by which a model is known to fail at a release."""
    return {one["exporter"] for one in (row["failures"] or {}).get(torch, ())}


if __name__ == "__main__":
    sys.exit(main())
