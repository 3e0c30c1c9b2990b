"""The module under measurement: a variant as an ``nn.Module`` with parameters that no torch release changes."""

from __future__ import annotations

import inspect
import linecache
import textwrap
import zlib
from typing import Any, Callable, Dict, List, Sequence, Tuple

from caniexport.model.case import Variant
from caniexport.model.tensors import make_values
from caniexport.worker.exporters import find_argument_names, read_torch_version

#: before this release TorchScript calls a method what its ``def`` says, not what the module calls it
_NAMES_METHODS_BY_ATTRIBUTE = (1, 8)


def build_module(variant: Variant, case_id: str) -> Any:
    """A fresh module in evaluation mode whose ``forward`` is the variant's."""
    import torch

    case = variant.case
    forward = variant.forward
    if forward.__name__ != "forward" and read_torch_version() < _NAMES_METHODS_BY_ATTRIBUTE:
        forward = _rename_to_forward(forward)
    attributes = {"forward": forward, "__module__": case.__module__, "__doc__": case.__doc__}
    module = type(case.__name__, (torch.nn.Module,), attributes)()
    case.setup(module)
    if case.fills_parameters:
        _fill_parameters(module, case_id)
    return module.eval()


def make_arrays(variant: Variant, case_id: str) -> List[Tuple[Any, ...]]:
    """All input sets as numpy arrays and plain values. Variants that share their case's inputs get equal values."""
    return [
        tuple(make_values(item, "{}/{}/{}".format(case_id, index, position)) for position, item in enumerate(inputs))
        for index, inputs in enumerate(variant.inputs)
    ]


def to_tensors(item: Any) -> Any:
    """Arrays as fresh torch tensors (copies: a forward may write into them); everything else as it is."""
    import numpy as np
    import torch

    if isinstance(item, np.ndarray):
        return torch.from_numpy(item.copy())
    if isinstance(item, (list, tuple)):
        return type(item)(to_tensors(part) for part in item)
    if isinstance(item, dict):
        return {key: to_tensors(part) for key, part in item.items()}
    return item


def flatten_output(output: Any) -> List[Any]:
    """A module's output as a flat list of numpy arrays, in the order in which exporters write them."""
    import numpy as np

    if output is None:
        return []
    if isinstance(output, (list, tuple)):
        return [array for part in output for array in flatten_output(part)]
    if isinstance(output, dict):
        return [array for part in output.values() for array in flatten_output(part)]
    if hasattr(output, "detach"):
        return [np.array(output.detach().cpu().numpy())]
    return [np.asarray(output)]


def arrays_by_name(variant: Variant, inputs: Sequence[Any]) -> Dict[str, Any]:
    """The arguments of one input set by name, numbers as torch would make them tensors; nested ones are left out."""
    import numpy as np

    found = {}
    for name, item in zip(find_argument_names(variant.forward, len(inputs)), inputs):
        if isinstance(item, float):
            found[name] = np.asarray(item, dtype="float32")
        elif isinstance(item, (np.ndarray, int)):
            found[name] = np.asarray(item)
    return found


def arrays_in_order(inputs: Sequence[Any]) -> List[Any]:
    """The arrays of one input set in order, nested ones unpacked, plain numbers left out."""
    import numpy as np

    flat: List[Any] = []
    for item in inputs:
        if isinstance(item, (list, tuple)):
            flat += arrays_in_order(item)
        elif isinstance(item, dict):
            flat += arrays_in_order(list(item.values()))
        elif isinstance(item, np.ndarray):
            flat.append(item)
    return flat


def _rename_to_forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function written as ``def forward``; its source stays where TorchScript's compiler looks for it."""
    lines = textwrap.dedent(inspect.getsource(function)).split("\n")
    start = next(index for index, line in enumerate(lines) if line.startswith("def "))
    text = "\n".join(lines[start:]).replace("def {}(".format(function.__name__), "def forward(", 1)
    name = "<{} as forward>".format(function.__qualname__)
    linecache.cache[name] = (len(text), None, [line + "\n" for line in text.split("\n")], name)
    made: Dict[str, Any] = {}
    exec(compile(text, name, "exec"), function.__globals__, made)
    forward: Callable[..., Any] = made["forward"]
    return forward


def _fill_parameters(module: Any, case_id: str) -> None:
    """Give every floating point parameter the same values on every release (torch's own initialisation changed)."""
    import numpy as np
    import torch

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not parameter.dtype.is_floating_point:
                continue
            seed = zlib.crc32("{}:{}".format(case_id, name).encode("utf-8")) & 0xFFFFFFFF
            drawn = np.random.RandomState(seed).uniform(-0.5, 0.5, size=tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(np.asarray(drawn, dtype="float32")))
