"""The exported file as a fact, whatever runs it: what onnx says of it.

The row's facts, each of which the default export of a user's model has too::

    {"strict": "ok", "value_info": "ok", "ir_version": 10, "opset": 18, "nodes": 12, "bytes": 4096, "repeated": 2}

strict      ``ok``, or what onnx's strict check refuses, to its first line
value_info  ``ok``, ``none``, or the first value whose stated type or shape is not what inference finds
repeated    initializers whose content another one has too

A bundle has neither metadata nor files beside it: of these nothing can be said.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Dict, Iterator, List

from caniexport.model.status import Stage
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable

#: characters of an error that are kept as a fact
_WORDS = 200
#: a scalar twice is no waste
_SMALL = 64


class OnnxFileFacts(Adapter):
    """onnx's checker and shape inference."""

    name = "onnx-file"
    packages = ("onnx",)
    providers = ("none",)
    computes = False

    def start(self) -> Running:
        """The version is that of the package onnx."""
        try:
            import onnx.checker
            import onnx.shape_inference
        except ImportError as error:
            raise Unavailable(Stage.RESOLVE, "onnx does not import: {}".format(error)) from error
        return Running(str(onnx.__version__))

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Reads and checks the file at stage ``check``; only one that cannot be read fails."""
        import onnx

        announce(Stage.CHECK)
        model = onnx.load_model_from_string(given.model)
        session = AdapterSession()
        session.facts = facts = _count(model, given.model)
        facts["value_info"] = "; ".join(_find_contradictions(model)) or ("ok" if model.graph.value_info else "none")
        try:
            onnx.checker.check_model(given.model, full_check=True)
            facts["strict"] = "ok"
        except Exception as error:
            facts["strict"] = str(error).strip().split("\n")[0][:_WORDS]
        facts["value_info"] = facts["value_info"][:_WORDS]
        return session

    @property
    def limits_memory(self) -> bool:
        """It is on the processor."""
        return True


def _count(model: Any, data: bytes) -> Dict[str, Any]:
    graph = model.graph
    contents = Counter(item.raw_data for item in graph.initializer if len(item.raw_data) > _SMALL)
    return {
        "ir_version": model.ir_version,
        "opset": next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), 0),
        "nodes": len(graph.node),
        "bytes": len(data),
        "repeated": sum(count - 1 for count in contents.values()),
    }


def _find_contradictions(model: Any) -> Iterator[str]:
    """The values whose stated type or shape is not that which onnx infers where none is stated."""
    import onnx

    stated = {item.name: item.type.tensor_type for item in model.graph.value_info}
    if not stated:
        return
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    try:
        inferred = onnx.shape_inference.infer_shapes(bare).graph.value_info
    except Exception as error:
        yield "inference fails: {}".format(str(error).strip().split("\n")[0])
        return
    for item in inferred:
        one, other = stated.get(item.name), item.type.tensor_type
        if one is None or not other.elem_type:
            continue
        if one.elem_type != other.elem_type:
            yield "{}: type {} is stated, {} inferred".format(item.name, one.elem_type, other.elem_type)
        elif one.HasField("shape") and other.HasField("shape") and not _fit(_read_sizes(one), _read_sizes(other)):
            yield "{}: shape {} is stated, {} inferred".format(item.name, _read_sizes(one), _read_sizes(other))


def _read_sizes(kind: Any) -> List[Any]:
    """Numbers, and ``None`` for what is open or only named."""
    return [size.dim_value if size.HasField("dim_value") else None for size in kind.shape.dim]


def _fit(one: List[Any], other: List[Any]) -> bool:
    return len(one) == len(other) and all(a == b or a is None or b is None for a, b in zip(one, other))


ADAPTER = OnnxFileFacts
