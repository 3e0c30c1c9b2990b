"""Torch's own calls of an operator in another form or dtype than its plain ones: with ``out=``, in place, with a
dynamic first axis, with a Python number or a tensor of another dtype beside it.

Only what fails is told: the plain calls that an answer is about say nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.operator_at import called_in, line_end
from caniexport.answers.operator_grid import TimelineLine, operator_lines, told_lines
from caniexport.names import some

if TYPE_CHECKING:
    from caniexport.answers.points import MeasuredPoint
    from caniexport.answers.torch_operators import OperatorsSummary

#: how each form is called in a sentence; behind ``with-`` stands the dtype of a second tensor
_CALLED = {
    "": "", "out": "with `out=`", "inplace": "in place", "dynamic": "with a dynamic first axis",
    "bool-left": "with a Python bool before the tensor", "bool-right": "with a Python bool behind the tensor",
    "int-left": "with a whole number before the tensor", "int-right": "with a whole number behind the tensor",
    "float-left": "with a decimal number before the tensor", "float-right": "with a decimal number behind the tensor",
}  # fmt: skip
_WITH = "with-"
#: from one place to another
_ENDS = 2
#: forms and dtypes that are named
_NAMED = 4


def _how(form: str) -> str:
    return _CALLED.get(form) or (f"with a second tensor of {form.removeprefix(_WITH)}" if form else "")


def tell_lost(summary: OperatorsSummary | None, ops: Iterable[str], places: Sequence[MeasuredPoint]) -> list[str]:
    """In which forms and dtypes beside their plain calls, which are told elsewhere, all calls of these operators pass
    at the first of the places and not at the second: a sentence for each operator of which any are lost.
    """
    if summary is None or len(places) < _ENDS:
        return []
    before, after = places[:2]
    told = []
    for op in dict.fromkeys(op for name in ops for op in summary.called(name)[:1]):
        usual = {line.dtype for line in told_lines(summary, op)}
        lines = [line for line in operator_lines(summary, op) if line.form or line.dtype not in usual]
        old = {(line.form, line.dtype): line for line in lines if line.exporter == before.exporter}
        new = {(line.form, line.dtype): line for line in lines if line.exporter == after.exporter}
        both = [key for key in new if key in old and _is_lost(old[key], new[key], before, after)]
        ways = [" ".join(filter(None, (dtype, _how(form)))) for form, dtype in both]
        if ways:
            told.append(
                f"Torch's own calls of {op} in {some(ways, _NAMED)} pass on torch {before.torch} by "
                f"{called_in(before.exporter, before.torch)} and not on torch {after.torch} by "
                f"{called_in(after.exporter, after.torch)}."
            )
    return told


def _is_lost(old: TimelineLine, new: TimelineLine, before: MeasuredPoint, after: MeasuredPoint) -> bool:
    """Whether the calls of a line pass at one point and fail at another, each at any opset where its own was not
    tried.
    """
    fails = []
    for line, place in ((old, before), (new, after)):
        end = line_end(line, place.torch)
        if end is not None:
            fails.append(end.fails_at(place.opset))
    return fails == [False, True]
