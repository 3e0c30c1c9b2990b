"""onnxruntime's own optimizations, saved as a file that is loaded again."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from caniexport.model import runtimes
from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool, WroteNothing

#: what is asked for -> onnxruntime's ``GraphOptimizationLevel``
_LEVELS = {"basic": 1, "extended": 2, "all": 99}


class OnnxRuntimeOptimize(Tool):
    """A session with ``optimized_model_filepath`` at the level asked for."""

    name = "onnxruntime-optimize"
    packages = ("onnxruntime",)
    providers = tuple(_LEVELS)

    def change(self, model: Any, given: Given) -> Any:
        """Raises what onnxruntime raises, and :class:`WroteNothing`."""
        import onnx
        import onnxruntime

        with tempfile.TemporaryDirectory() as folder:
            settings = runtimes.make_session_options(given.options)
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel(_LEVELS[self.provider])
            settings.optimized_model_filepath = path = os.path.join(folder, "changed.onnx")
            onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
            if not os.path.exists(path):
                raise WroteNothing("{} gave no file and no error".format(self.name))
            return onnx.load(path)


ADAPTER = OnnxRuntimeOptimize
