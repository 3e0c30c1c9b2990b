"""Running an exported file: all of the runtimes' drift in one place. In this half: onnxruntime."""

from __future__ import annotations

import inspect
import itertools
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

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

#: ONNX's element types whose name is not numpy's
_NUMPY_TYPES = {"float": "float32", "double": "float64"}


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
    handle = _open_session(onnxruntime.InferenceSession, model, make_session_options(options), wanted)
    # before 1.0 a session does not tell; the package for the CPU has that provider alone
    have = handle.get_providers() if hasattr(handle, "get_providers") else [PROVIDERS["cpu"]]
    if have[:1] != [wanted]:
        raise WrongProvider("asked for {}, the session runs on {}".format(wanted, ", ".join(have)))
    names = [item.name for item in handle.get_inputs()]
    return Session(handle, names, time.perf_counter() - started)


def _open_session(session: Any, model: bytes, settings: Any, wanted: str) -> Any:
    if "providers" in inspect.signature(session.__init__).parameters:
        return session(model, settings, providers=[wanted])
    opened = session(model, settings)  # before 1.1
    if hasattr(opened, "set_providers"):  # from 1.0 on
        opened.set_providers([wanted])
    return opened


def make_session_options(options: Mapping[str, Any]) -> Any:
    """Return single-threaded, quiet ``SessionOptions`` with these attributes."""
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


def read_version() -> str:
    """Version of the installed onnxruntime."""
    import onnxruntime

    return str(onnxruntime.__version__)


class UncertainInputs(Exception):
    """The file takes fewer inputs than the module, and its types and shapes do not say which."""


#: where the array of an input comes from: the argument of this name, or the tensor at this position
Source = Union[str, int]


def choose_sources(inputs: Sequence[Any], arguments: Mapping[str, Any], positional: Sequence[Any]) -> Dict[str, Source]:
    """Return where the array of each input of a file (``onnx.ValueInfoProto``) comes from, by the input's name.

    ``arguments`` has the module's arguments of the exported input set by name, Python numbers as 0-d arrays;
    ``positional`` its tensors in order. By name where the file has the argument's names, else in order: first the
    tensors alone, then with the numbers. An argument that the file does not take (it became a constant, or nothing
    depends on it) is the one that no input fits by type and shape. Raises :class:`UncertainInputs` where not exactly
    one choice fits, and ``ValueError`` where the file takes more inputs than there are.
    """
    names = [item.name for item in inputs]
    if all(name in arguments for name in names):
        return {name: name for name in names}
    by_position: List[Tuple[Source, Any]] = list(enumerate(positional))
    for candidates in (by_position, list(arguments.items())):
        if len(names) == len(candidates):
            return dict(zip(names, (source for source, _ in candidates)))
        fitting = _find_fitting(inputs, candidates)
        if len(fitting) == 1:
            return dict(zip(names, fitting[0]))
    most = max(len(positional), len(arguments))
    if len(names) > most:
        raise ValueError(
            "the file takes {} input(s) ({}), the module {}".format(len(names), ", ".join(names), len(positional))
        )
    raise UncertainInputs(
        "the file takes {} of the module's {} inputs, and it is not certain which".format(len(names), most)
    )


def make_feeds(chosen: Mapping[str, Source], arguments: Mapping[str, Any], positional: Sequence[Any]) -> Dict[str, Any]:
    """Return the array of each input, as :func:`choose_sources` chose them."""
    return {name: positional[key] if isinstance(key, int) else arguments[key] for name, key in chosen.items()}


def _find_fitting(inputs: Sequence[Any], candidates: Sequence[Tuple[Source, Any]]) -> List[Tuple[Source, ...]]:
    """The first two choices of candidates, in their order, that fit the inputs by type and shape."""
    choices = itertools.combinations(candidates, len(inputs))
    fitting = (choice for choice in choices if all(_fits(item, array) for item, (_, array) in zip(inputs, choice)))
    return [tuple(source for source, _ in choice) for choice in itertools.islice(fitting, 2)]


def _fits(item: Any, array: Any) -> bool:
    """Whether an array has the element type and the fixed sizes that an input declares."""
    import onnx

    tensor = item.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    if _NUMPY_TYPES.get(kind, kind) != array.dtype.name:
        return False
    sizes = [size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim]
    return not tensor.HasField("shape") or (
        len(sizes) == array.ndim and all(size in (None, have) for size, have in zip(sizes, array.shape))
    )
