"""onnxruntime's quantization to eight bits: dynamic, and static with QDQ nodes, calibrated on the bundle's inputs."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, Iterator, Optional

from caniexport.runner import tensors
from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import EIGHT_BITS, Tool, WroteNothing


class OnnxRuntimeQuantize(Tool):
    """``quantize_dynamic``, or ``quantize_static`` in QDQ format, with their defaults."""

    name = "onnxruntime-quantize"
    packages = ("onnxruntime",)
    modules = ("onnxruntime.quantization",)
    providers = ("dynamic", "qdq")
    may_change = EIGHT_BITS

    def change(self, model: Any, given: Given) -> Any:
        """Raises what onnxruntime raises, and :class:`WroteNothing`."""
        import onnx
        from onnxruntime import quantization

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "changed.onnx")
            if self.provider == "dynamic":
                quantization.quantize_dynamic(model, path)
            else:
                quantization.quantize_static(
                    model, path, _make_reader(given), quant_format=quantization.QuantFormat.QDQ
                )
            if not os.path.exists(path):
                raise WroteNothing("{} gave no file and no error".format(self.name))
            return onnx.load(path)


def _make_reader(given: Given) -> Any:
    """The bundle's input sets, one after the other, as onnxruntime asks for them."""
    from onnxruntime.quantization import CalibrationDataReader

    names = tensors.read_input_names(given.model)

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # the base class is known when onnxruntime is there
        def __init__(self) -> None:
            self._sets: Iterator[Any] = iter(given.inputs)

        def get_next(self) -> Optional[Dict[str, Any]]:
            arrays = next(self._sets, None)
            return None if arrays is None else dict(zip(names, arrays))

    return Reader()


ADAPTER = OnnxRuntimeQuantize
