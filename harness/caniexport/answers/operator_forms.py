"""Torch's own calls of an operator in another form or dtype than its plain ones: with ``out=``, in place, with a
dynamic first axis, with a Python number or a tensor of another dtype beside it.

Only what fails is told: the plain calls that an answer is about say nothing of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.operator_at import called_in, line_end
from caniexport.answers.operator_grid import TimelineLine, operator_lines, told_lines
from caniexport.model.status import Exporter
from caniexport.names import some
from caniexport.operators import dtypes_of

if TYPE_CHECKING:
    from caniexport.answers.operator_at import ExporterEnd
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
#: an argument that a test of its own is given, and a form
_TEST_OF = {"dtype=": "with_dtype", "inplace": "in_place"}


def tell_forms(
    summary: OperatorsSummary | None,
    name: str,
    forms: Sequence[str],
    torch: str,
    exporters: Collection[str] = (),
    opset: int | None = None,
) -> str:
    """Which of these forms of an operator's calls fail or are wrong at a release, and by which exporter; empty where
    none does, or none was measured there.

    name    words of which the first operator is meant, and the types of tensors: two of them are also those of two
            tensors in one call; a word that is the name of a test of it («norm», «nuc») means that one
    forms   as the summary has them; ``exporters`` are all where none is given
    """
    if summary is None:
        return ""
    words = [word for word in name.split() if not dtypes_of(word)]
    dtypes = [dtype for word in name.split() for dtype in dtypes_of(word)]
    op = next((op for word in words for op in summary.meant(word)), "")
    told: list[str] = []
    if op:
        told += _tell_of(summary, op, _wanted(forms, dtypes), dtypes, torch, exporters, opset)
        if len(dtypes) == 1:
            # the dtype of one of two tensors, of which the other has the usual one
            told += _tell_of(summary, op, (f"{_WITH}{dtypes[0]}",), (), torch, exporters, opset)
        told += _tell_arguments(summary, op, words, torch, exporters)
    for test in _tests_of(summary, [*words, *(_TEST_OF[form] for form in forms if form in _TEST_OF)]):
        told += _tell_of(summary, test, ("",), dtypes, torch, exporters, opset)
    return " ".join(dict.fromkeys(told))


def _wanted(forms: Sequence[str], dtypes: Sequence[str]) -> tuple[str, ...]:
    """The forms, and of several dtypes those of two tensors in one call and each for itself."""
    return (*forms, "", *(f"{_WITH}{dtype}" for dtype in dtypes)) if len(dtypes) > 1 else tuple(forms)


def _tell_of(
    summary: OperatorsSummary,
    op: str,
    forms: Collection[str],
    dtypes: Collection[str],
    torch: str,
    exporters: Collection[str],
    opset: int | None,
) -> list[str]:
    usual = {line.dtype for line in told_lines(summary, op)}
    lines = [
        line
        for line in operator_lines(summary, op)
        if line.form in forms
        and line.dtype in (dtypes or usual)
        and line.form != f"{_WITH}{line.dtype}"
        and _is_asked(line, exporters)
    ]
    return _tell_failing(op, lines, torch, opset)


def _tell_arguments(
    summary: OperatorsSummary, op: str, words: Sequence[str], torch: str, exporters: Collection[str]
) -> list[str]:
    """What fails of the plain calls that are given an argument by its name, as words have it: ``stable=true``."""
    asked = [word for word in words if "=" in word and not word.endswith("=")]
    given: dict[str, list[str]] = defaultdict(list)
    for line in told_lines(summary, op):
        cell = line.cells.get(torch)
        if cell is not None and not cell.passing and _is_asked(line, exporters):
            calls = {call for row in cell.rows if any(word in (call := row.failing).casefold() for word in asked)}
            for call in sorted(calls):
                given[call].append(called_in(line.exporter, torch))
    return [
        f"On torch {torch} torch's own call {op}({call}) does not pass by {' or '.join(by)}."
        for call, by in given.items()
    ]


def _is_asked(line: TimelineLine, exporters: Collection[str]) -> bool:
    """Whether a line is of the exporters asked for; torch's own calls are traced, where scripting is."""
    traced = line.exporter == Exporter.TRACE.value and Exporter.SCRIPT.value in exporters
    return not exporters or line.exporter in exporters or traced


def _tests_of(summary: OperatorsSummary, words: Sequence[str]) -> Iterator[str]:
    """The operators of the database that a function and a word beside it name: ``torch.linalg.norm``, ``nuc``."""
    words = [_TEST_OF.get(word, word) for word in words]
    bases = {word.rpartition(".")[2].removesuffix("_") for word in words}
    for op in summary.operators:
        base, _, test = op.rpartition(".")
        if test in words and base.rpartition(".")[2] in bases - {test}:
            yield op


def _tell_failing(op: str, lines: Sequence[TimelineLine], torch: str, opset: int | None) -> list[str]:
    """A sentence for each form and dtype whose calls fail at a release by some exporter."""
    by: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        end = line_end(line, torch)
        if end is not None and end.fails_at(opset):
            by[line.form, line.dtype].append(f"{called_in(line.exporter, torch)} {_ending(end)}")
    return [
        f"{' '.join(filter(None, (f'On torch {torch}', _how(form))))} torch's own calls of {op} ({dtype}) do not pass: "
        f"{'; '.join(ends)}."
        for (form, dtype), ends in by.items()
    ]


def _ending(end: ExporterEnd) -> str:
    if end.share:
        return f"passes {end.share.replace('/', ' of ')} of them"
    return (
        f"exports them, but {end.wrong or 'gives another output than eager'}, without an error"
        if (end.differs)
        else "exports none of them"
    )


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
