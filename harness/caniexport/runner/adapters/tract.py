"""tract, an inference engine in Rust, through its Python package."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, Dict, List

from caniexport.model.status import Stage
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable


class Tract(Adapter):
    """Reading the file is stage ``parse``, inferring its shapes and making it runnable stage ``build``."""

    name = "tract"
    packages = ("tract",)

    def start(self) -> Running:
        """Loads the library that the package brings."""
        for name in ("RUST_BACKTRACE", "RUST_LIB_BACKTRACE"):
            # an error's text says why, on a machine that asks for stacks too
            os.environ[name] = "0"
        try:
            import tract
        except (ImportError, OSError) as error:
            raise Unavailable(Stage.RESOLVE, "tract does not import: {}".format(error)) from error
        return Running(str(tract.version()))

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Raises ``TractError`` with tract's chain of reasons."""
        import tract

        announce(Stage.PARSE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")  # it loads from a file only
            with open(path, "wb") as file:
                file.write(given.model)
            network = tract.onnx().load(path)
        names = [network.input_name(place) for place in range(network.input_count())]
        announce(Stage.BUILD)
        return _TractSession(network.into_model().into_runnable(), names)


class _TractSession(AdapterSession):
    def __init__(self, runnable: Any, names: List[str]) -> None:
        self._runnable = runnable
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        found = self._runnable.run([feeds[name] for name in self.input_names])
        return [tensor.to_numpy() for tensor in found]


ADAPTER = Tract
