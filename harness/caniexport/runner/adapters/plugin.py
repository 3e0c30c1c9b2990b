"""What an execution provider that comes as a plugin has as an adapter: releases of its own, loaded by an onnxruntime.

The row of a plugin: ``runtime`` and ``runtime_version`` are the plugin's package, ``provider`` is the onnxruntime that
loads it (``ort1.32``). How a session is made and looked at: :mod:`caniexport.runner.adapters.placement`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from caniexport.model import runtimes
from caniexport.model.status import Stage
from caniexport.runner.adapters import placement
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable
from caniexport.runner.adapters.onnxruntime import OnnxRuntime
from caniexport.worker import envinfo

HOSTS = ("ort1.32", "ort1.31", "ort1.28", "ort1.26", "ort1.25", "ort1.24")


class Plugin(Adapter):
    """A plugin whose module, named as its package, has ``get_library_path`` and ``get_ep_name``."""

    providers = HOSTS

    def start(self) -> Running:
        """Loads the library into onnxruntime, looks for a device, and runs the smallest model on it."""
        self._cpu = OnnxRuntime("cpu")
        self._cpu.start()
        self._way = placement.set_up_plugin(self.name, self.choose_options)
        try:
            placement.require_provider(self._way)
        except Unavailable as error:
            # it is there, and onnxruntime runs nothing on it
            raise Unavailable(Stage.LOAD, str(error)) from error
        version = envinfo.find_version(self.packages[0]) or ""
        return Running(version, facts={"onnxruntime": envinfo.strip_local_part(runtimes.read_version())})

    def choose_options(self, module: Any) -> Dict[str, str]:  # noqa: ARG002  # most need none
        """The provider's options."""
        return {}

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Raises what onnxruntime raises, and ``Refused`` where the session is not on the provider at all."""
        return placement.load_session(given.model, self._way, given.options, announce)

    def beside(self) -> Optional[Adapter]:
        """The CPU provider of the same onnxruntime."""
        return self._cpu
