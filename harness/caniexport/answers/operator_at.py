"""One operator of torch at a user's release: how torch's own calls of it end there, by each exporter."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.operator_grid import OperatorCell, operator_lines
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.model.status import Exporter, Status

_NAMED = {Exporter.DYNAMO.value: "dynamo", Exporter.TRACE.value: "TorchScript"}


@dataclass(frozen=True)
class ExporterEnd:
    """How the calls of an operator end by an exporter at a release: at which opsets all of them pass, of those asked.

    ``first`` is the lowest of these, ``status`` pass where there is one, else the worst at the newest; ``share`` how
    many of them pass there (``2/3``) where only some do, ``said`` how the first one that fails ends. ``elsewhere`` is
    where they pass, where they do not at the release: the first newer one that was measured, else the last older one.
    """

    exporter: str
    passing: str
    asked: str
    first: int | None
    status: str
    share: str
    said: str
    elsewhere: str

    @property
    def told(self) -> str:
        """``by dynamo at opset 18, 20``, ``by TorchScript at opset 17 (2 of 3 pass; all on torch 2.5.1)``."""
        who = f"by {_NAMED.get(self.exporter, self.exporter)} at opset {self.passing or self.asked}"
        some = f"{self.share.replace('/', ' of ')} pass" if self.share else ""
        other = f"all pass on torch {self.elsewhere}" if self.elsewhere else ""
        noted = "; ".join(filter(None, (some, other)))
        return f"{who} ({noted})" if noted else who


@dataclass(frozen=True)
class OperatorAt:
    """What torch's own calls of an operator come to at a release.

    ``torch`` is the one asked for, or the nearest older that was measured; the operator is told by ``dtype``.
    """

    op: str
    torch: str
    dtype: str
    ends: tuple[ExporterEnd, ...]

    def passes(self, opset: str) -> bool:
        """Whether they pass by every exporter at an opset, or at an older one; dynamo's files are made at its own."""
        return all(
            end.first and (not opset.isdigit() or end.exporter == Exporter.DYNAMO.value or end.first <= int(opset))
            for end in self.ends
        )

    @property
    def told(self) -> str:
        """The sentence that says what passes where."""
        good = " and ".join(end.told for end in self.ends if end.passing)
        bad = " and ".join(end.told for end in self.ends if not end.passing)
        told = ", ".join(f"{word} {ends}" for word, ends in (("pass", good), ("fail", bad)) if ends)
        calls = f"torch's own calls of {self.op} ({self.dtype})"
        return f"On torch {self.torch} {calls} {told}: `caniexport op {self.op}` has every release."


def operator_at(summary: OperatorsSummary, name: str, torch: str) -> OperatorAt | None:
    """The operator that a name most likely means at a release; ``None`` where none is called so, or was measured."""
    for op in summary.called(name)[:1]:
        lines = [line for line in operator_lines(summary, op) if not line.form]
        told = [line for line in lines if line.dtype == lines[0].dtype]
        measured = versions.ordered({release for line in told for release in line.cells})
        older = [release for release in measured if versions.parse(release) <= versions.parse(torch)]
        at = (older or measured)[-1 if older else 0] if measured else ""
        ends = tuple(_end(line.exporter, line.cells, at) for line in told if at in line.cells)
        return OperatorAt(op, at, told[0].dtype, ends) if ends else None
    return None


def calls_pass(summary: OperatorsSummary | None, name: str, torch: str, exporter: str, opset: int | None) -> bool:
    """Whether all of torch's own calls of an operator were measured to pass in a release by an exporter, at an opset or
    an older one.
    """
    found = operator_at(summary, name, torch) if summary is not None else None
    if found is None or found.torch != torch:
        return False
    ends = [end for end in found.ends if end.exporter == exporter and end.first is not None]
    return any(opset is None or exporter == Exporter.DYNAMO.value or (end.first or opset) <= opset for end in ends)


def _end(exporter: str, cells: dict[str, OperatorCell], torch: str) -> ExporterEnd:
    here = cells[torch]
    passing = versions.ordered(release for release, cell in cells.items() if cell.passing)
    newer = [release for release in passing if versions.parse(release) > versions.parse(torch)]
    return ExporterEnd(
        exporter,
        versions.opset_text(here.passing),
        versions.opset_text(here.asked),
        min(here.passing, default=None),
        Status.PASS.value if here.passing else here.status.value,
        here.share,
        here.said,
        "" if here.passing else "".join(newer[:1] or passing[-1:]),
    )
