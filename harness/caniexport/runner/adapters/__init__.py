"""The runtimes: one module each, named as the runtime. docs/runtimes.md says how to add one."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Dict

from caniexport.model.errors import UnknownName
from caniexport.runner.adapters.base import Adapter

#: modules beside this one that adapt no runtime
_SHARED = ("base", "openvino_text", "placement", "profiles")

#: runtime -> the module beside this one that adapts it
ADAPTERS: Dict[str, str] = {
    item.name.replace("_", "-"): item.name for item in pkgutil.iter_modules(__path__) if item.name not in _SHARED
}


def find(runtime: str, provider: str) -> Adapter:
    """The adapter of a runtime, for a provider; the runtime's own default where it is empty.

    Raises :class:`UnknownName`; imports nothing of the runtime.
    """
    if runtime not in ADAPTERS:
        raise UnknownName("unknown runtime {!r} (known: {})".format(runtime, ", ".join(ADAPTERS)))
    cls = import_module("caniexport.runner.adapters." + ADAPTERS[runtime]).ADAPTER
    provider = provider or cls.providers[0]
    if provider not in cls.providers:
        raise UnknownName("{} has no provider {!r} (it has: {})".format(runtime, provider, ", ".join(cls.providers)))
    adapter: Adapter = cls(provider)
    return adapter
