"""What the installed torch and onnx say of themselves: operator tables, for comparison with what is measured.

``python -m caniexport.worker.declared --release 2.8.0 --out FILE`` inside a release's environment writes one JSON file:
``{"release", "torch", "onnx", "onnxscript", "rows": [[by, op, opsets], ...]}`` where ``by`` is ``torchscript``
(the symbolic registry), ``dynamo`` (torchlib's registry) or ``onnx`` (``onnx.defs``), ``op`` is named as torch and ONNX
name it (``aten::add``, ``aten::add.Tensor``, ``Add``), and ``opsets`` are those at which it is registered; for ``onnx``
those that changed it. A registered rule is no promise: it may refuse what it is given.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import sys
from typing import Any, Dict, FrozenSet, Iterator, List, Tuple

from caniexport.model import releases
from caniexport.worker.envinfo import find_version, strip_local_part

Row = Tuple[str, str, List[int]]
_REGISTRATION = (
    "torch.onnx._internal.torchscript_exporter.registration",
    "torch.onnx._internal.registration",
)
_RULES = ("torch.onnx.symbolic_opset{}", "torch.onnx._internal.torchscript_exporter.symbolic_opset{}")
_FIRST_OPSET = 7
#: the packages that have the tables
_PACKAGES = ("torch", "onnx", "onnxscript")
#: a variable that is ``no`` where nobody will ask for the tables
_WANTED = "CANIEXPORT_TABLES"
#: opsets of torchlib's own files; below them the exporter converts
_TORCHLIB = range(18, 28)


def read_tables(release: releases.Release) -> List[Row]:
    """Every table the installed packages carry, sorted."""
    import onnx
    import torch  # noqa: F401  # its registries fill when it is imported

    found = list(_read_torchscript(release.torchscript[1]))
    if release.dynamo:
        found += _read_dynamo()
    for schema in onnx.defs.get_all_schemas_with_history():
        name = schema.name if schema.domain == "" else "{}::{}".format(schema.domain, schema.name)
        found.append(("onnx", name, [schema.since_version]))
    return _merge_rows(found)


def _read_torchscript(highest: int) -> Iterator[Row]:
    for opset in range(_FIRST_OPSET, highest + 1):
        # newer releases import an opset's rules when they are first used
        for name in _RULES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name.format(opset))
    for name in _REGISTRATION:
        with contextlib.suppress(ImportError):
            registry = importlib.import_module(name).registry
            for opset in range(_FIRST_OPSET, highest + 1):
                for op in registry.all_functions():
                    group = registry.get_function_group(op)
                    if group is not None and group.get(opset) is not None:
                        yield "torchscript", op, [opset]
            return
    try:
        from torch.onnx import symbolic_registry
    except ImportError:
        # 1.0 and 1.1: a module of functions, for opset 9
        yield from _read_functions("torch.onnx.symbolic", 9)
        return
    for opset in range(_FIRST_OPSET, highest + 1):
        symbolic_registry.register_version("", opset)
        for op in symbolic_registry._registry.get(("", opset), {}):
            yield "torchscript", _add_namespace(op), [opset]


def _read_functions(name: str, opset: int) -> Iterator[Row]:
    module = importlib.import_module(name)
    for op, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == name and not op.startswith("_"):
            yield "torchscript", _add_namespace(op), [opset]


def _add_namespace(op: str) -> str:
    """The registries up to 1.12 have no namespaces."""
    if op.startswith("prim_"):
        return "prim::" + op[len("prim_") :]
    known = _read_schema_names()
    return "prim::" + op if "prim::" + op in known and "aten::" + op not in known else "aten::" + op


@functools.lru_cache(maxsize=None)
def _read_schema_names() -> FrozenSet[str]:
    import torch

    list_all = getattr(torch._C, "_jit_get_all_schemas", None)
    return frozenset(schema.name for schema in list_all()) if list_all is not None else frozenset()


def _read_dynamo() -> Iterator[Row]:
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry
    except ImportError:
        yield from _read_dynamo_export()
        return
    if "opset_version" not in inspect.signature(ONNXRegistry.from_torchlib).parameters:
        for target in ONNXRegistry.from_torchlib().functions:
            yield "dynamo", _name_target(target), [18]
        return
    for opset in _TORCHLIB:
        for target in ONNXRegistry.from_torchlib(opset_version=opset).functions:
            yield "dynamo", _name_target(target), [opset]


def _read_dynamo_export() -> Iterator[Row]:
    """2.1 - 2.4: ``torch.onnx.dynamo_export`` has a registry of its own, for opset 18."""
    import torch

    registry = torch.onnx.OnnxRegistry()
    for name in registry._registry:
        overload = "" if name.overload in ("", "default") else "." + name.overload
        yield "dynamo", "{}::{}{}".format(name.namespace, name.op_name, overload), [18]


def _name_target(target: Any) -> str:
    if isinstance(target, str):
        return target
    name = getattr(target, "name", None)
    if callable(name):
        return str(name())
    # Python's own: _operator::add, math::ceil
    return "{}::{}".format(getattr(target, "__module__", ""), getattr(target, "__qualname__", target))


def _merge_rows(found: List[Row]) -> List[Row]:
    merged: Dict[Tuple[str, str], List[int]] = {}
    for by, op, opsets in found:
        merged.setdefault((by, op), []).extend(opsets)
    return [(by, op, sorted(set(opsets))) for (by, op), opsets in sorted(merged.items())]


def _has_tables(path: str, content: Dict[str, Any]) -> bool:
    """Whether a file has the tables of these packages already: reading them takes up to half a minute."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return all(found.get(name) == version for name, version in content.items())
    except (OSError, ValueError, AttributeError):
        return False


def main() -> int:
    """Write the tables, unless they are known; the environment is tox's, or named by ``--release``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--release", default=releases.parse_environment_name(os.environ.get("TOX_ENV_NAME", "")).release
    )
    parser.add_argument("--out", required=True, help="folder; the file is named after the release")
    arguments = parser.parse_args()
    release = releases.find(arguments.release)
    path = os.path.join(arguments.out, "torch-{}.json".format(release.torch))
    content: Dict[str, Any] = {name: strip_local_part(find_version(name)) for name in _PACKAGES}
    content["release"] = release.torch
    if os.environ.get(_WANTED) == "no" or _has_tables(path, content):
        return 0
    # torch tells of every package that it does not find
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        content["rows"] = read_tables(release)
    os.makedirs(arguments.out, exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(path + ".part", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
