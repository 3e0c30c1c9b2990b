"""Cells one after the other by the plain script, each in a process of its own: for the Python of an environment.

``python script.py CELLS.json FOUND.jsonl SECONDS``. Of the harness only what case files are written with is there
(``Case``, ``fix``, inputs as data; for torch's operators what makes their calls), and
:mod:`caniexport.reproduce.plain`. A line of FOUND is a cell's number and its end. Python 3.7.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import os
import sys
import tempfile
import textwrap
import types
from typing import Any, Callable, Dict, Tuple

import torch

from caniexport.model.case import Case
from caniexport.model.tensors import make_values
from caniexport.reproduce import plain


def main(cells_file: str, found_file: str, seconds: float) -> None:
    """Each cell in turn; a second time with twice the seconds where it ran out of them."""
    for name in ("onnxscript", "torch._dynamo", "torch.onnx._internal.exporter"):
        with contextlib.suppress(ImportError):  # once, before the forks; old releases have not all of them
            importlib.import_module(name)
    with contextlib.suppress(ImportError):  # it is there where torch's operators are measured
        importlib.import_module("caniexport.worker.opinfo").entries()
    torch.set_num_threads(1)
    with open(cells_file) as file:
        cells = json.load(file)
    with open(found_file, "w") as file:
        for number, asked in enumerate(cells):
            end = plain.apart(functools.partial(cell, asked), seconds)
            if end.status == "timeout":
                end = plain.apart(functools.partial(cell, asked), seconds * 2)
            file.write(json.dumps([number, end]) + "\n")
            file.flush()


def cell(asked: Dict[str, Any]) -> plain.PlainCell:
    """A cell of a case, out of its file."""
    case, variant = find(asked["file"], asked["case"], asked["variant"])
    inputs = [
        [make_values(part, "{}/{}/{}".format(case.case_id(), index, place)) for place, part in enumerate(given)]
        for index, given in enumerate(variant.inputs)
    ]
    return plain.PlainCell(
        case=case.case_id(),
        module=functools.partial(module, case, variant.forward),
        names=list(inspect.signature(variant.forward).parameters)[1 : 1 + len(inputs[0])],
        inputs=inputs,
        export=getattr(plain, asked["export"]),
        opset=variant.opset(asked["opset"]),
        failing=None if variant.kind == "plain" else functools.partial(module, case, case.forward),
        options=variant.options,
        **{name: getattr(case, name) for name in ("reference", "named", "output_names")},
        **{name: getattr(variant, name) for name in ("changes_values", "dynamic", "prepare", "patch", "surgery")},
        **{name: getattr(variant, name) for name in ("session", "rtol", "atol", "by_largest", "compares_values")},
    )


def find(path: str, name: str, variant: str) -> Tuple[Any, Any]:
    """A case's class out of its file, and one of its variants."""
    own = "audited_" + os.path.basename(path)[:-3]
    made = sys.modules[own] = types.ModuleType(own)
    made.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec", dont_inherit=True), vars(made))
    for item in vars(made).values():
        ours = isinstance(item, type) and issubclass(item, Case) and item.__module__ == own
        if ours and not item.__name__.startswith("_") and item.case_id() == name:
            return item, item.own_variants()[variant]
    raise LookupError(name)


def module(case: Any, function: Callable[..., Any]) -> Any:
    """The case as a module."""
    members = {"forward": as_forward(function), "__module__": case.__module__, "__doc__": case.__doc__}
    made = type(case.__name__, (torch.nn.Module,), members)()
    case.setup(made)
    return made


def as_forward(function: Any) -> Any:
    """Before 1.8 scripting calls a method what its ``def`` says, and the exporter wants one that is called forward."""
    if function.__name__ == "forward" or plain.version() >= (1, 8):
        return function
    text = textwrap.dedent(inspect.getsource(function))
    text = text[text.index("def ") :].replace("def {}(".format(function.__name__), "def forward(", 1)
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    made: Dict[str, Any] = {}
    exec(compile(text, file.name, "exec"), function.__globals__, made)
    return made["forward"]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
