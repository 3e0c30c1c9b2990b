"""A runtime that is not among ours: its adapter in a file of ten lines, for ``--runtime FILE.py``.

The file makes ``ADAPTER``, with :func:`adapter` or as a subclass of
:class:`~caniexport.runner.adapters.base.Adapter`. docs/contributing.md has one.
"""

from __future__ import annotations

import runpy
from typing import Any, Callable, Dict, List, Mapping, Sequence, Type

from caniexport.model.errors import UnknownName
from caniexport.model.rows import NAME
from caniexport.model.status import Stage
from caniexport.runner import tensors
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Running, Unavailable
from caniexport.worker import envinfo

#: arrays by input name in, arrays in the order of the model's outputs out
Run = Callable[[Dict[str, Any]], Sequence[Any]]


def adapter(name: str, load: Callable[[bytes], Run], package: str = "") -> Type[Adapter]:
    """Return the adapter class of a runtime.

    ``load`` gets a serialised model and returns a function from arrays by input name to the arrays of the outputs, in
    their order. Import the runtime in it. ``package`` is the distribution whose version counts, if not ``name``.
    """
    distribution = package or name

    class Own(Adapter):
        packages = (distribution,)

        def start(self) -> Running:
            version = envinfo.find_version(distribution)
            if version is None:
                raise Unavailable(Stage.RESOLVE, "{} is not installed".format(distribution))
            return Running(version)

        def load(self, given: Given, announce: Callable[[Stage], None]) -> AdapterSession:  # noqa: ARG002  # has no further stage
            return _OwnSession(load(given.model), tensors.read_input_names(given.model))

    Own.name = name
    return Own


class _OwnSession(AdapterSession):
    def __init__(self, run: Run, names: List[str]) -> None:
        self._run = run
        self.input_names = names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return list(self._run(feeds))


def is_adapter_file(runtime: str) -> bool:
    """Whether a runtime is named by the file of its adapter."""
    return runtime.endswith(".py")


def read_adapter(file: str, taken: Mapping[str, str]) -> Type[Adapter]:
    """The adapter of a file; its name is none of those ``taken``. Raises :class:`UnknownName`."""
    try:
        found = runpy.run_path(file)["ADAPTER"]
    except Exception as error:  # whatever is in that file
        raise UnknownName("{}: no ADAPTER in it ({}: {})".format(file, type(error).__name__, error)) from error
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise UnknownName("{}: its ADAPTER is no adapter".format(file))
    if not NAME.fullmatch(found.name):
        raise UnknownName("{}: {!r} is no name of a runtime".format(file, found.name))
    if found.name in taken:
        raise UnknownName("{}: {} has an adapter already; give this one another name".format(file, found.name))
    return found
