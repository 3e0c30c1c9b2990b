"""Paying once, before any cell is forked, for what every export of a process pays first.

Nothing here may change a model: imports are done early, and what :mod:`caniexport.worker.keeping` keeps is built.
``tests/`` holds the models to a bare ``torch.onnx.export``'s, byte for byte.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import warnings
from typing import Any, Iterator, Optional, Set

from caniexport.model.case import PLAIN, Case, Variant
from caniexport.model.plan import Cell
from caniexport.model.status import Exporter
from caniexport.model.tensors import f32
from caniexport.worker.cell import measure_cell
from caniexport.worker.keeping import keep_constant_results
from caniexport.worker.sharing import replace_dynamo_steps

_TORCHSCRIPT_OPSETS = range(7, 24)
#: opsets for which a dynamo export has been made in this process
_prepared: Set[Optional[int]] = set()


def import_before_torch() -> None:
    """Import onnx and onnxruntime. Where torch 1.3 is imported first, onnx 1.6's checker ends the process."""
    import onnx  # noqa: F401  # for its effect
    import onnxruntime  # noqa: F401  # for its effect


def warm(dynamo: bool, bare: bool = False) -> None:
    """Import torch and measure one addition with each exporter, quietly.

    ``bare`` keeps nothing between exports: the models are then those of torch alone.
    """
    import_before_torch()
    import torch

    torch.set_num_threads(1)
    stop_tqdm_monitor()
    if not bare:
        keep_constant_results()
        replace_dynamo_steps()
    # every opset once: 1.12 fills its registry of symbolics at the first export of each
    for opset in _TORCHSCRIPT_OPSETS:
        _measure_addition(Exporter.TRACE.value, opset)
    if dynamo:
        prepare_opset(Exporter.DYNAMO.value, None)
        with _silence():
            _capture_strictly()


def prepare_opset(exporter: str, opset: Optional[int]) -> bool:
    """Make the first dynamo export at an opset here, so that every forked child finds its registry built.

    Returns whether there was anything to do.
    """
    if exporter != Exporter.DYNAMO.value or opset in _prepared:
        return False
    _prepared.add(opset)
    _measure_addition(exporter, opset)
    return True


def stop_tqdm_monitor() -> None:
    """Torch's decomposition makes a progress bar where tqdm is installed, which starts a thread that looks after it.

    From two threads a fork is not safe: every batch would pay for a process of its own.
    """
    with contextlib.suppress(Exception):  # few environments have it
        importlib.import_module("tqdm").tqdm.monitor_interval = 0


def count_threads() -> int:
    """Threads of this process; a fork is safe only from one."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


class _Addition(Case):
    """An addition: the first export, check, session and comparison of a process build what every later one uses."""

    inputs = ((f32(2),), (f32(2),))

    def forward(self, x: Any) -> Any:
        return x + 1


def _measure_addition(exporter: str, opset: Optional[int]) -> None:
    """Measure it. A release whose exporter cannot even do this says so in its cells."""
    variant = Variant(_Addition, PLAIN, None)
    # a variant that prepares its module leaves no step for others to share
    variant.prepare = lambda module, _: module
    cell = Cell("addition", PLAIN, exporter, opset, "", "cpu")
    with _silence():
        measure_cell(cell, {PLAIN: variant}, lambda _: None, None)


def _capture_strictly() -> None:
    """The exporter's second strategy, tried where its first fails, and what dynamo does to ``torch.jit`` at first."""
    import torch

    with contextlib.suppress(Exception):  # before 2.1 there is none
        torch.export.export(torch.nn.Identity(), (torch.zeros(2),), strict=True)
    with contextlib.suppress(Exception):
        torch._dynamo.eval_frame.TorchPatcher.patch()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """No output and no log lines: an addition has nothing to say."""
    out, err = sys.stdout, sys.stderr
    logging.disable(logging.CRITICAL)
    sys.stdout = sys.stderr = io.StringIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout, sys.stderr = out, err
        logging.disable(logging.NOTSET)
