"""What a case does not speak of: torch's own calls of its operator, in the dtype that most people use and in others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from caniexport.answers.operator_grid import operator_lines, told_lines
from caniexport.answers.select import CatalogueEntry
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.model.status import Status
from caniexport.names import some
from caniexport.operators import operator_key, operator_keys

#: dtypes that are named
_NAMED = 4
#: words of a case's name that an operator's name has at most
_WORDS = 4


def tell_other_dtypes(
    summary: OperatorsSummary | None, entry: CatalogueEntry, torch: str, exporters: Collection[str]
) -> str:
    """``Torch's own calls of cumsum differ from eager there, without an error, in other dtypes: int32 (trace).``

    Of the operator that a case has in its name, at a release by the exporters: the dtypes in which no call passes at
    any opset and the output is wrong (values, type or shape), «other» ones where that is not so of the one in which its
    calls are told. Empty where there are none: an error tells itself.
    """
    if summary is None:
        return ""
    told = [sentence for op in _named(summary, entry) if (sentence := _tell(summary, op, torch, exporters))]
    return told[0] if told else ""


def _named(summary: OperatorsSummary, entry: CatalogueEntry) -> Iterator[str]:
    """The operators of torch's database that a case uses and has in its name, the longest names first."""
    own, words = operator_keys(entry.ops), entry.case.split("-")
    for length in range(min(_WORDS, len(words)), 0, -1):
        for begin in range(len(words) - length + 1):
            name = "_".join(words[begin : begin + length])
            if operator_key(name) in own:
                meant = summary.meant(name)
                # of the variants of one operator those that the name has, too: interpolate.bilinear
                yield from meant if len(meant) == 1 else (op for op in meant if op.rpartition(".")[2] in words)


def _tell(summary: OperatorsSummary, op: str, torch: str, exporters: Collection[str]) -> str:
    usual = {line.dtype for line in told_lines(summary, op)}
    wrong: dict[str, list[str]] = defaultdict(list)
    for line in operator_lines(summary, op):
        cell = line.cells.get(torch)
        if cell is None or line.form or line.exporter not in exporters:
            continue
        if cell.status is Status.MISMATCH and not cell.share:
            wrong[line.dtype].append(EXPORTER_SHORT[line.exporter])
    said = [f"{dtype} ({', '.join(by)})" for dtype, by in wrong.items()]
    where = "" if usual & wrong.keys() else ", in other dtypes"
    return (
        f"Torch's own calls of {op} differ from eager there, without an error{where}: {some(said, _NAMED)}."
        if said
        else ""
    )
