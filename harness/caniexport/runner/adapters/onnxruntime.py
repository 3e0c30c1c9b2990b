"""onnxruntime, with every provider that has its own package, build or plugin of it."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Optional

from caniexport.model import runtimes
from caniexport.model.status import Stage
from caniexport.runner.adapters import openvino_text, placement
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Refused, Running, Unavailable
from caniexport.worker import envinfo

#: distributions that unpack into the folder ``onnxruntime``: the one installed last has overwritten the other
PACKAGES = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-training",
)
_ON_A_GPU = ("cuda", "tensorrt")
_PLUGIN = "onnxruntime-ep-openvino"
#: OpenVINO computes in bfloat16 where the CPU can: errors of 1e-2 that are no bugs. Its plugin knows this option alone
#: (precision and INFERENCE_PRECISION_HINT are ignored without an error).
OPENVINO_OPTIONS = {
    "load_config": json.dumps({"CPU": {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}})
}


class OnnxRuntime(Adapter):
    """On the CPU, sessions as :mod:`caniexport.model.runtimes` makes them for cells: same options, same one thread.

    On another provider every session is looked at: :mod:`caniexport.runner.adapters.placement`.
    """

    name = "onnxruntime"
    providers = tuple(runtimes.PROVIDERS)
    packages = PACKAGES

    def start(self) -> Running:
        """Refuses two packages in one folder; then imports; then tries the provider on the smallest model."""
        have = {name: version for name, version in envinfo.read_installed().items() if name in PACKAGES}
        if len(have) > 1:
            raise Unavailable(
                Stage.RESOLVE,
                "{} are installed together: both unpack into one folder, so neither is what it says. "
                "Keep one environment for each".format(" and ".join(" ".join(item) for item in sorted(have.items()))),
            )
        gpu = self.provider in _ON_A_GPU
        if gpu:
            # products of float32 in float32, as on the CPU; read when CUDA starts
            os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
        try:
            version = runtimes.read_version()
        except ImportError as error:
            stage = Stage.IMPORT if have else Stage.RESOLVE
            raise Unavailable(stage, "onnxruntime does not import: {}".format(error)) from error
        if self.provider != "cpu":
            self._way = _set_up_openvino() if self.provider == "openvino" else _set_up_gpu(self.provider)
            placement.require_provider(self._way)
        if gpu:
            return Running(version, envinfo.read_gpu_name() or self.provider, {"tf32": "off"})
        return Running(version, facts={"precision": "float32"} if self.provider == "openvino" else {})

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """As for a cell. Raises :class:`Refused` where the session silently runs on another provider."""
        if self.provider != "cpu":
            return placement.load_session(given.model, self._way, given.options, announce)
        try:
            return _OnnxruntimeSession(runtimes.load(given.model, self.provider, given.options))
        except runtimes.WrongProvider as error:
            raise Refused(str(error)) from error

    def reason(self, text: str) -> str:
        """onnxruntime's first line says it, unless it is OpenVINO that speaks through it."""
        return openvino_text.find_reason(text) if self.provider == "openvino" else ""

    def still_works(self) -> bool:
        """CUDA keeps an error such as an illegal memory access, and gives it to whatever comes later."""
        if self.provider not in _ON_A_GPU:
            return True
        try:
            placement.require_provider(self._way)
        except Unavailable:
            return False
        return True

    def beside(self) -> Optional[Adapter]:
        """The CPU provider of the same package: it is in the process already."""
        return None if self.provider == "cpu" else OnnxRuntime("cpu")


class _OnnxruntimeSession(AdapterSession):
    def __init__(self, session: runtimes.Session) -> None:
        self._session = session
        self.input_names = session.input_names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return self._session.run(feeds)


def _set_up_gpu(provider: str) -> placement.ProviderSetup:
    """CUDA; TensorRT with CUDA behind it, as it is meant to be used: what CUDA then runs shows in the placement."""
    import onnxruntime

    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()  # CUDA's libraries where they are Python packages
    names = [runtimes.PROVIDERS[name] for name in (provider, "cuda")]
    asked = list(dict.fromkeys(names))
    return placement.ProviderSetup(asked[0], asked, [_make_options(name) for name in asked])


def _make_options(provider: str) -> Dict[str, str]:
    """CUDA's own switch of TF32, where the release has it: the variable alone is not always obeyed."""
    version = tuple(int(part) for part in runtimes.read_version().split(".")[:2])
    return {"use_tf32": "0"} if provider == runtimes.PROVIDERS["cuda"] and version >= (1, 18) else {}


def _set_up_openvino() -> placement.ProviderSetup:
    """The plugin where its package is installed, else the provider that is compiled in (onnxruntime-openvino)."""
    name = runtimes.PROVIDERS["openvino"]
    if envinfo.find_version(_PLUGIN) is None:
        return placement.ProviderSetup(
            name, [name], [{"device_type": "CPU", "precision": "FP32", "num_of_threads": "1"}]
        )
    return placement.set_up_plugin(_PLUGIN, lambda _: OPENVINO_OPTIONS)


ADAPTER = OnnxRuntime
