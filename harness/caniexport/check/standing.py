"""How a release stands to what was asked of a model there, and the verdict: which call to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport.answers.answer import AnswerOutcome
from caniexport.answers.outcomes import short_cause
from caniexport.answers.point import call_text
from caniexport.check.cells import CheckedCell, calls_text
from caniexport.check.failures import Failure
from caniexport.check.measure import BEFORE_EXPORT, CONVERTED, MeasuredRelease
from caniexport.check.widen import USUAL_OPSET, default_exporter
from caniexport.model.status import Exporter, Status
from caniexport.names import plural

_DEFAULT, _TRACE = Exporter.DEFAULT.value, Exporter.TRACE.value
_MADE = " for inputs that this check made"


@dataclass(frozen=True)
class Asked:
    """The exporters and opsets that a user named; empty for none: then it is the default call that must work."""

    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether anything but the default call was named."""
        return bool(self.exporters or self.opsets)


class ReleaseStanding:
    """How one release stands to what was asked of it."""

    def __init__(self, release: MeasuredRelease, asked: Asked) -> None:
        self.release = release
        self.works = [cell for cell in release.cells if cell.works]
        #: those whose file has the opset that was asked for
        self.as_asked = [cell for cell in self.works if cell.opset in (None, cell.opset_effective)]
        self.wrong = [cell for cell in release.cells if cell.is_wrong]
        self.is_good = not self.wrong and (self._names_work(asked) if asked.is_named else self._default_works())

    def _default_works(self) -> bool:
        """Whether the default call works, of every form; where it was not measured, any call."""
        default = [cell for cell in self.release.cells if cell.exporter == _DEFAULT]
        forms = {cell.form for cell in default or self.release.cells}
        return forms <= {cell.form for cell in self.as_asked if cell in default or not default}

    def _names_work(self, asked: Asked) -> bool:
        """Whether each exporter and each opset that was named, and is there, works as it was asked for."""
        exporters = {cell.exporter for cell in self.release.cells} & set(asked.exporters)
        opsets = {cell.opset for cell in self.release.cells} & set(asked.opsets)
        return exporters <= {cell.exporter for cell in self.as_asked} and opsets <= {c.opset for c in self.as_asked}

    @property
    def made(self) -> str:
        """The first inputs that show wrong values, in words, where none of those that the user gave does."""
        notes = self.release.notes
        numbers = [number for cell in self.wrong for number in cell.sets]
        is_given = not numbers or min(numbers) < notes.given or max(numbers) >= len(notes.sets)
        return "" if is_given else notes.sets[min(numbers)]

    @property
    def fixed(self) -> str:
        """What the tracer warned of that it fixes, where its file agrees with eager on every set of inputs."""
        notes = self.release.notes
        for cell in self.works:
            by = default_exporter(cell.torch) if cell.exporter == _DEFAULT else cell.exporter
            if by != _TRACE or CONVERTED not in cell.warnings:
                continue
            is_branch = f"{CONVERTED} boolean" in cell.warnings
            if notes.reads:
                return "an `if` on a value" if is_branch else "a tensor's value"
            # sizes decide nothing where none varies
            if is_branch and notes.axes:
                return "an `if` on a size"
        return ""

    @property
    def best(self) -> CheckedCell | None:
        """The call to use where the default one does not work; a trace that may be wrong comes last."""
        others = [cell for cell in self.as_asked if cell.exporter != _DEFAULT]
        return min(others, key=self._rank, default=None)

    def _rank(self, cell: CheckedCell) -> tuple[bool, bool, int]:
        is_fixed = bool(self.fixed) and cell.exporter == _TRACE
        return is_fixed, cell.exporter == Exporter.SCRIPT.value, abs((cell.opset or 0) - USUAL_OPSET)


def verdict(
    standing: Sequence[ReleaseStanding], failures: Sequence[Failure], asked: Asked
) -> tuple[str, AnswerOutcome]:
    """What to do, in one line."""
    if len(standing) > 1:
        return _of_several(standing, asked)
    (only,) = standing
    outcome = AnswerOutcome.WORKS if only.is_good else AnswerOutcome.FAILS
    early = next((item for item in failures if item.shown.stage in BEFORE_EXPORT and not item.shown.limit), None)
    if early and not only.works:
        return f"The model does not run in eager here: {short_cause(early.shown.message)}", AnswerOutcome.FAILS
    if all(cell.limit or cell.status is Status.UNSUPPORTED for cell in only.release.cells):
        why = next((cell.limit for cell in only.release.cells if cell.limit), "every call is refused")
        return f"Not judged: {why}.", AnswerOutcome.NOT_MEASURED
    if len(forms := {cell.form for cell in only.release.cells}) > 1:
        working = {cell.form for cell in only.works}
        return f"{len(working)} of {plural(len(forms), 'form')} work with one call at least.", outcome
    if asked.is_named:
        return _of_named(only, failures), outcome
    return _of_default(only, failures, outcome)


def _of_default(
    only: ReleaseStanding, failures: Sequence[Failure], outcome: AnswerOutcome
) -> tuple[str, AnswerOutcome]:
    """Whether to use the default call, and which other one else."""
    default = next((cell for cell in only.release.cells if cell.exporter == _DEFAULT), None)
    if default and default.works:
        if others := list(dict.fromkeys(call_text(cell.torch, cell.exporter) for cell in only.wrong)):
            gives = "give" if len(others) > 1 else "gives"
            return f"Use the {default.call}: {' and '.join(others)} {gives} wrong values.", outcome
        if only.fixed and default_exporter(default.torch) == _TRACE:
            return f"Works on the inputs tried, but the trace fixes {only.fixed}: try others.", outcome
        return f"Works with the {default.call} on {len(only.release.notes.sets)} sets of inputs.", outcome
    if not only.best:
        return _nothing_works(only, failures), outcome
    caution = f", but it fixes {only.fixed}" if only.fixed and only.best.exporter == _TRACE else ""
    if default and default.limit:
        outcome = AnswerOutcome.FAILS if only.wrong else AnswerOutcome.NOT_MEASURED
        return f"The default call is not judged ({default.limit}).", outcome
    ends = f"gives wrong values{_MADE if only.made else ''}" if default and default.is_wrong else "fails"
    return f"The default call {ends}: use {only.best.call}{caution}.", outcome


def _nothing_works(only: ReleaseStanding, failures: Sequence[Failure]) -> str:
    """What to try where no call works."""
    if left := [call_text(only.release.torch, name) for name in only.release.left]:
        return f"No measured call works, and there was no time for {' and '.join(left)} (--seconds)."
    ends = f"gives wrong values{_MADE if only.made else ''}" if only.wrong else "fails"
    if known := [item.case for failure in failures for item in failure.alike if item.is_sure and item.helps]:
        return f"Every call {ends} as {known[0]} does: see whether its workarounds fit yours."
    if only.made:
        return f"Right for the inputs given, wrong values for others: {only.made}."
    if only.wrong:
        return "Every call gives wrong values, and no workaround is known."
    return f"Every call fails: {short_cause(failures[0].shown.message)}"


def _of_named(only: ReleaseStanding, failures: Sequence[Failure]) -> str:
    """What becomes of the exporters and opsets that were named."""
    good = calls_text(only.as_asked).get(only.release.torch, "")
    if only.wrong:
        works = f"; works with {good}" if good else ""
        made = _MADE if only.made else ""
        return f"Wrong values with {calls_text(only.wrong)[only.release.torch]}{made}{works}."
    if good:
        return f"Works with {good}{'' if only.is_good else ', not with all that was named'}."
    if only.works:
        cell = only.works[0]
        call = call_text(cell.torch, cell.exporter)
        return f"Not at opset {cell.opset}: {call} writes opset {cell.opset_effective} without an error."
    return _nothing_works(only, failures)


def _of_several(standing: Sequence[ReleaseStanding], asked: Asked) -> tuple[str, AnswerOutcome]:
    what = "what was named" if asked.is_named else "the default call"
    good = [item.release.torch for item in standing if item.is_good]
    bad = [item.release.torch for item in standing if not item.is_good]
    wrong = [item.release.torch for item in standing if item.wrong]
    if not bad:
        return f"Works with {what} at each of {len(standing)} releases.", AnswerOutcome.WORKS
    if wrong:
        return f"Wrong values at torch {', '.join(wrong)}: see with which calls below.", AnswerOutcome.FAILS
    if not good:
        return f"Fails with {what} at each of {len(standing)} releases.", AnswerOutcome.FAILS
    return f"Works with {what} at torch {', '.join(good)}, not at {', '.join(bad)}.", AnswerOutcome.FAILS
