"""The hash of the measuring code: over the syntax trees of the modules that decide what a row says.

A row carries the hash of the code that made it, so that a change of that code leaves nothing unclear: what it can touch
is measured again, or shown to be the same on a sample. Comments, docstrings and layout do not count.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import pkgutil
from typing import Iterable

from caniexport.model.casehash import canonical

_MODEL, _WORKER, _RUNNER = "caniexport.model", "caniexport.worker", "caniexport.runner"
#: the modules that decide a cell's row; planning, journals and progress do not
_CELLS = (
    (_MODEL, ("messages", "runtimes", "tensors")),
    (
        _WORKER,
        (
            *("cell", "compare", "exporters", "failures", "isolate", "keeping", "onnx_file", "process_tree"),
            *("server", "sharing", "subject", "supervisor", "warm"),
        ),
    ),
)
#: those that decide the row of a bundle on a runtime, beside the adapters
_REPLAYS = (
    (_MODEL, ("messages",)),
    (_WORKER, ("compare", "failures", "isolate", "process_tree")),
    (_RUNNER, ("beside", "one", "supervise", "tensors", "wire")),
)
_ADAPTERS = "caniexport.runner.adapters"


@functools.lru_cache(maxsize=None)
def hash_measuring_code() -> str:
    """Sixteen hex digits for the code that measures a cell."""
    return hash_sources(_read_source(package, name) for package, names in _CELLS for name in names)


@functools.lru_cache(maxsize=None)
def hash_replay_code() -> str:
    """Sixteen hex digits for the code that runs a bundle on a runtime."""
    modules = [(package, name) for package, names in _REPLAYS for name in names]
    adapters = importlib.import_module(_ADAPTERS)
    modules += sorted((_ADAPTERS, item.name) for item in pkgutil.iter_modules(adapters.__path__))
    return hash_sources(_read_source(package, name) for package, name in modules)


def module_hash(*names: str) -> str:
    """Sixteen hex digits for modules of this room that make cases."""
    return hash_sources(_read_source(_WORKER, name) for name in names)


def _read_source(package: str, name: str) -> str:
    """A module's text, from a folder or from within an archive."""
    data = pkgutil.get_data(package, name + ".py")
    assert data is not None
    return data.decode("utf-8")


def hash_sources(sources: Iterable[str]) -> str:
    """Sixteen hex digits for the syntax trees of these source texts, the same on every Python."""
    trees = [canonical(ast.parse(text)) for text in sources]
    return hashlib.sha256("\n".join(trees).encode("utf-8")).hexdigest()[:16]
