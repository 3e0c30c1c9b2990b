"""What looking by hand found of operators whose files are wrong: ``cases/operators/findings.toml``.

An entry says which rows of the summary it is about, what is wrong, and a call that shows it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import OperatorRow
from caniexport.model.status import Exporter

FILE = "findings.toml"


@dataclass(frozen=True)
class OperatorFinding:
    """What is wrong with operators by an exporter.

    what    the finding in words
    call    arguments of ``differs``, which shows it
    dtypes  of which dtypes it is said; empty for all
    opset   at which the call shows it
    """

    operators: tuple[str, ...]
    exporter: str
    what: str
    call: str
    dtypes: tuple[str, ...] = ()
    opset: int = 20

    @property
    def shown(self) -> str:
        """The call of ``differs`` that shows it."""
        opset = "" if self.opset == OperatorFinding.opset else f", opset={self.opset}"
        return f"differs({self.call}, dynamo={self.exporter == Exporter.DYNAMO.value}{opset})"

    def is_about(self, row: OperatorRow) -> bool:
        """Whether it says what is wrong in a row of the summary."""
        of_dtype = not self.dtypes or row.dtype in self.dtypes
        return row.op in self.operators and row.exporter == self.exporter and of_dtype


def read_findings(cases: Path) -> tuple[str, tuple[OperatorFinding, ...]]:
    """The function ``differs``, and the findings of a corpus's folder in the order of their file; none without one."""
    if not (cases / FILE).is_file():
        return "", ()
    told = tomllib.loads((cases / FILE).read_text(encoding="utf-8"))
    return told["differs"], tuple(_finding(**item) for item in told["finding"])


def findings_by_operator(cases: Path) -> dict[str, tuple[str, ...]]:
    """What was found of each operator: the exporter, the words, and the call that shows it."""
    found: dict[str, tuple[str, ...]] = {}
    for item in read_findings(cases)[1]:
        text = f"{EXPORTER_SHORT[item.exporter]}: {item.what} {item.shown}"
        found |= {op: (*found.get(op, ()), text) for op in item.operators}
    return found


def _finding(operators: Sequence[str], dtypes: Sequence[str] = (), **told: Any) -> OperatorFinding:
    return OperatorFinding(tuple(operators), dtypes=tuple(dtypes), **told)
