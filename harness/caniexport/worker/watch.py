"""Whether a process is still what it was before its first cell.

What a cell leaves behind, the next cell of the process would meet: names of modules and classes bound to something
else, tables with other entries, settings. After every cell the narrow watch looks at what cells have been seen to
change and at what judges them; between the batches of a process the wide one looks at the rest of what an export, a
check or a run goes through.
"""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

from caniexport.worker.registrations import Registrations, registered, tables_of_symbolics
from caniexport.worker.settings import Reader, compiled, data_limit

_Fingerprint = Dict[str, int]
_Holders = Callable[[], List[Any]]
#: where Python's own modules are
_LIBRARY = os.path.dirname(os.__file__)


class Watch:
    """Whether what some modules and classes hold is still what it was when the watch began.

    After most cells every watched name is bound to the very object it was bound to before: seeing that takes a tenth of
    a fingerprint. Only where something has moved, a counter or a name that came and went, are fingerprints compared.
    """

    def __init__(self, holders: Optional[_Holders] = None) -> None:
        self._holders = holders or _watched
        self._before = _fingerprint(self._holders())
        self._seen = _bound(self._holders())

    def is_changed(self) -> bool:
        """Whether a cell has left something behind."""
        bound = _bound(self._holders())
        if _are_same(bound, self._seen):
            return False
        if _differ(self._before, _fingerprint(self._holders())):
            return True
        self._seen = bound
        return False


class State:
    """What a process was before its first cell, for all the cells that it works through."""

    def __init__(self) -> None:
        self._modules = 0
        #: those of the process that works, which is a fork of the one that took its names and tables
        self._settings: Optional[Tuple[Any, ...]] = None

    def take(self) -> None:
        """Take the names and tables as they are now: before the process is forked that is paid for all children."""
        self._watch, self._registrations = Watch(), Registrations.now()
        self._wide = Watch(_widely_watched)
        self._packages, self._modules = _packages(), len(sys.modules)

    def begin(self) -> None:
        """Before cells: known already where it was kept and nothing has been imported since."""
        if len(sys.modules) != self._modules:
            self.take()
        if self._settings is None:
            self._reader = Reader.now()
            self._settings = self._reader.read()
        self._limit, self._compiled = data_limit(), compiled()

    def is_kept(self) -> bool:
        """Whether it is still that, once the symbolics that a cell left registered are taken back.

        What a package does when it is imported (registers symbolics and operators, replaces functions) belongs to the
        model that needs it, for as long as the process has the package: then the process is taken as it is now.
        """
        if len(sys.modules) != self._modules and not _packages() <= self._packages:
            self.take()
            self._settings = self._reader.read()
        if not self._has_settings():
            return False
        if not self._watch.is_changed():
            return True
        self._registrations.restore()
        return not self._watch.is_changed()

    def is_kept_widely(self) -> bool:
        """The same for what is looked at between batches only."""
        return compiled() == self._compiled and not self._wide.is_changed()

    def _has_settings(self) -> bool:
        try:
            return data_limit() == self._limit and self._reader.read() == self._settings
        except Exception:
            return False  # what cannot even be read (a folder that is gone) is not what it was


def _packages() -> FrozenSet[str]:
    """Names of the imported packages and modules that are not Python's own."""
    modules = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return frozenset(name for name, file in modules if "." not in name and file and not _is_of_python(file))


def _is_of_python(file: str) -> bool:
    return file.startswith(_LIBRARY) and "site-packages" not in file and "dist-packages" not in file


def _fingerprint(holders: List[Any]) -> _Fingerprint:
    """What a cell could change in its process and leave to the next one, by the name of what holds it.

    Looks at what the names of modules and classes are bound to (a monkeypatch) and at the tables of symbolics. Sets:
    taking a patch back may leave the same names in another order.
    """
    found = {
        _name_of(holder): hash(
            frozenset([(name, id(value)) for name, value in list(vars(holder).items()) if callable(value)])
        )
        for holder in holders
    }
    found.update(registry=registered())
    return found


def _name_of(holder: Any) -> str:
    return "{}.{}".format(getattr(holder, "__module__", ""), holder.__name__)


def _differ(before: _Fingerprint, now: _Fingerprint) -> bool:
    """Whether something that was there is another thing now; a module imported since then has changed nothing."""
    return any(now.get(name) != value for name, value in before.items())


def _bound(holders: List[Any]) -> List[Any]:
    """Everything that modules and classes and the tables of symbolics hold now, in their order."""
    tables = [vars(holder) for holder in holders] + tables_of_symbolics()
    return list(chain.from_iterable([table.values() for table in tables]))


def _are_same(now: List[Any], before: List[Any]) -> bool:
    try:
        # item by item, the very same object first, which is the quick way to find nothing
        return now == before
    except Exception:
        return False  # what compares in a way of its own has taken another's place


#: asked about after every cell: what measures and judges, and what fixes have been seen to patch
_PREFIXES = ("torch.onnx", "torch.jit", "torch.nn.functional", "caniexport.model", "caniexport.worker")
_MODULES = frozenset(
    "torch numpy onnx onnx.checker onnx.helper onnx.numpy_helper onnxruntime builtins json json.encoder json.decoder "
    "warnings os io time tempfile zlib zipfile inspect linecache hashlib struct random numpy.random "
    "onnxruntime.capi.onnxruntime_inference_collection onnxruntime.capi._pybind_state".split()
)
_CLASSES = (
    "torch.Tensor torch.nn.Module onnxruntime.InferenceSession zipfile.ZipFile json.JSONEncoder json.JSONDecoder "
    "tempfile.TemporaryDirectory warnings.catch_warnings"
).split()
#: asked about between batches: their classes too
_WIDE_PREFIXES = (
    *("torch.nn", "torch.autograd", "torch.utils._pytree", "torch.overrides"),
    *("caniexport.model", "caniexport.worker"),
)
#: what is cached for one number of imported modules: going through ``sys.modules`` takes longer than looking
_holders: Dict[str, Tuple[int, List[Any]]] = {}


def _watched() -> List[Any]:
    """Modules and classes whose names are looked at after every cell."""
    return _kept("narrow", lambda: chain(_modules(_is_watched), _classes()))


def _widely_watched() -> List[Any]:
    """Modules and classes whose names are looked at between batches."""

    def found() -> Iterator[Any]:
        for module in _modules(lambda name: name.startswith(_WIDE_PREFIXES)):
            yield module
            for item in list(vars(module).values()):
                if isinstance(item, type) and item.__module__ == module.__name__:
                    yield item

    return _kept("wide", found)


def _kept(what: str, find: Callable[[], Any]) -> List[Any]:
    count, found = _holders.get(what, (0, []))
    if count != len(sys.modules):
        found = list(find())
        _holders[what] = (len(sys.modules), found)
    return found


def _modules(wanted: Callable[[str], bool]) -> Iterator[Any]:
    return (item for name, item in list(sys.modules.items()) if item and wanted(name) and hasattr(item, "__dict__"))


def _classes() -> Iterator[Any]:
    for place in _CLASSES:
        holder: Any = None
        for number, name in enumerate(place.split(".")):
            holder = getattr(holder, name, None) if number else sys.modules.get(name)
        if holder is not None:
            yield holder


def _is_watched(name: str) -> bool:
    return name in _MODULES or name.startswith(_PREFIXES)
