"""The table of releases of what takes an exported file: runtimes, tools that change it, plugins of onnxruntime.

One entry each, with the Python and the pins that install and run together. A tox environment is named after the
runtime, its minor version and the provider: ``ort1.14-cpu``, ``ort1.14-cuda``, ``openvino2026.4-cpu``,
``onnx-converter1.23-to13``, ``onnxruntime-qnn2.7-ort1.32``. Python and numpy are the oldest that a release needs, so
that few different ones are in the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from caniexport.model.errors import UnknownName

#: runtime -> how its tox environments' names begin, where that is not the runtime's name
_SHORT = {"onnxruntime": "ort"}
#: runtime -> the package, where it is not the runtime's name
_PACKAGES = {
    "onnx-reference": "onnx",
    "tensorrt-rtx": "tensorrt-rtx-cu13-bindings",
    "tensorrt": "tensorrt-cu13-bindings",
    "onnx-converter": "onnx",
    "onnx-file": "onnx",
    "onnxscript-converter": "onnxscript",
    "onnxscript-optimizer": "onnxscript",
    "onnxconverter-half": "onnxconverter-common",
    "onnxruntime-basic": "onnxruntime",
    "onnxruntime-half": "onnxruntime",
    "onnxruntime-optimize": "onnxruntime",
    "onnxruntime-quantize": "onnxruntime",
}
_GPU, _OPENVINO, _PLUGIN = "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-ep-openvino==1.8.1"
#: minor of onnxruntime -> the version that other packages of it have, where that is not the table's. These packages
#: and onnxruntime overwrite each other in one environment
_OTHER_PATCHES = {
    _GPU: {"1.17": "1.17.1", "1.20": "1.20.2", "1.22": "1.22.0"},
    _OPENVINO: {"1.20": "1.20.0", "1.21": "1.21.0", "1.22": "1.22.0", "1.23": "1.23.0", "1.24": "1.24.1"},
}
#: older wheels of onnxruntime-gpu take no Python of the table; from the other one on OpenVINO is a plugin
_FIRST_GPU, _FIRST_PLUGIN = (1, 11), (1, 25)


class Kind(StrEnum):
    """What takes an exported file."""

    RUNTIME = "runtime"
    #: changes the file, which onnxruntime then runs; what it is asked for is its provider
    TOOL = "tool"
    #: an execution provider with releases of its own; the onnxruntime that loads it is its provider
    PLUGIN = "plugin"


@dataclass(frozen=True)
class RuntimeRelease:
    """A release of a runtime: the Python it is measured on, and its pins."""

    runtime: str
    version: str
    python: str
    pins: tuple[str, ...]
    providers: tuple[str, ...] = ("cpu",)
    kind: Kind = Kind.RUNTIME

    @property
    def minor(self) -> str:
        """``1.14`` for 1.14.1."""
        return ".".join(self.version.split(".")[:2])

    @property
    def text(self) -> str:
        """``onnxruntime==1.14.1``, as a user writes it."""
        return f"{self.runtime}=={self.version}"

    def environment(self, provider: str) -> str:
        """The name of its tox environment: ``ort1.14-cpu``; with the whole version where that is not the table's."""
        usual = find_releases(f"{self.runtime}=={self.minor}")[0].on(provider).version
        version = self.minor if self.on(provider).version == usual else self.version
        return f"{_SHORT.get(self.runtime, self.runtime)}{version}-{provider}"

    def on(self, provider: str) -> RuntimeRelease:
        """This release as the package of a provider has it: onnxruntime-gpu has no 1.20.1, but 1.20.2.

        Raises :class:`UnknownName` for a provider that the runtime has not, or had not yet.
        """
        from caniexport import names

        if provider not in self.providers:
            raise names.unknown_name(f"provider of {self.text}", provider, self.providers)
        patch = _OTHER_PATCHES.get(self._package(provider), {}).get(self.minor)
        listed = any(item.version == self.version for item in RUNTIMES if item.runtime == self.runtime)
        return replace(self, version=patch) if patch and listed else self

    def requirements(self, provider: str) -> tuple[str, ...]:
        """What is installed."""
        more: tuple[str, ...] = (_PLUGIN,) if provider == "openvino" and self._package(provider) == self.runtime else ()
        if self.kind is Kind.PLUGIN:
            host = find_releases(provider)[0]
            more = (f"{host.runtime}=={host.version}", *host.pins)
        return (f"{self._package(provider)}=={self.version}", *more, *self.pins)

    def _package(self, provider: str) -> str:
        if provider in ("cuda", "tensorrt"):
            return _GPU
        if provider == "openvino" and _numbers(self.version) < _FIRST_PLUGIN:
            return _OPENVINO
        return _PACKAGES.get(self.runtime, self.runtime)

    def spec(self, provider: str) -> str:
        """Hash of Python and pins: the same specification makes the same environment."""
        text = "\n".join((f"python{self.python}", *sorted(self.requirements(provider))))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _numbers(version: str) -> tuple[int, ...]:
    """(1, 14) for 1.14.1."""
    return tuple(int(part) for part in version.split(".")[:2])


def _onnxruntime(python: str, numpy: str, versions: str) -> tuple[RuntimeRelease, ...]:
    return tuple(
        RuntimeRelease("onnxruntime", item, python, (f"numpy=={numpy}",), _providers(item)) for item in versions.split()
    )


def _providers(version: str) -> tuple[str, ...]:
    """What some package of this onnxruntime has."""
    found = ["cpu"]
    if _numbers(version) >= _FIRST_GPU:
        found += ["cuda", "tensorrt"]
    if ".".join(version.split(".")[:2]) in _OTHER_PATCHES[_OPENVINO] or _numbers(version) >= _FIRST_PLUGIN:
        found.append("openvino")
    return tuple(found)


def _other(runtime: str, version: str, *pins: str, provider: str = "cpu") -> RuntimeRelease:
    return RuntimeRelease(runtime, version, "3.12", (*pins, "numpy==2.5.5"), (provider,))


def _tool(name: str, versions: str, provider: str = "cpu", *pins: str) -> tuple[RuntimeRelease, ...]:
    """Releases of a tool beside the newest onnx and onnxruntime, unless it is a release of one of them."""
    beside = tuple(pin for pin in _BESIDE if not pin.startswith(f"{_PACKAGES.get(name, name)}=="))
    return tuple(
        RuntimeRelease(name, item, "3.12", (*beside, *pins), tuple(provider.split()), Kind.TOOL)
        for item in versions.split()
    )


def _plugin(name: str, versions: str) -> tuple[RuntimeRelease, ...]:
    return tuple(RuntimeRelease(name, item, "3.11", (), _HOSTS, Kind.PLUGIN) for item in versions.split())


_BESIDE = ("onnx==1.23.2", "onnxruntime==1.32.0", "numpy==2.5.5")
_OPSETS = "to12 to13 to17 to18 to20 to21"
_HOSTS = ("ort1.32", "ort1.31", "ort1.28", "ort1.26", "ort1.25", "ort1.24")

#: oldest first, runtime by runtime
RUNTIMES: tuple[RuntimeRelease, ...] = (
    *_onnxruntime("3.8", "1.23.5", "1.4.0 1.6.0 1.8.1 1.10.0 1.11.1 1.12.1 1.13.1 1.14.1 1.15.1 1.16.3 1.17.3"),
    *_onnxruntime("3.8", "1.23.5", "1.18.1 1.19.2"),
    *_onnxruntime("3.10", "1.26.4", "1.20.1 1.21.1 1.22.1 1.23.2"),
    *_onnxruntime("3.11", "1.26.4", "1.24.4 1.25.1 1.26.0 1.28.0 1.31.1 1.32.0"),
    _other("onnx-reference", "1.23.2"),
    _other("openvino", "2026.4.1"),
    _other("tract", "0.23.9"),
    _other("tensorrt-rtx", "1.7.1.116", "tensorrt-rtx-cu13-libs==1.7.1.116", provider="none"),
    # its libraries are not on the package index: where the machine has none, one row says so
    _other("tensorrt", "11.4.0.106", provider="none"),
    *_tool("onnxslim", "0.1.90 0.1.98"),
    *_tool("onnxsim", "0.7.3 0.8.1"),
    *_tool("onnxoptimizer", "0.3.13 0.4.2"),
    *_tool("onnxscript-optimizer", "0.6.2 0.7.2"),
    *_tool("onnx-converter", "1.21.0 1.23.2", _OPSETS),
    *_tool("onnxscript-converter", "0.6.2 0.7.2", _OPSETS),
    *_tool("onnxconverter-half", "1.15.0 1.16.0"),
    *_tool("onnxruntime-half", "1.28.0 1.32.0", "cpu", "sympy==1.14.0"),
    *_tool("onnxruntime-quantize", "1.28.0 1.32.0", "dynamic qdq", "sympy==1.14.0"),
    *_tool("onnxruntime-optimize", "1.28.0 1.32.0", "basic extended all"),
    *_tool("onnxruntime-basic", "1.26.0 1.28.0 1.31.1 1.32.0"),
    *_tool("onnx-file", "1.23.2", "none"),
    *_plugin("onnxruntime-qnn", "2.3.0 2.4.0 2.5.0 2.6.0 2.7.0"),
    *_plugin("onnxruntime-ep-openvino", "1.4.1 1.6.1 1.7.0 1.8.1"),
    *_plugin("onnxruntime-ep-webgpu", "0.1.0 0.2.1 0.3.0 0.4.0"),
    *_plugin("onnxruntime-ep-nv-tensorrt-rtx", "0.3.0 0.4.0 0.5.0"),
)
#: what takes a file, and of which kind each is
KINDS = {release.runtime: release.kind for release in RUNTIMES}

_ENVIRONMENT = re.compile(r"(?P<name>[a-z][a-z-]*)(?P<version>\d+(?:\.\d+)+)-(?P<provider>[a-z]+[0-9.]*)")


@dataclass(frozen=True)
class RuntimeTarget:
    """What the name of a tox environment asks for."""

    release: RuntimeRelease
    provider: str


def find_target(environment: str) -> RuntimeTarget | None:
    """``ort1.14-cpu`` -> that release on cpu; ``None`` where the name is not one of a runtime's."""
    match = _ENVIRONMENT.fullmatch(environment)
    if match is None:
        return None
    runtimes = {_SHORT.get(release.runtime, release.runtime): release.runtime for release in RUNTIMES}
    if match["name"] not in runtimes:
        return None
    try:
        release = find_releases(f"{runtimes[match['name']]}=={match['version']}")[0]
        return RuntimeTarget(release.on(match["provider"]), match["provider"])
    except UnknownName:
        return None


def find_releases(text: str) -> tuple[RuntimeRelease, ...]:
    """``onnxruntime`` (every release), ``onnxruntime==1.14`` or ``ort1.14`` (one). Raises :class:`UnknownName`.

    A patch release that is not in the table gets its minor's entry with its own version.
    """
    from caniexport import names

    name, _, version = text.partition("==")
    short = re.fullmatch(r"([a-z][a-z-]*?)(\d+(?:\.\d+)+)", name)
    if not version and short is not None:
        name, version = short.groups()
    name = {value: key for key, value in _SHORT.items()}.get(name, name)
    mine = [item for item in RUNTIMES if item.runtime == names.require("runtime", name, _runtimes())]
    if not version:
        return tuple(mine)
    exact = [item for item in mine if version in (item.version, item.minor)]
    if exact:
        return (exact[-1],)
    minor = [item for item in mine if version.startswith(f"{item.minor}.")]
    if minor:
        return (replace(minor[-1], version=version),)
    raise names.unknown_name(f"release of {name}", version, [item.version for item in mine])


def choose_releases(texts: Sequence[str], provider: str) -> tuple[RuntimeRelease, ...]:
    """The releases that these words name, on a provider (empty: each runtime's first).

    Of a whole runtime, those that have the provider. Raises :class:`UnknownName` where none has.
    """
    found: list[RuntimeRelease] = []
    for text in texts:
        mine = find_releases(text)
        having = [item for item in mine if not provider or provider in item.providers]
        # none: the newest says what there is
        found += [item.on(provider or item.providers[0]) for item in having or mine[-1:]]
    return tuple(dict.fromkeys(found))


def _runtimes() -> list[str]:
    return list(dict.fromkeys(item.runtime for item in RUNTIMES))
