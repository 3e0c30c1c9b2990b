"""Whether a process still measures right: an addition whose row is known, and values that are known to differ.

Asked before a process takes another case. What a case has left behind where nobody looks shows here: in the row, in a
wrong value that passes, or in no answer at all.
"""

from __future__ import annotations

import signal
from typing import Any, Dict, Tuple

from caniexport.model.case import PLAIN, Case, variants
from caniexport.model.plan import Cell
from caniexport.model.status import Exporter, Stage
from caniexport.model.tensors import f32
from caniexport.worker import compare
from caniexport.worker.cell import measure

#: seconds; an answer takes a hundredth of one
_PATIENCE = 20
_OPSET = 9

Sound = Tuple[Any, ...]


class Probe(Case):
    """An addition with a dynamic axis."""

    sources = ("caniexport:probe",)
    exporters = (Exporter.TRACE.value,)
    inputs = ((f32(2),), (f32(3),))
    dynamic = {"x": {0: "n"}}

    def forward(self, x: Any) -> Any:
        """As the documentation of every exporter has it."""
        return x + 1


def answer() -> Sound:
    """What this process says of the addition and of values that differ from it: equal in every sound process."""
    cell = Cell("probe", PLAIN, Exporter.TRACE.value, _OPSET, "", "cpu")
    row, messages = measure(cell, variants(Probe), _announce, None)
    return _lasting(row), messages, _judged()


def is_sound(expected: Sound) -> bool:
    """Whether this process still answers so. One that does not answer at all is ended."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_PATIENCE)
    try:
        return answer() == expected
    except Exception:
        return False
    finally:
        signal.alarm(0)


def _announce(_: Stage) -> None:
    """Nobody asks where a probe was."""


def _lasting(row: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("seconds")}


def _judged() -> Tuple[Any, ...]:
    """What comparing says of equal and of different values, dtypes and shapes."""
    import numpy as np

    ones = np.ones((2, 3), dtype="float32")
    others = (ones, ones + np.float32(1e-3), ones.astype("float64"), ones[:1], np.full((2, 3), np.nan, dtype="float32"))
    return tuple(compare.compare([ones], [other], None, None, "probe") for other in others)
