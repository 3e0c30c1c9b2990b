"""Call the exporters of every torch release from 1.0 to 2.15.

==============  ==========================================================================================
release         what changes
==============  ==========================================================================================
1.0             no ``opset_version``, no ``dynamic_axes`` (1.2): unsupported arguments are left out
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


class ExportRequest(NamedTuple):
    """One export call: the module, its arguments and the options of the export."""

    module: Any
    args: Tuple[Any, ...]
    exporter: str
    opset: Optional[int]
    input_names: Tuple[str, ...]
    output_names: Tuple[str, ...]
    dynamic: Dynamic
    options: Dict[str, Any]
    example_outputs: Any


def export(request: ExportRequest) -> bytes:
    """Export and return the serialized ``onnx.ModelProto``. Raises what torch raises."""
    if request.exporter == Exporter.TRACE.value:
        return _export_torchscript(request, request.module)
    if request.exporter == Exporter.SCRIPT.value:
        return _export_torchscript(request, _script_module(request.module), scripted=True)
    if request.exporter == Exporter.DYNAMO.value:
        return _call_dynamo_export(request) if read_torch_version() < (2, 5) else _export_dynamo(request)
    return _export_by_default(request)


def read_torch_version() -> Tuple[int, int]:
    """Return major and minor version of torch."""
    import torch

    major, minor = torch.__version__.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def find_default_opset() -> Optional[int]:
    """Return the default opset of the release, ``None`` for 1.0, which has no constant for it."""
    for module in ("torch.onnx._constants", "torch.onnx.symbolic_helper", "torch.onnx.symbolic"):
        try:
            found = importlib.import_module(module)
        except ImportError:
            continue
        for name in ("ONNX_DEFAULT_OPSET", "onnx_default_opset", "_default_onnx_opset_version"):
            if isinstance(getattr(found, name, None), int):
                return int(getattr(found, name))
    return None


def _export_torchscript(request: ExportRequest, module: Any, scripted: bool = False) -> bytes:
    import torch

    buffer = io.BytesIO()
    options = _make_name_options(request)
    if request.opset is not None and read_torch_version() >= (1, 1):
        options["opset_version"] = request.opset
    if request.dynamic and read_torch_version() >= (1, 2):
        options["dynamic_axes"] = _make_dynamic_axes(request.dynamic)
    if read_torch_version() >= (2, 5):
        options["dynamo"] = False
    if (scripted or _is_script_module(module)) and read_torch_version() < (1, 10):
        options["example_outputs"] = request.example_outputs
    options.update(request.options)
    torch.onnx.export(module, request.args, buffer, **options)
    return buffer.getvalue()


def _script_module(module: Any) -> Any:
    import torch

    return module if _is_script_module(module) else torch.jit.script(module)


def _is_script_module(module: Any) -> bool:
    import torch

    return isinstance(module, getattr(torch.jit, "ScriptModule", ()))


def _export_dynamo(request: ExportRequest) -> bytes:
    import torch

    options: Dict[str, Any] = dict(_make_name_options(request), dynamo=True)
    if request.opset is not None:
        options["opset_version"] = request.opset
    if request.dynamic:
        options["dynamic_shapes"] = _make_dynamic_shapes(request)
    options.update(request.options)
    program = torch.onnx.export(request.module, request.args, **options)
    return bytes(program.model_proto.SerializeToString())


def _call_dynamo_export(request: ExportRequest) -> bytes:
    """Export with ``torch.onnx.dynamo_export`` (2.1 - 2.4), which takes no names."""
    import torch

    options = dict(request.options)
    if request.dynamic:
        options["export_options"] = torch.onnx.ExportOptions(dynamic_shapes=True)
    program = torch.onnx.dynamo_export(request.module, *request.args, **options)
    return bytes(program.model_proto.SerializeToString())


def _export_by_default(request: ExportRequest) -> bytes:
    """Call ``torch.onnx.export`` with a file name and the case's dynamic axes only."""
    import torch

    options = dict(request.options)
    if request.dynamic and read_torch_version() >= (1, 2):
        options["input_names"] = list(request.input_names)
        options["dynamic_axes"] = _make_dynamic_axes(request.dynamic)
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(request.module, request.args, path, **options)
        return _read_file(path)


def _read_file(path: str) -> bytes:
    """Read a model with its external data (``model.onnx.data``); note the number of files in its metadata."""
    import onnx

    with open(path, "rb") as file:
        content = file.read()
    written = len(os.listdir(os.path.dirname(path)))
    if written == 1:
        return content
    model = onnx.load(path)
    model.metadata_props.add(key="files", value=str(written))
    return bytes(model.SerializeToString())


def _make_name_options(request: ExportRequest) -> Dict[str, Any]:
    options: Dict[str, Any] = {}
    if request.input_names:
        options["input_names"] = list(request.input_names)
    if request.output_names:
        options["output_names"] = list(request.output_names)
    return options


def _make_dynamic_axes(dynamic: Dynamic) -> Dict[str, Any]:
    return {name: axes if isinstance(axes, list) else dict(axes) for name, axes in dynamic.items()}


def _make_dynamic_shapes(request: ExportRequest) -> Dict[str, Any]:
    """Convert ``dynamic_axes`` to ``dynamic_shapes``: by argument, ``None`` for a static one, without outputs."""
    names = find_argument_names(type(request.module).forward, len(request.args))
    return {name: _make_dims(request.dynamic.get(name)) for name in names}


def _make_dims(axes: Any) -> Optional[Dict[int, Any]]:
    import torch

    if not axes:
        return None
    named = axes if isinstance(axes, dict) else {axis: "axis_{}".format(axis) for axis in axes}
    anything = getattr(torch.export.Dim, "DYNAMIC", None)
    return {axis: anything if anything is not None else torch.export.Dim(name) for axis, name in named.items()}


@functools.lru_cache(maxsize=None)
def find_argument_names(forward: Any, count: int) -> Sequence[str]:
    """Return the first ``count`` argument names of a ``forward(self, ...)``."""
    return [name for name in inspect.signature(forward).parameters if name != "self"][:count]
