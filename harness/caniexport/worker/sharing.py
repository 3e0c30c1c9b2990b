"""What all opsets of one variant share: dynamo's captured program and its decomposition, and a failed scripting.

``torch.onnx.export(dynamo=True)`` captures the module, decomposes the program for the operators its registry has, and
translates that. The first step does not know the opset; the second depends only on which operators are registered. Two
thirds of an export are these two, so that within :func:`shared` they are done once for each set of operators, and their
results, which the translation only reads, handed out again: failures and warnings too. (A captured program is not
decomposed a second time: where sizes depend on values, decomposing changes it, and the second time fails.) Where a
release lacks these functions (before 2.5) nothing is done. ``tests/`` hold the models to those of a bare call, byte for
byte.

Scripting does not know the opset either. One that fails leaves half a class behind in TorchScript's compiler, and the
next attempt in the same process fails with other words: so it is tried once.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Dict, FrozenSet, Hashable, Iterator, List, Optional, Tuple


class _Kept:
    """Results of one variant, with the warnings that came with them."""

    def __init__(self) -> None:
        self.owner: Optional[Hashable] = None
        self.active = False
        self.operators: FrozenSet[Any] = frozenset()
        self.results: Dict[Any, Tuple[Any, List[Any]]] = {}
        self.spoiled = False

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result for ``key``; its warnings are given every time."""
        if not self.active:
            return compute()
        if key not in self.results:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = compute()
            self.results[key] = (result, list(caught))
        result, caught = self.results[key]
        for item in caught:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
        return result

    def scripted(self, compile_module: Callable[[], Any]) -> Any:
        """What ``compile_module`` gives, a new one every time; where it failed once, the same failure."""

        def attempt() -> Any:
            try:
                return compile_module(), None
            except Exception as error:  # the cell's row tells it
                self.spoiled = True
                return None, error

        module, failure = self.once(("script",), attempt)
        if failure is not None:
            raise failure
        self.results.pop(("script",), None)
        return module


_kept = _Kept()


@contextlib.contextmanager
def shared(owner: Optional[Hashable]) -> Iterator[None]:
    """Within this block, equal steps of equal ``owner`` are done once; ``None`` shares nothing."""
    if owner is None or owner != _kept.owner:
        _kept.results.clear()
    _kept.owner, _kept.active = owner, owner is not None
    try:
        yield
    finally:
        _kept.active = False


def scripted(compile_module: Callable[[], Any]) -> Any:
    """A scripted module; within :func:`shared` a failure is kept and raised again."""
    return _kept.scripted(compile_module)


def spoiled() -> bool:
    """Whether something was left behind in this process that the next variant would meet."""
    return _kept.spoiled


def share() -> None:
    """Replace the three functions in this process; outside of :func:`shared` they are what they were."""
    try:
        from torch.onnx._internal.exporter import _capture_strategies, _core

        export = _core.export
        capture = _capture_strategies.CaptureStrategy.__call__
        prepare = _core._prepare_exported_program_for_export
    except (ImportError, AttributeError):  # before 2.5
        return

    def export_for(*args: Any, registry: Any = None, **kwargs: Any) -> Any:
        # without a registry of the caller's, the exporter makes the same one every time
        _kept.operators = frozenset(registry.functions) if registry is not None else frozenset()
        return export(*args, registry=registry, **kwargs)

    def capture_once(self: Any, model: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        key = ("capture", type(self), repr(dynamic_shapes), _kept.operators)
        return _kept.once(key, lambda: capture(self, model, args, kwargs, dynamic_shapes))

    def prepare_once(exported_program: Any, *, registry: Any) -> Any:
        # the program is part of the value as well: as long as it lives no other has its id
        key = ("prepare", id(exported_program))
        return _kept.once(key, lambda: (exported_program, prepare(exported_program, registry=registry)))[1]

    _core.export = export_for
    _capture_strategies.CaptureStrategy.__call__ = capture_once
    _core._prepare_exported_program_for_export = prepare_once
