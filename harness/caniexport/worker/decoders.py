"""Decoders with a cache of keys and values, as modules of plain tensors; inside a measured environment.

The model is built and filled by :mod:`caniexport.worker.architectures`. A dynamic cache is filled by its own
constructor. In a static one each layer gets the tensors as its buffers, copied since it writes into them. All layers
hold all tokens, those with a sliding window too, as in the modules that transformers has for an export.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Callable, Dict, List, Sequence, Tuple, Type

from caniexport.model.architectures import EAGER_ATTENTION, Architecture, Worker, add_case, make_members, make_sets
from caniexport.model.case import Fix
from caniexport.model.decoders import (
    ATTENTION_OP,
    EXPORTABLE_MODULE,
    SLOTS,
    STATIC_CACHE,
    DecoderCase,
    make_inputs,
)
from caniexport.model.status import Exporter, FixKind
from caniexport.worker import architectures, exporters
from caniexport.worker.codehash import module_hash
from caniexport.worker.failures import CannotBuild

#: models whose attention transformers does not let be replaced
_OWN_ATTENTION = ("FalconForCausalLM",)
#: our name for attention by the operator
_BY_OPERATOR = "onnx_attention"
#: the batch of a module that transformers has for an export
_BATCH = 2

#: keys and values of each layer
Pairs = Sequence[Tuple[Any, Any]]


def make_cases(table: Sequence[Architecture], module: str) -> Dict[str, Type[DecoderCase]]:
    """The cases of a table, for the case file ``module``; ``call`` of an entry is the kind of its cache."""
    worker = Worker(module_hash("architectures", "decoders"), build, architectures.load, make_fixes)
    found: Dict[str, Type[DecoderCase]] = {}
    for entry in table:
        name = "decoding-{}".format(entry.id)
        members = {
            **make_members(entry, name, module, worker),
            "forward": _write_forward(entry, "decode(self.model, {!r}".format(entry.call)),
            **make_fixes(entry),
        }
        add_case(found, name, DecoderCase, members)
    return found


def build(entry: Architecture, attention: str = "") -> Any:
    """The model, filled. Raises :class:`CannotBuild` where transformers has no caches of layers, before 4.54."""
    if not hasattr(importlib.import_module("transformers.cache_utils"), "StaticLayer"):
        raise CannotBuild("this release of transformers has no caches of layers")
    return architectures.build(entry, attention)


def make_fixes(entry: Architecture) -> Dict[str, Fix]:
    """The forms beside the plain one."""
    found = {
        EAGER_ATTENTION: Fix(
            FixKind.MODULE_SWAP.value,
            "attn_implementation='eager' instead of sdpa",
            prepare=lambda module, _: _with_attention(module, entry, "eager"),
        )
    }
    if entry.name not in _OWN_ATTENTION:
        found[ATTENTION_OP] = Fix(
            FixKind.MODULE_SWAP.value,
            "attention as torch.onnx.ops.attention, registered with transformers' AttentionInterface",
            prepare=lambda module, _: _with_attention(module, entry, _register_attention()),
        )
    if entry.call == STATIC_CACHE:
        layers = sum(name.startswith("key_") for name in entry.inputs)
        heads, size = entry.inputs["key_0"].sizes[1], entry.inputs["key_0"].sizes[3]
        assert isinstance(heads, int) and isinstance(size, int)
        inputs = make_inputs(entry.call, layers, heads, size, _BATCH, padded=False)
        found[EXPORTABLE_MODULE] = Fix(
            FixKind.MODULE_SWAP.value,
            "TorchExportableModuleWithStaticCache of transformers, exported with strict=True; no mask",
            inputs=make_sets(inputs),
            dynamic={name: item.dynamic for name, item in inputs.items() if item.dynamic},
            prepare=lambda module, _: _make_exportable(module, entry),
            route=_export_strictly,
        )
    return found


def decode(model: Any, kind: str, input_ids: Any, attention_mask: Any, *rest: Any) -> List[Any]:
    """The logits, and the keys and values of each layer after these tokens."""
    position = rest[0] if kind == STATIC_CACHE else None
    pairs = _pair(rest[1:] if kind == STATIC_CACHE else rest)
    cache = _fill_static(model.config, pairs, position) if kind == STATIC_CACHE else _fill_dynamic(pairs)
    names = inspect.signature(model.forward).parameters
    more = {"cache_position": position} if position is not None and "cache_position" in names else {}
    # past_key_values until 5.19
    more["cache" if "cache" in names else "past_key_values"] = cache
    output = model(input_ids=input_ids, attention_mask=attention_mask, use_cache=True, **more)
    return [output.logits] + _read(cache)


def decode_exportable(module: Any, input_ids: Any, _: Any, position: Any, *rest: Any) -> List[Any]:
    """The same by a module that transformers has for an export: its buffers are given the keys and values first."""
    for layer, (key, value) in zip(module.static_cache.layers, _pair(rest)):
        layer.keys.copy_(key)
        layer.values.copy_(value)
    logits = module(input_ids=input_ids, cache_position=position)
    return [logits] + _read(module.static_cache)


def attend(
    _: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: Any = None, **more: Any
) -> Tuple[Any, None]:
    """Attention as transformers calls it, by the operator of ONNX."""
    import torch

    softcap = more.get("softcap") or 0.0
    output = torch.onnx.ops.attention(query, key, value, attn_mask=attention_mask, scale=scaling, softcap=softcap)[0]
    return output.transpose(1, 2).contiguous(), None


def _pair(tensors: Sequence[Any]) -> Pairs:
    return list(zip(tensors[::2], tensors[1::2]))


def _fill_dynamic(pairs: Pairs) -> Any:
    caches: Any = importlib.import_module("transformers.cache_utils")
    cache = caches.DynamicCache()
    for index, (key, value) in enumerate(pairs):
        cache.update(key, value, index)
    return cache


def _fill_static(config: Any, pairs: Pairs, position: Any) -> Any:
    caches: Any = importlib.import_module("transformers.cache_utils")
    cache = caches.StaticCache(config=config, max_cache_len=SLOTS)
    for index, (key, value) in enumerate(pairs):
        layer = cache.layers[index] = caches.StaticLayer(SLOTS)
        layer.keys, layer.values = key.clone(), value.clone()
        layer.device, layer.dtype, layer.is_initialized = key.device, key.dtype, True
        layer.cumulative_length = position[0].clone()
    return cache


def _read(cache: Any) -> List[Any]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def _write_forward(entry: Architecture, call: str) -> Callable[..., Any]:
    """A ``forward`` with the arguments of an entry, which gives them on."""
    given = ", ".join(entry.inputs)
    space: Dict[str, Any] = {"decode": decode, "decode_exportable": decode_exportable}
    exec("def forward(self, {}):\n    return {}, {})".format(given, call, given), space)
    forward: Callable[..., Any] = space["forward"]
    return forward


def _with_attention(module: Any, entry: Architecture, attention: str) -> Any:
    module.model = build(entry, attention)
    return module


def _register_attention() -> str:
    """Tell transformers of :func:`attend`; the mask is always made, as true for what is seen."""
    utils: Any = importlib.import_module("transformers.modeling_utils")
    masks: Any = importlib.import_module("transformers.masking_utils")
    utils.AttentionInterface.register(_BY_OPERATOR, attend)
    masks.AttentionMaskInterface.register(
        _BY_OPERATOR, lambda *args, **more: masks.sdpa_mask(*args, **{**more, "allow_is_causal_skip": False})
    )
    return _BY_OPERATOR


def _make_exportable(module: Any, entry: Architecture) -> Any:
    import torch

    integration: Any = importlib.import_module("transformers.integrations.executorch")
    module.model.generation_config.cache_implementation = "static"
    made = type("Exportable", (torch.nn.Module,), {"forward": _write_forward(entry, "decode_exportable(self.model")})()
    made.model = integration.TorchExportableModuleWithStaticCache(module.model, batch_size=_BATCH, max_cache_len=SLOTS)
    # transformers exports it without gradients, which buffers that are written into would else get
    return made.eval().requires_grad_(False)


def _export_strictly(request: exporters.ExportRequest) -> bytes:
    """With dynamo as transformers does: without ``strict`` its buffers are constants, which are then written into."""
    if request.exporter != Exporter.DYNAMO.value:
        return exporters.export(request)
    import torch

    names = exporters.find_argument_names(type(request.module).forward, len(request.args))
    size = torch.export.Dim.DYNAMIC
    shapes = {name: dict.fromkeys(request.dynamic.get(name, {}), size) or None for name in names}
    with torch.no_grad():
        program = torch.export.export(request.module, request.args, dynamic_shapes=shapes, strict=True)
    return exporters.export(request._replace(module=program, args=(), dynamic={}))
