"""What all opsets of one variant share: dynamo's captured program and its decomposition.

``torch.onnx.export(dynamo=True)`` captures the module, decomposes the program for the operators its registry has, and
translates that. The first step does not know the opset; the second depends only on which operators are registered. Two
thirds of an export are these two. A process measures one variant with one exporter, so that within :func:`shared` they
are done once for each set of operators, and their results, which the translation only reads, handed out again: failures
and warnings too. (A captured program is not decomposed a second time: where sizes depend on values, decomposing changes
it, and the second time fails.) Where a release lacks these functions (before 2.5) nothing is done. ``tests/`` hold the
models to those of a bare call, byte for byte.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Tuple


class _Shared:
    """Results of this process, with the warnings that came with them."""

    def __init__(self) -> None:
        self.is_active = False
        self.operators: FrozenSet[Any] = frozenset()
        self.results: Dict[Any, Tuple[Any, List[Any]]] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result for ``key``; its warnings are given every time."""
        if not self.is_active:
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


_shared = _Shared()


@contextlib.contextmanager
def shared(is_active: bool) -> Iterator[None]:
    """Within this block, equal steps are done once, where ``is_active``."""
    _shared.is_active = is_active
    try:
        yield
    finally:
        _shared.is_active = False


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
        _shared.operators = frozenset(registry.functions) if registry is not None else frozenset()
        return export(*args, registry=registry, **kwargs)

    def capture_once(self: Any, model: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        key = ("capture", type(self), repr(dynamic_shapes), _shared.operators)
        return _shared.once(key, lambda: capture(self, model, args, kwargs, dynamic_shapes))

    def prepare_once(exported_program: Any, *, registry: Any) -> Any:
        # the program is part of the value as well: as long as it lives no other has its id
        key = ("prepare", id(exported_program))
        return _shared.once(key, lambda: (exported_program, prepare(exported_program, registry=registry)))[1]

    _core.export = export_for
    _capture_strategies.CaptureStrategy.__call__ = capture_once
    _core._prepare_exported_program_for_export = prepare_once
