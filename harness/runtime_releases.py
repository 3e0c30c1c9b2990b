"""The table of runtime releases: one entry each, with the Python and the pins that install and run together.

A tox environment is named after the runtime and its minor version: ``ort1.14-cpu``, ``ort1.14-cuda``. Python and numpy
are the oldest that a release needs, so that few different ones are in the table.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from harness.worker.errors import UnknownName

#: runtime -> how its tox environments' names begin, where that is not the runtime's name
_SHORT = {"onnxruntime": "ort"}
#: runtime and provider -> the package, where it is not the runtime's name: two of them in one environment overwrite
#: each other
_PACKAGES = {("onnxruntime", "cuda"): "onnxruntime-gpu", ("onnxruntime", "tensorrt"): "onnxruntime-gpu"}
_PROVIDERS = ("cpu", "cuda", "openvino", "tensorrt", "none")


@dataclass(frozen=True)
class RuntimeRelease:
    """A release of a runtime: the Python it is measured on, and what is pinned beside it."""

    runtime: str
    version: str
    python: str
    pins: tuple[str, ...]

    @property
    def minor(self) -> str:
        """``1.14`` for 1.14.1."""
        return ".".join(self.version.split(".")[:2])

    @property
    def text(self) -> str:
        """``onnxruntime==1.14.1``, as a user writes it."""
        return f"{self.runtime}=={self.version}"

    def environment(self, provider: str) -> str:
        """The name of its tox environment: ``ort1.14-cpu``."""
        return f"{_SHORT.get(self.runtime, self.runtime)}{self.minor}-{provider}"

    def requirements(self, provider: str) -> tuple[str, ...]:
        """What is installed."""
        package = _PACKAGES.get((self.runtime, provider), self.runtime)
        return (f"{package}=={self.version}", *self.pins)

    def spec(self, provider: str) -> str:
        """Hash of Python and pins: the same specification makes the same environment."""
        text = "\n".join((f"python{self.python}", *sorted(self.requirements(provider))))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _onnxruntime(python: str, numpy: str, versions: str) -> tuple[RuntimeRelease, ...]:
    return tuple(RuntimeRelease("onnxruntime", item, python, (f"numpy=={numpy}",)) for item in versions.split())


#: oldest first, runtime by runtime
RUNTIMES: tuple[RuntimeRelease, ...] = (
    *_onnxruntime("3.8", "1.23.5", "1.4.0 1.6.0 1.8.1 1.10.0 1.11.1 1.12.1 1.13.1 1.14.1 1.15.1 1.16.3 1.17.3"),
    *_onnxruntime("3.8", "1.23.5", "1.18.1 1.19.2"),
    *_onnxruntime("3.10", "1.26.4", "1.20.1 1.21.1 1.22.1 1.23.2"),
    *_onnxruntime("3.11", "1.26.4", "1.24.4 1.25.1 1.26.0 1.28.0 1.31.1"),
)

_ENVIRONMENT = re.compile(rf"(?P<name>[a-z][a-z-]*)(?P<version>\d+(?:\.\d+)+)-(?P<provider>{'|'.join(_PROVIDERS)})")


@dataclass(frozen=True)
class Target:
    """What the name of a tox environment asks for."""

    release: RuntimeRelease
    provider: str


def target(environment: str) -> Target | None:
    """``ort1.14-cpu`` -> that release on cpu; ``None`` where the name is not one of a runtime's."""
    match = _ENVIRONMENT.fullmatch(environment)
    if match is None:
        return None
    runtimes = {_SHORT.get(release.runtime, release.runtime): release.runtime for release in RUNTIMES}
    if match["name"] not in runtimes:
        return None
    try:
        return Target(find(f"{runtimes[match['name']]}=={match['version']}")[0], match["provider"])
    except UnknownName:
        return None


def find(text: str) -> tuple[RuntimeRelease, ...]:
    """``onnxruntime`` (every release), ``onnxruntime==1.14`` or ``ort1.14`` (one). Raises :class:`UnknownName`.

    A patch release that is not in the table gets its minor's entry with its own version.
    """
    from harness import names

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
    raise names.unknown(f"release of {name}", version, [item.version for item in mine])


def _runtimes() -> list[str]:
    return list(dict.fromkeys(item.runtime for item in RUNTIMES))
