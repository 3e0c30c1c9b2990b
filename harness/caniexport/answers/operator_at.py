"""One operator of torch at a user's release: how torch's own calls of it end there, by each exporter."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.operator_grid import OperatorCell, TimelineLine, told_lines
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import OperatorsSummary
from caniexport.model.status import Exporter, Status

_NAMED = {Exporter.DYNAMO.value: "`torch.onnx.dynamo_export`", Exporter.TRACE.value: "TorchScript"}
#: since the release in which ``torch.onnx.export`` takes ``dynamo``
_CALLED = {Exporter.DYNAMO.value: "`dynamo=True`", Exporter.TRACE.value: "TorchScript (`dynamo=False`)"}
_HAS_DYNAMO = "2.5"
#: the form of a call whose first axis is dynamic
_DYNAMIC = "dynamic"


@dataclass(frozen=True)
class ExporterEnd:
    """How the calls of an operator end by an exporter at a release: at which opsets all of them pass, of those asked.

    ``first`` is the lowest of these, ``status`` pass where there is one, else the worst at the newest; ``share`` how
    many of them pass there (``2/3``) where only some do, ``said`` how the first one that fails ends. ``releases`` says
    in words on which of the measured releases all of them pass at some opset, or at which other opset where one was
    asked for; ``partly`` how many pass at which opsets beside those where all do; ``wrong`` what the first that fails
    gives where it exports and runs: ``gives float32 in place of float16``; ``moved`` the opsets at which they pass by
    a file of another one.
    """

    exporter: str
    passing: str
    asked: str
    first: int | None
    status: str
    share: str
    said: str
    releases: str
    partly: str = ""
    wrong: str = ""
    moved: str = ""

    def passes(self, opset: int | None) -> bool:
        """Whether all of them pass at an opset, where it was not tried at the nearest ones that were, below and above
        it; without one, whether at any.
        """
        if opset is None:
            return self.first is not None
        nearest = self._nearest(opset)
        return bool(nearest) and nearest <= {*self.opsets}

    def _nearest(self, opset: int) -> set[int]:
        """The opset itself where it was tried, else the nearest ones that were, below and above it."""
        return {*[at for at in self.tried if at <= opset][-1:], *[at for at in self.tried if at >= opset][:1]}

    @property
    def opsets(self) -> list[int]:
        """The opsets at which all of them pass, ascending."""
        return _numbers(self.passing)

    @property
    def differs(self) -> bool:
        """Whether the calls export, and their output is not eager's."""
        return self.status == Status.MISMATCH.value

    @property
    def tried(self) -> list[int]:
        """The opsets at which they were tried, ascending."""
        return _numbers(self.asked)

    @property
    def exporting(self) -> str:
        """Behind «dynamo exports …»: ``at every opset tried (18, 20, 26; since torch 2.1.2)``, ``at opset 20 of 17, 20
        tried (since torch 2.4.1; 2 of 3 calls at opset 17)``.
        """
        moved = f"asked for opset {self.moved} the file has another" if self.moved else ""
        more = "; ".join(filter(None, (self.releases, self.partly, moved)))
        if self.passing != self.asked:
            return f"at opset {self.passing} of {self.asked} tried ({more})"
        if self.passing.isdigit():
            return f"at opset {self.passing} ({more})"
        return f"at every opset tried ({self.passing}; {more})"

    @property
    def failing(self) -> str:
        """Behind «TorchScript …»: ``exports 2 of 3 calls at opset 17 (all of them since torch 2.5.1)``, ``exports at
        opset 20, but gives float32 in place of float16, without an error (right on torch 2.2.2 to 2.4.1)``.
        """
        but = f"but {self.wrong or 'another output than eager'}, without an error"
        if self.share:
            more = f"all of them {self.releases}" if self.releases else ""
            some = f"another {self.wrong}, without an error" if self.wrong else ""
            beside = "; ".join(filter(None, (more, some)))
            return f"exports {self.partly}{f' ({beside})' if beside else ''}"
        if not self.releases:
            return f"{f'exports, {but}' if self.differs else 'does not'}, whichever the opset and the release"
        if self.differs:
            return f"exports at opset {self.asked}, {but} (right {self.releases})"
        return f"does not at opset {self.asked} (it does {self.releases})"


@dataclass(frozen=True)
class OperatorAt:
    """What torch's own calls of an operator come to at a release.

    ``torch`` is the one ``asked`` for, or the nearest that was measured, an older one first; the operator is told by
    ``dtype``. ``notes`` say what was not measured of the exporters and opsets asked for, ``narrowed`` whether any were;
    ``untried`` are exporters that it was measured by in another dtype alone.
    """

    op: str
    torch: str
    dtype: str
    ends: tuple[ExporterEnd, ...]
    asked: str
    notes: tuple[str, ...] = ()
    narrowed: bool = False
    untried: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """By which exporter and at which opset it can be exported, and by which it cannot; first what was not measured
        of the place asked for, where another one answers.
        """
        nearest = f"Torch {self.asked} was not measured for it. " if self.asked != self.torch else ""
        return f"{nearest}{''.join(f'{note} ' for note in self.notes)}{self._ending}".rstrip()

    @property
    def _ending(self) -> str:
        calls = f"torch's own calls of {self.op} ({self.dtype})"
        good = " and ".join(f"{self._who(end)} {end.exporting}" for end in self.ends if end.passing)
        bad = "; ".join(f"{self._who(end)} {end.failing}" for end in self.ends if not end.passing)
        if not good and any(end.share for end in self.ends):
            return f"On torch {self.torch} {calls} are exported in part: {bad}."
        if not good and self.narrowed:
            ends = "do not pass" if any(end.differs for end in self.ends) else "are not exported"
            return f"On torch {self.torch} {calls} {ends} as asked for: {bad}."
        if not good and self.untried:
            others = " and ".join(called_in(name, self.torch) for name in self.untried)
            return f"On torch {self.torch} {calls} do not pass: {bad}; by {others} they were not measured."
        if not good and any(end.differs for end in self.ends):
            return f"On torch {self.torch} {calls} pass by no exporter: {bad}."
        if not good:
            return f"On torch {self.torch} no exporter exports {calls}: {bad}."
        return f"On torch {self.torch} {calls} are exported by {good}{f'; {bad}' if bad else ''}."

    def _who(self, end: ExporterEnd) -> str:
        return called_in(end.exporter, self.torch)


def operator_at(
    summary: OperatorsSummary,
    name: str,
    torch: str,
    exporters: Collection[str] = (),
    opsets: Collection[int] = (),
) -> OperatorAt | None:
    """The operator that a name most likely means at a release, as :func:`entry_at` has it; ``None`` where none is
    called so, or was measured.
    """
    op = next(iter(summary.called(name)), None)
    return None if op is None else entry_at(summary, op, torch, exporters, opsets)


def entry_at(
    summary: OperatorsSummary,
    op: str,
    torch: str,
    exporters: Collection[str] = (),
    opsets: Collection[int] = (),
    dtype: str = "",
) -> OperatorAt | None:
    """An operator of torch's database at a release, without a dtype in that which it is told by; ``None`` where none
    of its calls was measured.

    ``exporters`` are the only ones told of where any of them was measured; of ``opsets`` an exporter is told at the
    highest that it was tried at.
    """
    told = told_lines(summary, op, dtype)
    measured = versions.ordered({release for line in told for release in line.cells})
    if not measured:
        return None
    older = [release for release in measured if versions.parse(release) <= versions.parse(torch)]
    at = older[-1] if older else measured[0]
    by = {line.exporter: line.cells for line in told if at in line.cells}
    shown = {exporter: cells for exporter, cells in by.items() if exporter in exporters} or by
    ends = tuple(_end(exporter, cells, at, opsets) for exporter, cells in shown.items())
    # torch's own calls are traced, where TorchScript is asked for
    asked = [name for name in exporters if name != Exporter.SCRIPT.value or Exporter.TRACE.value not in exporters]
    missing = tuple(f"By {EXPORTER_SHORT[name]} it was not measured." for name in asked if name not in by)
    untried = [called_in(name, at) for name, cells in shown.items() if not set(opsets) & set(cells[at].asked)]
    ways = " or ".join(untried)
    tried_elsewhere = (
        (f"Opset {versions.opset_text(opsets)} was not tried for it by {ways}.",) if opsets and ways else ()
    )
    notes = (*missing, *tried_elsewhere)
    others = {line.exporter for line in told_lines(summary, op) if at in line.cells} if dtype else set()
    others = set() if exporters else others - by.keys()
    return OperatorAt(op, at, told[0].dtype, ends, torch, notes, bool(exporters or opsets), tuple(sorted(others)))


def calls_pass(summary: OperatorsSummary | None, name: str, torch: str, exporter: str, opset: int | None) -> bool:
    """Whether all of torch's own calls of an operator pass in a release by an exporter at an opset."""
    found = operator_at(summary, name, torch) if summary is not None else None
    if found is None or found.torch != torch:
        return False
    return any(end.passes(opset) for end in found.ends if end.exporter == exporter)


def _numbers(text: str) -> list[int]:
    """``14, 17-19`` as numbers."""
    spans = [part.split("-") for part in re.findall(r"\d+(?:-\d+)?", text)]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def line_end(line: TimelineLine, torch: str) -> ExporterEnd | None:
    """How the calls of one line end at a release; ``None`` where they were not measured there."""
    return _end(line.exporter, line.cells, torch, ()) if torch in line.cells else None


def called_in(exporter: str, torch: str) -> str:
    """How an exporter is called in a release: ``TorchScript (`dynamo=False`)``."""
    named = _CALLED if versions.parse(torch) >= versions.parse(_HAS_DYNAMO) else _NAMED
    return named.get(exporter, exporter)


def _end(exporter: str, cells: Mapping[str, OperatorCell], torch: str, opsets: Collection[int]) -> ExporterEnd:
    here = cells[torch]
    opset = max(set(opsets) & set(here.asked), default=None)
    if opset in here.passing:
        return _end(exporter, _only(cells, opset), torch, ())
    if opset is not None and here.passing:
        other, there = f"at opset {versions.opset_text(here.passing)}", here.at(opset)
        return ExporterEnd(
            exporter, "", str(opset), None, there.status.value, there.share, there.said, other, there.partly,
            there.wrong,
        )  # fmt: skip
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
        here.partly,
        here.wrong,
        versions.opset_text(here.moved),
    )


def _only(cells: Mapping[str, OperatorCell], opset: int) -> dict[str, OperatorCell]:
    """The releases in which an opset was tried, with that opset alone."""
    return {torch: cell.at(opset) for torch, cell in cells.items() if opset in cell.asked}
