"""Build a model from its package and fill it with weights; inside a measured environment, without a download.

Weights are drawn by name, the same on every release: weights of matrices and filters with the deviation that keeps the
size of what passes through, those of norms about one, statistics of batch norms away from zero and one.
"""

from __future__ import annotations

import importlib
import math
import zlib
from typing import Any, Callable, Dict, Sequence, Type

from caniexport.model import architectures
from caniexport.model.architectures import EAGER_ATTENTION, OWN_EXPORT, Architecture, ArchitectureCase, Worker
from caniexport.model.case import Fix
from caniexport.model.status import FixKind
from caniexport.worker.codehash import module_hash
from caniexport.worker.exporters import ExportRequest
from caniexport.worker.failures import CannotBuild

#: where a package has its classes and functions, if not at its top
_PLACES: Dict[str, Sequence[str]] = {
    "torchvision": (
        "torchvision.models",
        "torchvision.models.detection",
        "torchvision.models.segmentation",
        "torchvision.models.video",
        "torchvision.models.optical_flow",
        "torchvision.models.quantization",
    ),
    "torchaudio": ("torchaudio.models",),
    "ultralytics": ("ultralytics.nn.tasks",),
    "timm": ("timm",),
}


def make_cases(table: Sequence[Architecture], module: str) -> Dict[str, Type[ArchitectureCase]]:
    """The cases of a table, for the case file ``module``."""
    return architectures.make_cases(table, module, Worker(module_hash("architectures"), build, load, make_fixes))


def build(entry: Architecture, attention: str = "") -> Any:
    """The model in evaluation mode, filled. Raises :class:`CannotBuild` where the installed package cannot make it."""
    import torch

    found = load(entry)
    torch.manual_seed(0)
    try:
        model = _MAKERS.get(entry.package, _call)(found, entry, attention).eval()
    except Exception as error:
        raise CannotBuild("{}: {}: {}".format(_describe(entry.package), type(error).__name__, error)) from error
    _fill(model)
    return model


def load(entry: Architecture) -> Any:
    """The class or function of an entry. Raises :class:`CannotBuild` where the installed package has none."""
    for place in _PLACES.get(entry.package, (entry.package,)):
        try:
            module = importlib.import_module(place)
        except Exception as error:  # a package may fail in any way to import with another release of torch
            problem = "{} cannot be imported: {}: {}".format(place, type(error).__name__, error)
            raise CannotBuild(problem) from error
        name = "create_model" if entry.package == "timm" else entry.name
        try:
            return getattr(module, name)
        except AttributeError:
            continue
        except Exception as error:  # transformers imports a model's file when its class is asked for
            problem = "{}: {}: {}".format(_describe(entry.package), type(error).__name__, error)
            raise CannotBuild(problem) from error
    raise CannotBuild("{} has no {}".format(_describe(entry.package), entry.name))


def make_fixes(entry: Architecture) -> Dict[str, Fix]:
    """The forms that only models of some packages have."""
    if entry.package != "transformers":
        return {}
    return {
        EAGER_ATTENTION: Fix(
            FixKind.MODULE_SWAP.value,
            "attn_implementation='eager' instead of sdpa",
            prepare=lambda module, _: _with_eager_attention(module, entry),
        ),
        OWN_EXPORT: Fix(FixKind.EXPORT_OPTION.value, "the package's own exporter", route=_export_by_transformers),
    }


def _with_eager_attention(module: Any, entry: Architecture) -> Any:
    module.model = build(entry, "eager")
    return module


def _export_by_transformers(request: ExportRequest) -> bytes:
    """The file that ``transformers.exporters`` writes with dynamic shapes, at the opset that dynamo writes."""
    try:
        exporter = importlib.import_module("transformers.exporters.exporter_onnx")
    except ImportError as error:
        raise CannotBuild("{} has no exporter to ONNX".format(_describe("transformers"))) from error
    onnx_ir: Any = importlib.import_module("onnx_ir")
    config = exporter.OnnxConfig(dynamic=True, opset_version=18)
    inputs = dict(zip(request.input_names, request.args))
    exported = exporter.OnnxExporter().export(request.module.model, inputs, config=config)
    return bytes(onnx_ir.to_proto(exported.program).SerializeToString())


def _of_transformers(cls: Any, entry: Architecture, attention: str) -> Any:
    config = cls.config_class(**entry.settings)
    if "use_cache" not in entry.settings and hasattr(config, "use_cache"):
        config.use_cache = False
    options = {"attn_implementation": attention} if attention else {}
    return cls._from_config(config, **options)


def _of_timm(create: Any, entry: Architecture, _: str) -> Any:
    return create(entry.name, pretrained=False, **entry.settings)


def _call(make: Any, entry: Architecture, _: str) -> Any:
    return make(**entry.settings)


_MAKERS: Dict[str, Callable[[Any, Architecture, str], Any]] = {"transformers": _of_transformers, "timm": _of_timm}


def _describe(package: str) -> str:
    try:
        return "{} {}".format(package, importlib.import_module(package).__version__)
    except Exception:  # it does not import, or does not say
        return package


def _fill(model: Any) -> None:
    """Values by name for all parameters and for the statistics of norms; other buffers stay as they were made."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dtype.is_floating_point:
                parameter.copy_(_draw(name, parameter))
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_(_draw(name, buffer))


def _draw(name: str, like: Any) -> Any:
    import numpy as np
    import torch

    stream = np.random.RandomState(zlib.crc32(name.encode("utf-8")) & 0xFFFFFFFF)
    shape = tuple(like.shape)
    if len(shape) > 1:
        drawn = stream.standard_normal(shape) / math.sqrt(max(1, int(np.prod(shape[1:]))))
    else:
        about = 0.0 if name.endswith(("bias", "running_mean")) else 1.0
        drawn = about + stream.uniform(-0.3, 0.3, size=shape)
    return torch.from_numpy(np.asarray(drawn, dtype="float32")).to(like.dtype)
