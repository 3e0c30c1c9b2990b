"""The runtimes, tools and plugins: one module each, named as it. docs/contributing.md says how to add one."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Dict, Type

from caniexport.model.errors import UnknownName
from caniexport.runner import own_runtime
from caniexport.runner.adapters.base import Adapter
from caniexport.runner.adapters.chain import chain
from caniexport.runner.adapters.tool import Tool

#: modules beside this one that several adapters share
_SHARED = ("base", "chain", "openvino_text", "placement", "plugin", "profiles", "tool")

#: runtime -> the module beside this one that adapts it
ADAPTERS: Dict[str, str] = {
    item.name.replace("_", "-"): item.name for item in pkgutil.iter_modules(__path__) if item.name not in _SHARED
}


def find_adapter(runtime: str, provider: str) -> Adapter:
    """The adapter of a runtime, by name or by file, for a provider; its own default where that is empty.

    Tools one after the other are joined by ``+``, what is asked of one stands behind a colon.
    Raises :class:`UnknownName`; imports nothing of the runtime.
    """
    if "+" in runtime:
        steps = [find_adapter(*(step.split(":") + [""])[:2]) for step in runtime.split("+")]
        wrong = [step.name for step in steps if not isinstance(step, Tool)]
        if wrong:
            raise UnknownName("{} is no tool that changes a file".format(wrong[0]))
        return chain([step for step in steps if isinstance(step, Tool)])("cpu")
    cls = _find_class(runtime)
    provider = provider or cls.providers[0]
    if provider not in cls.providers:
        raise UnknownName("{} has no provider {!r} (it has: {})".format(runtime, provider, ", ".join(cls.providers)))
    return cls(provider)


def _find_class(runtime: str) -> Type[Adapter]:
    if own_runtime.is_adapter_file(runtime):
        return own_runtime.read_adapter(runtime, ADAPTERS)
    if runtime not in ADAPTERS:
        raise UnknownName("unknown runtime {!r} (known: {}, FILE.py)".format(runtime, ", ".join(ADAPTERS)))
    found: Type[Adapter] = import_module("caniexport.runner.adapters." + ADAPTERS[runtime]).ADAPTER
    return found
