"""OpenVINO's own API on the CPU, computing in float32."""

from __future__ import annotations

from typing import AbstractSet, Any, Callable, Dict, List, Sequence

from caniexport.model.status import Stage
from caniexport.runner import tensors
from caniexport.runner.adapters import openvino_text
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable

#: without the hint it computes in bfloat16 on a CPU that can: errors of 1e-2 that are no bugs
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1"}


class OpenVino(Adapter):
    """The ONNX frontend (stage ``parse``) and the CPU plugin (stage ``build``)."""

    name = "openvino"
    packages = ("openvino",)

    def start(self) -> Running:
        """Import it; its CPU plugin is part of the package."""
        try:
            import openvino
        except ImportError as error:
            raise Unavailable(Stage.RESOLVE, "openvino does not import: {}".format(error)) from error
        self._core = openvino.Core()
        # 2026.4.1-22982-e213a147257-releases/2026/4
        return Running(str(openvino.__version__).split("-")[0])

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Raises what the frontend raises at ``parse`` and what the plugin raises at ``build``."""
        announce(Stage.PARSE)
        network = self._core.read_model(given.model)
        announce(Stage.BUILD)
        names = tensors.read_input_names(given.model)
        return _OpenvinoSession(self._core.compile_model(network, "CPU", SETTINGS), names)

    def reason(self, text: str) -> str:
        """OpenVINO says it last."""
        return openvino_text.find_reason(text)


class _OpenvinoSession(AdapterSession):
    def __init__(self, compiled: Any, names: List[str]) -> None:
        self._compiled = compiled
        self._taken = match_inputs([port.names for port in compiled.inputs], names)
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        """The compiled model is called. Its request's ``infer`` copies arrays without looking at their shape: a model
        with a free axis then takes another size on an axis that is fixed, and gives old values or ends the process.
        """
        ports = self._compiled.inputs
        named = {name if name in port.names else port: feeds[name] for port, name in zip(ports, self._taken)}
        found = self._compiled(named)
        return [found[port] for port in self._compiled.outputs]


def match_inputs(ports: Sequence[AbstractSet[str]], names: Sequence[str]) -> List[str]:
    """Which of the file's inputs each of the compiled model's is: that of its name, else the first that no other has.

    OpenVINO leaves out an input whose value it does not need, and an input that is an output at once has only that
    one's name.
    """
    left = iter([name for name in names if not any(name in port for port in ports)])
    return [next((name for name in names if name in port), None) or next(left) for port in ports]


ADAPTER = OpenVino
