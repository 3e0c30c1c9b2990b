"""What somebody writes to see for themselves whether a model exports: none of the harness's code is used.

``python by_hand.py model.py trace|dynamo OPSET``, in the environment of the model's packages. The last line is JSON:
``["pass"]``, ``["degraded"]`` (the file has another opset than asked for), ``["mismatch", "compare", reason]`` or
``["fail", stage, exception's class, reason]``. Input sets and tolerances are what ``check`` uses for a single set given
and for float32: the set as it is, then the same with each tensor moved on by one along its first axis that matters.
"""

from __future__ import annotations

import copy
import json
import runpy
import sys
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from torch.utils._pytree import tree_leaves, tree_map


def arrays(nested: Any) -> list[Any]:
    """Tensors of nested containers as arrays, as the exporters flatten them."""
    return [leaf.detach().numpy() for leaf in tree_leaves(nested) if isinstance(leaf, torch.Tensor)]


def moved(tensor: Any) -> Any:
    """The same rows, each one place further."""
    turned = (torch.roll(tensor, 1, axis) for axis in range(tensor.dim()))
    return next((other for other in turned if not torch.equal(other, tensor)), tensor)


def stages(path: str, exporter: str, opset: int, at: list[str]) -> list[str]:
    """Eager, export, load, run and compare; ``at`` ends with the stage that was begun last."""
    at.append("eager")
    torch.manual_seed(0)
    module, inputs = runpy.run_path(path)["make"]()
    module.eval()
    sets = [inputs, tree_map(moved, inputs)]
    with torch.no_grad():
        wanted = [arrays(copy.deepcopy(module)(*copy.deepcopy(one))) for one in sets]
    at.append("export")
    torch.onnx.export(module, copy.deepcopy(inputs), "model.onnx", opset_version=opset, dynamo=exporter == "dynamo")
    at.append("load")
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]
    at.append("run")
    got = [session.run(None, dict(zip(names, arrays(one)))) for one in sets]
    at.append("compare")
    for number, (left, right) in enumerate(zip(wanted, got)):
        if [x.shape for x in left] != [x.shape for x in right] or [x.dtype for x in left] != [x.dtype for x in right]:
            return ["mismatch", "compare", f"input set {number}: other shapes or types"]
        if not all(np.allclose(y, x, rtol=1e-4, atol=1e-5, equal_nan=True) for x, y in zip(left, right)):
            return ["mismatch", "compare", f"input set {number}: other values"]
    written = {item.domain: item.version for item in onnx.load("model.onnx").opset_import}[""]
    return ["pass"] if written == opset else ["degraded"]


def main() -> None:
    path, exporter, opset = sys.argv[1:]
    at: list[str] = []
    try:
        said = stages(path, exporter, int(opset), at)
    except Exception as error:  # the answer that is asked for
        said = ["fail", at[-1], type(error).__name__, (str(error).strip().splitlines() or [""])[0][:300]]
    print("\n" + json.dumps(said))


if __name__ == "__main__":
    main()
