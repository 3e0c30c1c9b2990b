"""Several tools one after the other: ``onnxslim+onnxruntime-quantize:dynamic``."""

from __future__ import annotations

from typing import Any, Sequence, Type

from caniexport.runner.adapters.base import Given
from caniexport.runner.adapters.tool import Tool


def chain(tools: Sequence[Tool]) -> Type[Tool]:
    """The adapter of tools that each change what the one before gave."""

    class Chain(Tool):
        packages = tools[-1].packages
        modules = tuple(module for tool in tools for module in tool.modules)
        may_change = max(tool.may_change for tool in tools)

        def change(self, model: Any, given: Given) -> Any:
            """Raises what any of them raises."""
            for tool in tools:
                model = tool.change(model, given._replace(model=model.SerializeToString()))
            return model

    Chain.name = "+".join(tool.name for tool in tools)
    return Chain
