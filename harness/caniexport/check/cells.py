"""A measured cell of a user's model: its row, corrected by the facts of its file."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from caniexport import versions
from caniexport.answers.point import call_text
from caniexport.check.widen import default_exporter
from caniexport.model.status import WORKS, Exporter, Stage, Status

#: in the order in which a person reads them: the call that is written first
CALL_ORDER = (Exporter.DEFAULT.value, Exporter.DYNAMO.value, Exporter.TRACE.value, Exporter.SCRIPT.value)
_SET = re.compile(r"input set (\d+)")
#: wrong values of one output of a set
_OF_OUTPUT = re.compile(r"input set \d+, output (\d+): \d+ of \d+ values differ")
_TWICE = re.compile(r"Duplicate definition of name \((.*?)\)")
#: errors that the check itself causes
_LIMITS = {
    "does not require grad and does not have a grad_fn": "the check calls it without gradients",
    "official released onnx opset": "the onnxruntime here does not take this opset",
    "and it is not certain which": "the inputs of the file cannot be matched to the arguments",
    "Actual: (tensor(float)) , expected: (tensor(double))": "a Python number became an input of double precision",
}


@dataclass(frozen=True)
class CheckedCell:
    """One export of a user's model, and its outcome.

    ``message`` is the error or the difference, ``warnings`` the exporter's; ``sets`` the numbers of the sets of inputs
    in the message. ``ignores`` are inputs that the file lacks although the model's values depend on them, ``unused``
    are other inputs that it lacks. ``limit`` is the reason why the check cannot judge the cell, or empty. ``bundle``
    names the archive of its file.
    """

    torch: str
    case: str
    variant: str
    exporter: str
    opset: int | None
    opset_effective: int | None
    stage: Stage
    status: Status
    message: str = ""
    warnings: str = ""
    sets: tuple[int, ...] = ()
    ignores: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    limit: str = ""
    bundle: str = ""

    @property
    def variant_key(self) -> tuple[str, str]:
        """The case and the variant."""
        return self.case, self.variant

    @property
    def call(self) -> str:
        """The call as a user writes it."""
        if self.exporter != Exporter.DEFAULT.value:
            return f"{call_text(self.torch, self.exporter)}, opset_version={self.opset}"
        opset = f", opset {self.opset_effective}" if self.opset_effective else ""
        return f"default call ({call_text(self.torch, default_exporter(self.torch))}{opset})"

    @property
    def works(self) -> bool:
        """Whether its file runs and agrees."""
        return self.status in WORKS

    @property
    def has_wrong_values(self) -> bool:
        """Whether its file gives wrong values without an error."""
        return self.status is Status.MISMATCH and not self.limit


def read_cell(row: Mapping[str, Any], texts: Mapping[str, str]) -> CheckedCell:
    """Return the cell of a row and its texts.

    A run that fails on made inputs may still be wrong on others; a file without an input that the values depend on is
    wrong; random outputs are not compared.
    """
    facts = json.loads(row.get("facts") or "{}")
    ignored = dict(facts.get("ignores", {}))
    needed = tuple(name for name, number in ignored.items() if number is not None)
    cell = CheckedCell(
        row["torch"],
        row["case"],
        row["variant"],
        row["exporter"],
        row["opset"],
        row.get("opset_effective"),
        Stage(row["stage"]),
        Status(row["status"]),
        texts.get(row.get("message_id") or "", ""),
        texts.get(row.get("warning_id") or "", ""),
        ignores=needed,
        unused=tuple(name for name in ignored if name not in needed),
        bundle=row.get("bundle") or "",
    )
    if cell.status is Status.FAIL and cell.stage is Stage.RUN and "wrong" in facts:
        cell = _as_wrong(cell, facts["wrong"])
    elif cell.works and needed:
        lines = [
            f"input set {ignored[name]}: the file has no input {name}, but the eager values depend on it"
            for name in needed
        ]
        cell = _as_wrong(cell, "\n".join(lines))
    if cell.has_wrong_values and facts.get("drawn"):
        cell = _without_drawn(cell, frozenset(facts["drawn"]))
    if cell.status is Status.FAIL:
        cell = replace(cell, limit=_limit(cell.message, frozenset(facts.get("twice", ()))))
    return replace(cell, sets=tuple(dict.fromkeys(int(number) for number in _SET.findall(cell.message))))


def _as_wrong(cell: CheckedCell, message: str) -> CheckedCell:
    return replace(cell, stage=Stage.COMPARE, status=Status.MISMATCH, message=message)


def _without_drawn(cell: CheckedCell, drawn: frozenset[int]) -> CheckedCell:
    """Remove the differences of random outputs."""
    outputs = {line: _OF_OUTPUT.search(line) for line in cell.message.splitlines()}
    others = [line for line, output in outputs.items() if not (output and int(output[1]) in drawn)]
    if any(_SET.search(line) for line in others):
        return replace(cell, message="\n".join(others))
    return replace(cell, limit="the file runs, but random outputs cannot be compared")


def _limit(message: str, twice: frozenset[str]) -> str:
    named = _TWICE.search(message)
    if named and named[1] in twice:
        return "the check names the inputs, and an input that is also an output gets its name twice"
    return next((why for text, why in _LIMITS.items() if text in message), "")


def calls_text(cells: Iterable[CheckedCell]) -> dict[str, str]:
    """By release, the newest first, the calls of cells: ``the default call; dynamo=True, opset 14, 18``."""
    opsets: dict[tuple[str, str], set[int]] = defaultdict(set)
    for cell in cells:
        opsets[cell.torch, cell.exporter] |= set() if cell.opset is None else {cell.opset}
    found: dict[str, list[str]] = {}
    for torch in reversed(versions.ordered({torch for torch, _ in opsets})):
        for exporter in CALL_ORDER:
            if (torch, exporter) in opsets:
                named = f"{call_text(torch, exporter)}, opset {versions.opset_text(sorted(opsets[torch, exporter]))}"
                is_default = exporter == Exporter.DEFAULT.value
                found.setdefault(torch, []).append("the default call" if is_default else named)
    return {torch: "; ".join(calls) for torch, calls in found.items()}
