"""Running an exported file: all of the runtimes' drift in one place. In this half: onnxruntime."""

from __future__ import annotations

import inspect
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

#: our provider names -> onnxruntime's
PROVIDERS: Dict[str, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}

#: one thread: a cell must neither disturb its neighbours nor leave threads behind. Before 1.0 options had other names
_QUIET: Dict[str, int] = {
    "intra_op_num_threads": 1,
    "inter_op_num_threads": 1,
    "log_severity_level": 3,
    "session_thread_pool_size": 1,
    "session_log_severity_level": 3,
}


class WrongProvider(Exception):
    """The session was created, but not on the provider asked for (onnxruntime falls back without an error)."""


class Session(NamedTuple):
    """A loaded file: feeds by input name in, arrays out."""

    handle: Any
    input_names: List[str]
    seconds_load: float

    def run(self, feeds: Mapping[str, Any]) -> List[Any]:
        """Run once; returns the outputs in the order of the file."""
        return list(self.handle.run(None, dict(feeds)))


def load(model: bytes, provider: str, options: Mapping[str, Any]) -> Session:
    """Create an onnxruntime session on ``provider``, single-threaded.

    ``options`` are ``SessionOptions`` attributes. Raises whatever onnxruntime raises, and :class:`WrongProvider`
    where the session silently runs elsewhere.
    """
    import onnxruntime

    started = time.perf_counter()
    wanted = PROVIDERS[provider]
    handle = _open(onnxruntime.InferenceSession, model, _session_options(options), wanted)
    # before 1.0 a session does not tell; the package for the CPU has that provider alone
    have = handle.get_providers() if hasattr(handle, "get_providers") else [PROVIDERS["cpu"]]
    if have[:1] != [wanted]:
        raise WrongProvider("asked for {}, the session runs on {}".format(wanted, ", ".join(have)))
    names = [item.name for item in handle.get_inputs()]
    return Session(handle, names, time.perf_counter() - started)


def _open(session: Any, model: bytes, settings: Any, wanted: str) -> Any:
    if "providers" in inspect.signature(session.__init__).parameters:
        return session(model, settings, providers=[wanted])
    opened = session(model, settings)  # before 1.1
    if hasattr(opened, "set_providers"):  # from 1.0 on
        opened.set_providers([wanted])
    return opened


def _session_options(options: Mapping[str, Any]) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    for name, value in _QUIET.items():
        if hasattr(settings, name):
            setattr(settings, name, value)
    for name, value in options.items():
        if name != "graph_optimization_level":
            setattr(settings, name, value)
        elif hasattr(settings, "set_graph_optimization_level"):  # before 1.0
            settings.set_graph_optimization_level(value)
        else:
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel(value)
    return settings


def version() -> str:
    """Version of the installed onnxruntime."""
    import onnxruntime

    return str(onnxruntime.__version__)


def feeds(names: Sequence[str], arguments: Mapping[str, Any], positional: Sequence[Any]) -> Dict[str, Any]:
    """Which array goes to which input of the file.

    ``arguments`` has the module's arguments by name, Python numbers as 0-d arrays; ``positional`` its tensors in order.
    By name where the file has the argument's names, else by position: first the tensors alone, then with the numbers.
    An argument the file does not take (it was written into the file as a constant) is left out: whether that was
    right shows in the values.
    """
    if all(name in arguments for name in names):
        return {name: arguments[name] for name in names}
    for candidates in (positional, list(arguments.values())):
        if len(names) <= len(candidates):
            return dict(zip(names, candidates))
    raise ValueError(
        "the file takes {} input(s) ({}), the module {}".format(len(names), ", ".join(names), len(positional))
    )
