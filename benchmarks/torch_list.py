"""torch's own list of the operators that TorchScript exports, beside what was measured.

``python benchmarks/torch_list.py FILE`` in an environment with torch 1.13 to 2.8 writes the list that its documentation
was made of; ``--compare FILE RELEASE`` prints, in the environment of this repository, how many of its operators pass.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

#: how much of an operator passes, at the best of the opsets that were asked
_ENDS = ("all pass", "some pass", "none passes")


def write(target: Path) -> None:
    """Write the operators with and without a rule, and the opset from which on the list has it."""
    from torch.onnx import _onnx_supported_ops as told

    rules = told.all_symbolics_schemas()
    names = {name.removesuffix("_") for name in told.all_forward_schemas()}
    listed = {name: min(rules[name].opsets) for name in sorted(names) if name in rules}
    target.write_text(json.dumps({"listed": listed, "unlisted": sorted(names - set(listed))}), encoding="utf-8")


def compare(source: Path, release: str) -> None:
    """Print what the list says against the samples in a release, in the dtype that each operator is judged by."""
    from caniexport.answers.samples import name_keys, read_sampled
    from caniexport.api import open as open_dataset
    from caniexport.operators import operator_key
    from caniexport.store.views import Views

    told = json.loads(source.read_text(encoding="utf-8"))
    since = {operator_key(name): opset for name, opset in told["listed"].items()}
    unlisted = {operator_key(name) for name in told["unlisted"]}
    where = "torch = $1 AND exporter = 'torchscript-trace' AND form IS NULL AND dtype = first_dtype"
    rows = {row.op: row.ends for row in read_sampled(Views.of(open_dataset()), where, [release])}
    found = defaultdict(list)
    early: Counter[bool] = Counter()
    for op, own in sorted(rows.items()):
        keys = name_keys(op)
        kind = "listed" if keys & set(since) else "not yet supported" if keys & unlisted else "no operator of aten"
        end = 0 if any(row.works for row in own) else 1 if any(row.passing for row in own) else 2
        found[kind, _ENDS[end]].append(op)
        first = min((since[key] for key in keys if key in since), default=0)
        early.update(row.works for row in own if row.opset < first)
    for (kind, end), ops in sorted(found.items()):
        print(f"{kind}, {end}: {len(ops)}  {' '.join(ops) if (kind == 'listed') == (end == _ENDS[2]) else ''}")
    print(f"below the opset that the list says: {early[True]} of {early.total()} pass")


if __name__ == "__main__":
    compare(Path(sys.argv[2]), sys.argv[3]) if sys.argv[1] == "--compare" else write(Path(sys.argv[1]))
