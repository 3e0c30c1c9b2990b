"""onnx's own evaluator in numpy: a second opinion, not an oracle."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from harness.runner.adapters.base import Adapter, Running, Session, Unavailable
from harness.worker.status import Stage


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

    def load(
        self,
        model: bytes,
        options: Mapping[str, Any],  # noqa: ARG002  # it has none
        announce: Callable[[Stage], None],  # noqa: ARG002  # it has no stage of its own
    ) -> Session:
        """Looks up an implementation for every node; raises what onnx raises."""
        import onnx
        from onnx.reference import ReferenceEvaluator

        proto = onnx.load_model_from_string(model)
        initializers = {item.name for item in proto.graph.initializer}
        names = [item.name for item in proto.graph.input if item.name not in initializers]
        return _Session(ReferenceEvaluator(proto), names)


class _Session(Session):
    def __init__(self, evaluator: Any, names: List[str]) -> None:
        self._evaluator = evaluator
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return list(self._evaluator.run(None, feeds))


ADAPTER = OnnxReference
