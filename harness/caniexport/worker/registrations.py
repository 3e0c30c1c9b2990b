"""The symbolics that are registered with the TorchScript exporter, and taking back what a cell left there.

Registering one's own symbolic for an operator is the workaround that documents name most, and most never unregister it.
The next cell of the process would meet it. A new process for each such cell costs 40 to 50 ms, ten times the cell, so
the tables are put back as they were.
"""

from __future__ import annotations

import sys
from operator import is_
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

#: where a group of functions keeps them (``OverrideDict``): as registered by torch, by others, and both together
_LAYERS = ("_base", "_overrides", "_merged")

_Layers = Tuple[Dict[Any, Any], ...]
_Groups = Dict[str, Tuple[Any, _Layers]]


def registered() -> int:
    """One number for the symbolics that are registered now, whoever did it, in the registries of 1.2 to 2.15.

    Each table by its names and what they mean: a rule that is gone from opset 12 may still be the one of opset 11.
    """
    tables = [frozenset((name, id(value)) for name, value in table.items()) for table in tables_of_symbolics()]
    # a table that was taken away and put back may be the last one now
    return hash(tuple(sorted(map(hash, tables))))


def tables_of_symbolics() -> List[Dict[Any, Any]]:
    """The tables themselves: one for each operator (1.13 on), one for each domain and opset (before).

    The groups of functions are in a table as well: unregistering the last function of one leaves it empty, and the
    exporter then fails with other words.
    """
    holders = [groups for _, groups in _registries()] + [_tables()]
    held = [item for holder in holders for item in holder.values()]
    # some four hundred operators, asked for after every cell; a group keeps its tables as long as it lives
    if len(held) != len(_held) or not all(map(is_, held, _held)):
        _held[:] = held
        _found[:] = holders[:-1] + [item if isinstance(item, dict) else _merged(item) for item in held]
    return _found


_held: List[Any] = []
_found: List[Dict[Any, Any]] = []


def _merged(group: Any) -> Dict[Any, Any]:
    return getattr(getattr(group, "_functions", None), "_merged", {})


class Registrations(NamedTuple):
    """The symbolics registered at one moment: groups by registry (1.13 on), tables by domain and opset (before)."""

    groups: Dict[str, _Groups]
    tables: Dict[Any, Dict[str, Any]]

    @classmethod
    def now(cls) -> "Registrations":
        """Those of this process at this moment."""
        groups = {name: {key: (group, _layers(group)) for key, group in found.items()} for name, found in _registries()}
        return cls(groups, {key: dict(table) for key, table in _tables().items()})

    def restore(self) -> None:
        """Put every table back as it was, in place, since torch's modules hold references to them.

        A table that torch itself has built since then stays: whether it is complete is not known here, so that what
        compares :func:`registered` goes on seeing it.
        """
        for name, found in _registries():
            _restore_groups(found, self.groups.get(name, {}))
        tables = _tables()
        for key in list(tables):
            if key in self.tables:
                _refill(tables[key], self.tables[key])
            elif not any(map(_is_of_torch, tables[key].values())):
                del tables[key]


def _registries() -> Iterator[Tuple[str, Dict[str, Any]]]:
    for name in ("torch.onnx._internal.registration", "torch.onnx._internal.torchscript_exporter.registration"):
        registry = getattr(sys.modules.get(name), "registry", None)
        yield name, getattr(registry, "_registry", {})


def _tables() -> Dict[Any, Dict[str, Any]]:
    found: Dict[Any, Dict[str, Any]] = getattr(sys.modules.get("torch.onnx.symbolic_registry"), "_registry", {})
    return found


def _layers(group: Any) -> _Layers:
    functions = getattr(group, "_functions", None)
    return tuple(dict(getattr(functions, layer, {})) for layer in _LAYERS)


def _restore_groups(found: Dict[str, Any], wanted: _Groups) -> None:
    for key in list(found):
        if key not in wanted:
            del found[key]
    for key, (group, layers) in wanted.items():
        found[key] = group
        functions = getattr(group, "_functions", None)
        for name, content in zip(_LAYERS, layers):
            if hasattr(functions, name):
                _refill(getattr(functions, name), content)


def _refill(table: Dict[Any, Any], content: Dict[Any, Any]) -> None:
    if table != content:
        table.clear()
        table.update(content)


def _is_of_torch(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("torch.onnx.symbolic_")
