"""TensorRT's ONNX parser and builder: what they refuse, without running anything.

Two runtimes: ``tensorrt-rtx`` is TensorRT for RTX, whose wheels hold everything and which parses and builds without a
GPU; ``tensorrt`` is the full TensorRT, whose libraries are not on the package index and whose builder needs the GPU.
They have the same API and not the same parser: neither speaks for the other.
"""

from __future__ import annotations

import ctypes
import glob
import os
from importlib import import_module
from typing import Any, Callable, List, Sequence, Tuple

from caniexport.model.status import Stage
from caniexport.runner.adapters import profiles
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Refused, Running, Unavailable


class ParserRefused(Exception):
    """The parser's own errors, one a line: code, operator, node, description."""


class ParserUnsupported(Refused):
    """The parser says that it has no support for a node, its type or its shapes; lines as in :class:`ParserRefused`."""


class BuilderRefused(Exception):
    """The builder gave no engine; the text is what it logged."""


class _Parser(Adapter):
    """Parse (stage ``parse``), then build an engine (stage ``build``)."""

    providers = ("none",)
    computes = False
    modules: Tuple[str, ...] = ()
    libraries = ""

    def start(self) -> Running:
        """Load the libraries that the wheel brings, where it does, then the bindings, then make a builder."""
        self._trt = self._bindings()
        self._log = _make_logger(self._trt)
        try:
            # raises where there is neither a device nor a way to do without
            self._builder = self._trt.Builder(self._log)
        except Exception as error:
            text = "{} makes no builder: {}".format(self.name, " / ".join([str(error), *self._log.lines]))
            raise Unavailable(Stage.RESOLVE, text) from error
        return Running(str(self._trt.__version__))

    def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:
        """Raises :class:`ParserUnsupported`, :class:`ParserRefused` or :class:`BuilderRefused`."""
        del self._log.lines[:]
        announce(Stage.PARSE)
        network = self._builder.create_network(0)  # a new one for each: it is filled even where parsing fails
        parser = self._trt.OnnxParser(network, self._log)
        if not parser.parse(given.model):
            raise _make_refusal([parser.get_error(place) for place in range(parser.num_errors)])
        announce(Stage.BUILD)
        configuration, profile = self._configured(network, given.inputs)
        if self._builder.build_serialized_network(network, configuration) is None:
            raise BuilderRefused("\n".join([*(self._log.lines or ["no engine and no word why"]), *profile]))
        return AdapterSession()

    def _bindings(self) -> Any:
        problems = []
        for name in self.modules:
            try:
                self._load_libraries()
                return import_module(name)
            except (ImportError, OSError) as error:
                problems.append("{} does not import: {}".format(name, error))
        raise Unavailable(Stage.RESOLVE, "\n".join(problems))

    def _load_libraries(self) -> None:
        """The bindings name their libraries without a folder: they must be in the process already."""
        try:
            package = import_module(self.libraries)
        except ImportError:
            return  # on the system's own path, if at all
        for folder in package.__path__:
            # the parser needs the library before it: by name, libnvonnxparser comes behind libnvinfer
            for path in sorted(glob.glob(os.path.join(folder, "*.so*")), key=lambda path: "parser" in path):
                ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)

    def _configured(self, network: Any, inputs: Sequence[Sequence[Any]]) -> Tuple[Any, List[str]]:
        """A configuration with the profile of what is open in the file's inputs, and the profile in words."""
        configuration, words = self._configuration(), []
        profile = self._builder.create_optimization_profile()
        for place in range(network.num_inputs):
            item, shape = network.get_input(place), tuple(network.get_input(place).shape)
            arrays = [arrays[place] for arrays in inputs if place < len(arrays) and arrays[place] is not None]
            if -1 in shape:
                sizes = profiles.choose_sizes(shape, [array.shape for array in arrays])
                profile.set_shape(item.name, *sizes)
                words.append("profile of {}: sizes {} to {}".format(item.name, sizes.smallest, sizes.largest))
            if item.is_shape_tensor and arrays:
                values = profiles.choose_values(arrays)
                profile.set_shape_input(item.name, *values)
                words.append("profile of {}: values {} to {}".format(item.name, values.smallest, values.largest))
        if words:
            configuration.add_optimization_profile(profile)
        return configuration, words

    def _configuration(self) -> Any:
        return self._builder.create_builder_config()


class TensorRtRtx(_Parser):
    """Builds for compute capability 8.6 whatever the machine has: the rows of two machines are then the same."""

    name = "tensorrt-rtx"
    packages = ("tensorrt-rtx-cu13-bindings", "tensorrt-rtx-cu12-bindings")
    modules = ("tensorrt_rtx_bindings",)
    libraries = "tensorrt_rtx_libs"

    def _configuration(self) -> Any:
        configuration = super()._configuration()
        configuration.num_compute_capabilities = 1
        configuration.set_compute_capability(self._trt.ComputeCapability.SM86, 0)
        return configuration


class TensorRt(_Parser):
    """The full TensorRT, for the device that is there."""

    name = "tensorrt"
    packages = ("tensorrt", "tensorrt-cu13-bindings", "tensorrt-cu12-bindings")
    modules = ("tensorrt", "tensorrt_bindings")
    libraries = "tensorrt_libs"


def _make_refusal(errors: List[Any]) -> Exception:
    lines = [
        "{}: {} (node {!r}): {}".format(error.code().name, error.node_operator(), error.node_name(), error.desc())
        for error in errors
    ]
    text = "\n".join(lines) or "refused without an error"
    if errors and all(error.code().name.startswith("UNSUPPORTED") for error in errors):
        return ParserUnsupported(text)
    return ParserRefused(text)


def _make_logger(trt: Any) -> Any:
    """A logger that keeps the errors' lines."""

    class Log(trt.ILogger):  # type: ignore[misc]  # the base class is known when the bindings are there
        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.lines: List[str] = []

        def log(self, severity: Any, text: str) -> None:
            if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
                self.lines.append(text)

    return Log()


ADAPTER = TensorRt
