"""All of torch's export API drift, 1.0 to 2.15, in one place.

==============  ==========================================================================================
release         what changes
==============  ==========================================================================================
1.0             no ``opset_version``, no ``dynamic_axes`` (1.2): what the release cannot be asked is left out
1.2             ``torch.jit.script`` of a module; its export works from 1.5
up to 1.9       exporting a scripted module needs ``example_outputs``
2.1 - 2.4       ``torch.onnx.dynamo_export``: opset 18, no opset argument
2.5             ``export(dynamo=True)``; ``dynamic_shapes`` instead of ``dynamic_axes``
2.9             ``dynamo=True`` is the default; the TorchScript exporter is asked for with ``dynamo=False``
==============  ==========================================================================================
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import os
import tempfile
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from caniexport.model.case import Dynamic
from caniexport.model.status import Exporter


class Request(NamedTuple):
    """One export call: the module, its arguments and what is asked for."""

    module: Any
    args: Tuple[Any, ...]
    exporter: str
    opset: Optional[int]
    input_names: Tuple[str, ...]
    output_names: Tuple[str, ...]
    dynamic: Dynamic
    options: Dict[str, Any]
    example_outputs: Any


def export(request: Request) -> bytes:
    """Export and return the serialised ``onnx.ModelProto``. Whatever torch raises passes through."""
    if request.exporter == Exporter.TRACE.value:
        return _torchscript(request, request.module)
    if request.exporter == Exporter.SCRIPT.value:
        return _torchscript(request, _scripted(request.module), scripted=True)
    if request.exporter == Exporter.DYNAMO.value:
        return _dynamo_export(request) if _only_dynamo_export() else _dynamo(request)
    return _default(request)


def torch_version() -> Tuple[int, int]:
    """Major and minor version of the torch that is imported."""
    import torch

    major, minor = torch.__version__.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def default_opset() -> Optional[int]:
    """The opset of a call that names none; ``None`` where the release does not say (1.0)."""
    for module in ("torch.onnx._constants", "torch.onnx.symbolic_helper", "torch.onnx.symbolic"):
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        for name in ("ONNX_DEFAULT_OPSET", "onnx_default_opset", "_default_onnx_opset_version"):
            if isinstance(getattr(found, name, None), int):
                return int(getattr(found, name))
    return None


def _torchscript(request: Request, module: Any, scripted: bool = False) -> bytes:
    import torch

    buffer = io.BytesIO()
    options = _named(request)
    if request.opset is not None and torch_version() >= (1, 1):
        options["opset_version"] = request.opset
    if request.dynamic and torch_version() >= (1, 2):
        options["dynamic_axes"] = _dynamic_axes(request.dynamic)
    if torch_version() >= (2, 5):
        options["dynamo"] = False
    if (scripted or _is_script_module(module)) and torch_version() < (1, 10):
        options["example_outputs"] = request.example_outputs
    options.update(request.options)
    torch.onnx.export(module, request.args, buffer, **options)
    return buffer.getvalue()


def _scripted(module: Any) -> Any:
    import torch

    return module if _is_script_module(module) else torch.jit.script(module)


def _is_script_module(module: Any) -> bool:
    import torch

    return isinstance(module, getattr(torch.jit, "ScriptModule", ()))


def _dynamo(request: Request) -> bytes:
    import torch

    options: Dict[str, Any] = dict(_named(request), dynamo=True)
    if request.opset is not None:
        options["opset_version"] = request.opset
    if request.dynamic:
        options["dynamic_shapes"] = _dynamic_shapes(request)
    options.update(request.options)
    program = torch.onnx.export(request.module, request.args, **options)
    return _content(program.model_proto.SerializeToString())


def _only_dynamo_export() -> bool:
    return torch_version() < (2, 5)


def _dynamo_export(request: Request) -> bytes:
    """2.1 - 2.4. The old API takes no names; options that are not its own raise there as they would for a user."""
    import torch

    settings = torch.onnx.ExportOptions(dynamic_shapes=True) if request.dynamic else None
    options = dict(request.options)
    if settings is not None:
        options["export_options"] = settings
    program = torch.onnx.dynamo_export(request.module, *request.args, **options)
    return _content(program.model_proto.SerializeToString())


def _default(request: Request) -> bytes:
    """The bare call with a file name. Dynamic axes are part of a case, so they are said as they always were."""
    import torch

    options = dict(request.options)
    if request.dynamic and torch_version() >= (1, 2):
        options["input_names"] = list(request.input_names)
        options["dynamic_axes"] = _dynamic_axes(request.dynamic)
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(request.module, request.args, path, **options)
        return _read(path)


def _read(path: str) -> bytes:
    """A file with its external data (``model.onnx.data``); ``files`` in its metadata is how many there were."""
    import onnx

    with open(path, "rb") as file:
        content = file.read()
    written = len(os.listdir(os.path.dirname(path)))
    if written == 1:
        return content
    model = onnx.load(path)
    model.metadata_props.add(key="files", value=str(written))
    return _content(model.SerializeToString())


def _content(serialised: Any) -> bytes:
    return bytes(serialised)


def _named(request: Request) -> Dict[str, Any]:
    options: Dict[str, Any] = {}
    if request.input_names:
        options["input_names"] = list(request.input_names)
    if request.output_names:
        options["output_names"] = list(request.output_names)
    return options


def _dynamic_axes(dynamic: Dynamic) -> Dict[str, Any]:
    return {name: axes if isinstance(axes, list) else dict(axes) for name, axes in dynamic.items()}


def _dynamic_shapes(request: Request) -> Dict[str, Any]:
    """``dynamic_axes`` as ``dynamic_shapes``: by argument, ``None`` for one that stays static; outputs are left out."""
    names = argument_names(type(request.module).forward, len(request.args))
    return {name: _dims(request.dynamic.get(name)) for name in names}


def _dims(axes: Any) -> Optional[Dict[int, Any]]:
    import torch

    if not axes:
        return None
    named = axes if isinstance(axes, dict) else {axis: "axis_{}".format(axis) for axis in axes}
    anything = getattr(torch.export.Dim, "DYNAMIC", None)
    return {axis: anything if anything is not None else torch.export.Dim(name) for axis, name in named.items()}


@functools.lru_cache(maxsize=None)
def argument_names(forward: Any, count: int) -> Sequence[str]:
    """The first ``count`` argument names of a ``forward(self, ...)``."""
    return [name for name in inspect.signature(forward).parameters if name != "self"][:count]
