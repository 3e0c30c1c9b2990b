"""What a tool that changes a file has as an adapter: it runs, onnxruntime runs what it wrote, outputs are compared.

The row of a tool: ``runtime`` and ``runtime_version`` are the tool's, ``provider`` is what it was asked for (``to13``,
``dynamic``; ``cpu`` where there is nothing to ask for). Beside its outcome it has as facts::

    {"nodes": [12, 9], "bytes": [4096, 3712], "opset": 18, "seconds": 0.05, "may_change": 0.01,
     "cpu": {"status": "pass", "agrees": true, …}}

nodes, bytes of the file before and after; ``opset`` of the file after; ``seconds`` that the tool took; ``may_change``
the share of an output's largest value by which a tool that rounds may move it; ``cpu`` how the untouched file ends.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from importlib import import_module
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from caniexport.model.status import Stage
from caniexport.runner import tensors
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Refused, Running, Unavailable
from caniexport.runner.adapters.onnxruntime import OnnxRuntime
from caniexport.worker import envinfo

#: what :mod:`caniexport.runner.adapters` finds a tool's opset by: ``to13``
_TO = "to"
OPSETS = ("to12", "to13", "to17", "to18", "to20", "to21")
#: share of the largest value: ten bits of mantissa through a few operators; eight bits
FLOAT16, EIGHT_BITS = 0.01, 0.05


class WroteNothing(Exception):
    """The tool ended without an error and without a file."""


class KeptOpset(Refused):
    """The tool was asked for an opset and gave a file of another one without an error."""


class Tool(Adapter):
    """A tool of the package ``packages[0]``, whose modules are ``modules``."""

    modules: Tuple[str, ...] = ()
    #: of the session that runs what came out
    session_options: Tuple[Tuple[str, Any], ...] = ()

    def start(self) -> Running:
        """Imports the tool and what runs its files."""
        self._cpu = OnnxRuntime("cpu")
        self._cpu.start()
        try:
            for name in ("onnx", *self.modules):
                import_module(name)
        except Exception as error:
            raise Unavailable(Stage.IMPORT, "{} does not import: {}".format(self.name, error)) from error
        return Running(envinfo.find_version(self.packages[0]) or "")

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Change the file at stage ``tool``, then load what came out. Raises what either raises."""
        import onnx

        announce(Stage.TOOL)
        before = onnx.load_model_from_string(given.model)
        nodes = len(before.graph.node)
        started = time.perf_counter()
        changed = self.change(before, given)
        seconds = time.perf_counter() - started
        if changed is None or not changed.HasField("graph"):
            raise WroteNothing("{} gave no file and no error".format(self.name))
        opset = next((item.version for item in changed.opset_import if item.domain in ("", "ai.onnx")), 0)
        if self.asked_opset and opset != self.asked_opset:
            raise KeptOpset("asked for opset {}, the file that came out has {}".format(self.asked_opset, opset))
        data = changed.SerializeToString()
        announce(Stage.LOAD)
        options = dict(given.options, **dict(self.session_options))
        inner = self._cpu.load(given._replace(model=data, options=options), announce)
        session = _ChangedSession(inner, tensors.read_input_names(given.model))
        facts: Dict[str, Any] = {
            "nodes": [nodes, len(changed.graph.node)],
            "bytes": [len(given.model), len(data)],
            "opset": opset,
            "seconds": float("{:.1g}".format(seconds)),
        }
        if self.may_change:
            facts["may_change"] = self.may_change
        session.facts = facts
        return session

    @abstractmethod
    def change(self, model: Any, given: Given) -> Optional[Any]:
        """The changed ``onnx.ModelProto``, or the same one changed in place; raises what the tool raises."""

    @property
    def asked_opset(self) -> int:
        """The opset that the tool is asked for; 0 for none."""
        number = self.provider[len(_TO) :]
        return int(number) if self.provider.startswith(_TO) and number.isdigit() else 0

    @property
    def limits_memory(self) -> bool:
        """It is on the processor, whatever is asked of it."""
        return True

    def beside(self) -> Optional[Adapter]:
        """The untouched file on the same onnxruntime."""
        return self._cpu


class _ChangedSession(AdapterSession):
    """The changed file is fed by the names of the untouched one's inputs: a tool may leave an unused one out."""

    def __init__(self, inner: AdapterSession, names: Sequence[str]) -> None:
        self._inner = inner
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return self._inner.run({name: value for name, value in feeds.items() if name in self._inner.input_names})
