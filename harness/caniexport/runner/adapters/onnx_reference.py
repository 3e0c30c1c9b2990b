"""onnx's own evaluator in numpy: a second opinion, not an oracle."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from caniexport.model.status import Stage
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable


class OnnxReference(Adapter):
    """``onnx.reference.ReferenceEvaluator``, with the operators as this version of onnx defines them."""

    name = "onnx-reference"
    packages = ("onnx",)

    def start(self) -> Running:
        """The version is that of the package onnx."""
        try:
            import onnx
            import onnx.reference
        except ImportError as error:
            raise Unavailable(Stage.RESOLVE, "onnx.reference does not import: {}".format(error)) from error
        return Running(str(onnx.__version__))

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:  # noqa: ARG002  # no stage of its own
        """Looks up an implementation for every node; raises what onnx raises."""
        import onnx
        from onnx.reference import ReferenceEvaluator

        proto = onnx.load_model_from_string(given.model)
        initializers = {item.name for item in proto.graph.initializer}
        names = [item.name for item in proto.graph.input if item.name not in initializers]
        return _ReferenceSession(ReferenceEvaluator(proto), names)


class _ReferenceSession(AdapterSession):
    def __init__(self, evaluator: Any, names: List[str]) -> None:
        self._evaluator = evaluator
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return list(self._evaluator.run(None, feeds))


ADAPTER = OnnxReference
