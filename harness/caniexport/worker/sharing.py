"""Share dynamo's captured program and its decomposition between the opsets of one variant.

``torch.onnx.export(dynamo=True)`` captures the module, decomposes the program for the operators of its registry, and
translates the result. Capturing does not depend on the opset; decomposing depends only on the registered operators.
Both take two thirds of an export. A process measures one variant with one exporter. Within :func:`share_steps` it does
both once for each set of operators and uses results, failures and warnings again. The translation only reads them.
(Decomposing a captured program twice fails where sizes depend on values.) Releases before 2.5 share nothing. A test
compares the models byte for byte with those of a bare call.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Tuple


class _Shared:
    """Results of this process with their warnings."""

    def __init__(self) -> None:
        self.is_active = False
        self.operators: FrozenSet[Any] = frozenset()
        self.results: Dict[Any, Tuple[Any, List[Any]]] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return the result for ``key`` and repeat its warnings; compute it the first time."""
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
def share_steps(is_active: bool) -> Iterator[None]:
    """Within this block do equal steps once, if ``is_active``."""
    _shared.is_active = is_active
    try:
        yield
    finally:
        _shared.is_active = False


def replace_dynamo_steps() -> None:
    """Replace dynamo's three functions in this process; outside of :func:`share_steps` they behave as before."""
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
