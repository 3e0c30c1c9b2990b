"""One operator of torch at a user's release: how torch's own calls of it end there, by each exporter."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.operator_grid import OperatorCell, operator_lines
from caniexport.answers.reading import Rows
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.model.status import Exporter, Status
from caniexport.operators import operator_key, operator_keys

_NAMED = {Exporter.DYNAMO.value: "`torch.onnx.dynamo_export`", Exporter.TRACE.value: "TorchScript"}
#: since the release in which ``torch.onnx.export`` takes ``dynamo``
_CALLED = {Exporter.DYNAMO.value: "`dynamo=True`", Exporter.TRACE.value: "TorchScript (`dynamo=False`)"}
_HAS_DYNAMO = "2.5"


@dataclass(frozen=True)
class ExporterEnd:
    """How the calls of an operator end by an exporter at a release: at which opsets all of them pass, of those asked.

    ``first`` is the lowest of these, ``status`` pass where there is one, else the worst at the newest; ``share`` how
    many of them pass there (``2/3``) where only some do, ``said`` how the first one that fails ends. ``releases`` says
    in words on which of the measured releases all of them pass at some opset.
    """

    exporter: str
    passing: str
    asked: str
    first: int | None
    status: str
    share: str
    said: str
    releases: str

    def passes(self, opset: int | None) -> bool:
        """Whether all of them pass at an opset, or at an older one; dynamo's files are made at its own."""
        if self.first is None:
            return False
        return opset is None or self.exporter == Exporter.DYNAMO.value or self.first <= opset

    @property
    def exporting(self) -> str:
        """Behind «dynamo exports …»: ``at opset 18, 20 (since torch 2.1.2)``."""
        return f"at opset {self.passing} ({self.releases})"

    @property
    def failing(self) -> str:
        """Behind «TorchScript …»: ``does not at opset 8, 17 (2 of 3 calls pass; all of them since torch 2.5.1)``."""
        if not (self.share or self.releases):
            return "does not, whichever the opset and the release"
        some = f"{self.share.replace('/', ' of ')} calls pass" if self.share else ""
        other = f"{'all of them' if self.share else 'it does'} {self.releases}" if self.releases else ""
        return f"does not at opset {self.asked} ({'; '.join(filter(None, (some, other)))})"


@dataclass(frozen=True)
class OperatorAt:
    """What torch's own calls of an operator come to at a release.

    ``torch`` is the one ``asked`` for, or the nearest that was measured, an older one first; the operator is told by
    ``dtype``.
    """

    op: str
    torch: str
    dtype: str
    ends: tuple[ExporterEnd, ...]
    asked: str

    def passes(self, opset: str) -> bool:
        """Whether they pass by every exporter at an opset, or at an older one; dynamo's files are made at its own."""
        return all(end.passes(int(opset) if opset.isdigit() else None) for end in self.ends)

    @property
    def told(self) -> str:
        """By which exporter and at which opset it can be exported, and by which it cannot; first that the release asked
        for was not measured, where another one answers.
        """
        nearest = f"Torch {self.asked} was not measured for it. " if self.asked != self.torch else ""
        return f"{nearest}{self._ending}"

    @property
    def _ending(self) -> str:
        calls = f"torch's own calls of {self.op} ({self.dtype})"
        good = " and ".join(f"{self._who(end)} {end.exporting}" for end in self.ends if end.passing)
        bad = "; ".join(f"{self._who(end)} {end.failing}" for end in self.ends if not end.passing)
        if not good:
            return f"On torch {self.torch} no exporter exports {calls}: {bad}."
        return f"On torch {self.torch} {calls} are exported by {good}{f'; {bad}' if bad else ''}."

    def _who(self, end: ExporterEnd) -> str:
        named = _CALLED if versions.parse(self.torch) >= versions.parse(_HAS_DYNAMO) else _NAMED
        return named.get(end.exporter, end.exporter)


def operator_at(summary: OperatorsSummary, name: str, torch: str) -> OperatorAt | None:
    """The operator that a name most likely means at a release; ``None`` where none is called so, or was measured."""
    for op in summary.called(name)[:1]:
        lines = [line for line in operator_lines(summary, op) if not line.form]
        told = [line for line in lines if line.dtype == lines[0].dtype]
        measured = versions.ordered({release for line in told for release in line.cells})
        older = [release for release in measured if versions.parse(release) <= versions.parse(torch)]
        at = (older or measured)[-1 if older else 0] if measured else ""
        ends = tuple(_end(line.exporter, line.cells, at) for line in told if at in line.cells)
        return OperatorAt(op, at, told[0].dtype, ends, torch) if ends else None
    return None


def operator_without_case(rows: Rows, summary: OperatorsSummary | None, name: str, torch: str) -> OperatorAt | None:
    """The same of an operator that no case is about; ``None`` of one that a case is about, too."""
    key = operator_key(name)
    if summary is None or any(key in operator_keys(entry.ops) for entry in rows.catalogue.values()):
        return None
    return operator_at(summary, name, torch)


def calls_pass(summary: OperatorsSummary | None, name: str, torch: str, exporter: str, opset: int | None) -> bool:
    """Whether all of torch's own calls of an operator were measured to pass in a release by an exporter, at an opset or
    an older one.
    """
    found = operator_at(summary, name, torch) if summary is not None else None
    if found is None or found.torch != torch:
        return False
    return any(end.passes(opset) for end in found.ends if end.exporter == exporter)


def _end(exporter: str, cells: dict[str, OperatorCell], torch: str) -> ExporterEnd:
    here = cells[torch]
    passing = {release for release, cell in cells.items() if cell.passing}
    return ExporterEnd(
        exporter,
        versions.opset_text(here.passing),
        versions.opset_text(here.asked),
        min(here.passing, default=None),
        Status.PASS.value if here.passing else here.status.value,
        here.share,
        here.said,
        versions.runs_text(passing, versions.ordered(cells)),
    )
