"""Writes ``cases/operators/used.json``: in how many models each operator of torch is called.

``python benchmarks/models/count_operators.py FILE`` in an environment with torch and the models' packages, with
``harness`` on ``PYTHONPATH``, runs the models of ``cases/models`` and writes the functions that each calls, as torch
names them. ``--write FILE`` counts them by the key of the operator's name, in the environment of this repository.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "cases" / "operators" / "used.json"


def called(variant: Any, case: str) -> list[str]:
    """The functions of torch that a model calls."""
    import torch
    from torch.overrides import TorchFunctionMode, resolve_name

    from caniexport.worker import subject

    found = set()

    class Note(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.add(resolve_name(function) or getattr(function, "__name__", ""))
            return function(*args, **(kwargs or {}))

    module = subject.build_module(variant, case)
    inputs = [subject.to_tensors(item) for item in subject.make_arrays(variant, case)[0]]
    with torch.no_grad(), Note():
        module(*inputs)
    return sorted(found)


def run(target: Path) -> None:
    """Run every model, and write what each calls; models that do not run are told, and what tests skip is left out."""
    import torch

    from caniexport.model import corpus

    names = {}
    for case, item in corpus.load([ROOT / "cases" / "models"], stand_in=False).items():
        if item.theme in ("skipped", "decoding"):
            continue
        try:
            names[case] = called(item.variants["plain"], case)
        except Exception as error:  # whatever a package raises
            print(f"{case}: {type(error).__name__}: {str(error)[:100]}", flush=True)
    target.write_text(json.dumps({"torch": torch.__version__, "models": names}), encoding="utf-8")


def write(noted: Path) -> None:
    """Count in how many models each operator is called, by the key of its name."""
    from caniexport.operators import operator_key

    told = json.loads(noted.read_text(encoding="utf-8"))
    keys = Counter(key for names in told["models"].values() for key in {operator_key(_plain(name)) for name in names})
    counts = {key: count for key, count in sorted(keys.items(), key=lambda item: (-item[1], item[0])) if key}
    lines = ",\n".join(f"{json.dumps(key)}: {count}" for key, count in counts.items())
    head = f'"torch": {json.dumps(told["torch"])}, "models": {len(told["models"])}'
    TARGET.write_text(f'{{{head}, "operators": {{\n{lines}\n}}}}\n', encoding="utf-8")


def _plain(name: str) -> str:
    """A function as people write it; empty for what is an attribute of a tensor alone."""
    return "" if name.endswith(".__get__") else name.replace("torch.functional.", "torch.")


if __name__ == "__main__":
    write(Path(sys.argv[2])) if sys.argv[1] == "--write" else run(Path(sys.argv[1]))
