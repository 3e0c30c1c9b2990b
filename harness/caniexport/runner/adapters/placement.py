"""Where onnxruntime's nodes really run: it falls back to the CPU without a word, so that only looking tells.

Three traps, each shut here. ``get_available_providers()`` says what was compiled in, not what works. A session whose
provider cannot be created is made on the CPU and no exception is raised. A session on the right provider leaves the
nodes that this provider does not take to the CPU.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from caniexport.model import runtimes
from caniexport.model.status import Stage
from caniexport.runner.adapters.base import AdapterSession, Refused, Unavailable
from caniexport.worker import envinfo

#: y = Relu(x) of three floats, opset 9, IR version 4: every provider takes it
SMALLEST = (
    b'\x08\x04:<\n\x12\n\x01x\x12\x01y\x1a\x04relu"\x04Relu\x12\x04reluZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02'
    b"\x08\x03b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x03B\x04\n\x00\x10\t"
)
_NO_FALLBACK = ("session.disable_cpu_ep_fallback", "1")
_FELL_BACK = re.compile("fallback to CPU EP has been explicitly disabled")
_REASON = re.compile(r"(?:Failed to|CUDA failure|CUDA error|Require)[^\n\x1b]+")


class ProviderSetup(NamedTuple):
    """How a session gets its provider: by name with options, or, for a plugin, by devices.

    provider  onnxruntime's name of it
    providers, options  for the session; both empty for a plugin
    devices, device_options  a plugin's
    """

    provider: str
    providers: List[str] = []  # a default that nobody changes
    options: List[Dict[str, str]] = []  # a default that nobody changes
    devices: List[Any] = []  # a default that nobody changes
    device_options: Dict[str, str] = {}  # a default that nobody changes


def require_provider(way: ProviderSetup) -> None:
    """Raise :class:`Unavailable` where a session of the smallest model does not run on the provider.

    The text has the words that onnxruntime only logs: the library that is missing, the driver that is too old.
    """
    import numpy as np
    import onnxruntime

    if not way.devices and way.provider not in onnxruntime.get_available_providers():
        raise Unavailable(
            Stage.RESOLVE,
            "this onnxruntime {} has no {} compiled in (it has {})".format(
                onnxruntime.__version__, way.provider, ", ".join(onnxruntime.get_available_providers())
            ),
        )
    with _capture_stderr() as log:
        try:
            session = _create_session(SMALLEST, way, {}, strict=False)
            problem = _find_other_provider(session, way)
            # a package that was not built for this device only says so when it runs
            session.run(None, {"x": np.zeros(3, "float32")})
        except Exception as error:
            problem = str(error).strip()
    if problem:
        found = dict.fromkeys(_REASON.findall("".join(log)))
        raise Unavailable(Stage.RESOLVE, "\n".join([problem, *found]))


def set_up_plugin(package: str, choose_options: Callable[[Any], Dict[str, str]]) -> ProviderSetup:
    """Load the library of a plugin's package and take its first device, the CPU where it has it.

    Its module, named as the package, has ``get_library_path`` and ``get_ep_name``; ``choose_options`` gets the module.
    Raises :class:`Unavailable`.
    """
    import onnxruntime

    place = "{} {} {{}} onnxruntime {}".format(package, envinfo.find_version(package), onnxruntime.__version__)
    try:
        module = import_module(package.replace("-", "_"))
        name = module.get_ep_name()
        onnxruntime.register_execution_provider_library(name, module.get_library_path())
    except Exception as error:
        raise Unavailable(Stage.LOAD, "{}: {}".format(place.format("does not load into"), error)) from error
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
    if not devices:
        where = "{} and offers no device here: this is {}".format(place.format("loads into"), envinfo.read_cpu_name())
        raise Unavailable(Stage.PLACE, where)
    devices.sort(key=lambda device: device.device.type != onnxruntime.OrtHardwareDeviceType.CPU)
    return ProviderSetup(name, devices=devices[:1], device_options=choose_options(module))


def load_session(
    model: bytes, way: ProviderSetup, options: Mapping[str, Any], announce: Callable[[Stage], None]
) -> AdapterSession:
    """A session that may run nothing on the CPU, or else, at stage ``place``, one that may and says what it does.

    Raises what onnxruntime raises, and :class:`Refused` where the session is not on the provider at all.
    """
    folder = tempfile.TemporaryDirectory()
    profile = os.path.join(folder.name, "profile")
    try:
        session = _create_session(model, way, options, strict=True, profile=profile)
    except Exception as error:
        if not _FELL_BACK.search(str(error)):
            raise
        announce(Stage.PLACE)
        session = _create_session(model, way, options, strict=False, profile=profile)
    problem = _find_other_provider(session, way)
    if problem:
        announce(Stage.PLACE)
        raise Refused(problem)
    return _PlacedSession(session, way.provider, folder)


class _PlacedSession(AdapterSession):
    """Its first run is profiled: each node with the provider that ran it."""

    def __init__(self, session: Any, provider: str, folder: Any) -> None:
        self._session = session
        self._folder = folder  # with the profile; it is removed with the session
        self._provider = provider
        self._looked = False
        self.input_names = [item.name for item in session.get_inputs()]

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        outputs = list(self._session.run(None, feeds))
        if not self._looked:
            self._looked = True
            self._look()
        return outputs

    def _look(self) -> None:
        with open(self._session.end_profiling(), encoding="utf-8") as file:
            ran = count_nodes(json.load(file))
        self.placement = {provider: sum(ops.values()) for provider, ops in sorted(ran.items())}
        others = {provider: ops for provider, ops in sorted(ran.items()) if provider != self._provider}
        if not ran:
            self.absent = "no node runs on {}: the outputs are constants or inputs".format(self._provider)
        if not others:
            return
        where = "; ".join("{}: {}".format(provider, _format_operators(ops)) for provider, ops in others.items())
        if self._provider not in ran:
            self.absent = "no node runs on {}; {}".format(self._provider, where)
        else:
            count, all_ = sum(sum(ops.values()) for ops in others.values()), sum(self.placement.values())
            self.degraded = "{} of {} nodes run elsewhere; {}".format(count, all_, where)


def count_nodes(events: List[Dict[str, Any]]) -> "Dict[str, Counter[str]]":
    """Provider -> operators of the nodes that it ran, from a profile; a node in a loop counts once."""
    seen: Set[Tuple[str, str, str]] = set()
    found: "Dict[str, Counter[str]]" = {}
    for event in events:
        about = event.get("args", {})
        if event.get("cat") != "Node" or not about.get("provider") or not event["name"].endswith("_kernel_time"):
            continue
        key = (event["name"], str(about.get("node_index")), about["provider"])
        if key not in seen:
            seen.add(key)
            found.setdefault(about["provider"], Counter())[about.get("op_name", "?")] += 1
    return found


def _format_operators(ops: "Counter[str]") -> str:
    return ", ".join(op if count == 1 else "{}*{}".format(op, count) for op, count in sorted(ops.items()))


def _find_other_provider(session: Any, way: ProviderSetup) -> str:
    have = session.get_providers()
    if have[:1] == [way.provider]:
        return ""
    return "asked for {}, the session runs on {}".format(way.provider, ", ".join(have))


def _create_session(
    model: bytes, way: ProviderSetup, options: Mapping[str, Any], strict: bool, profile: str = ""
) -> Any:
    import onnxruntime

    settings = runtimes.make_session_options(options)  # the same as a cell's
    if strict:
        # a release that does not know the entry ignores it; the profile tells then too
        settings.add_session_config_entry(*_NO_FALLBACK)
    if profile:
        settings.enable_profiling = True
        settings.profile_file_prefix = profile
    if way.devices:
        settings.add_provider_for_devices(way.devices, way.device_options)
        return onnxruntime.InferenceSession(model, settings, enable_fallback=0)
    # Python's own fallback, which only some providers have, off as well
    return onnxruntime.InferenceSession(
        model, settings, providers=way.providers, provider_options=way.options, enable_fallback=0
    )


@contextmanager
def _capture_stderr() -> Iterator[List[str]]:
    """What the process writes to standard error within, native code too; it is written there afterwards."""
    kept, log = os.dup(2), []  # type: ignore[var-annotated]  # of text
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield log
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            log.append(file.read().decode("utf-8", "replace"))
            os.write(2, log[0].encode("utf-8", "replace"))
