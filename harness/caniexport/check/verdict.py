"""The outcome of each release for the calls that the user asked for, and the verdict: which call to use."""

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
    """The exporters and opsets that a user named; if both are empty, the default call must work."""

    exporters: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether anything but the default call was named."""
        return bool(self.exporters or self.opsets)


class ReleaseOutcome:
    """Which cells of one release work, and whether the requested calls do."""

    def __init__(self, release: MeasuredRelease, asked: Asked) -> None:
        self.release = release
        self.works = [cell for cell in release.cells if cell.works]
        #: working cells whose file has the requested opset
        self.as_asked = [cell for cell in self.works if cell.opset in (None, cell.opset_effective)]
        self.wrong = [cell for cell in release.cells if cell.has_wrong_values]
        self.is_good = not self.wrong and (self._names_work(asked) if asked.is_named else self._default_works())

    def _default_works(self) -> bool:
        """Whether the default call of every variant works; any call if it was not measured."""
        default = [cell for cell in self.release.cells if cell.exporter == _DEFAULT]
        variants = {cell.variant_key for cell in default or self.release.cells}
        return variants <= {cell.variant_key for cell in self.as_asked if cell in default or not default}

    def _names_work(self, asked: Asked) -> bool:
        """Whether each named and measured exporter and opset works."""
        exporters = {cell.exporter for cell in self.release.cells} & set(asked.exporters)
        opsets = {cell.opset for cell in self.release.cells} & set(asked.opsets)
        return exporters <= {cell.exporter for cell in self.as_asked} and opsets <= {c.opset for c in self.as_asked}

    @property
    def made(self) -> str:
        """The description of the first inputs with wrong values, or empty if the user gave them."""
        notes = self.release.notes
        numbers = [number for cell in self.wrong for number in cell.sets]
        is_given = not numbers or min(numbers) < notes.given or max(numbers) >= len(notes.sets)
        return "" if is_given else notes.sets[min(numbers)]

    @property
    def fixed(self) -> str:
        """What a working trace keeps constant, by the tracer's warning; empty if nothing."""
        notes = self.release.notes
        for cell in self.works:
            by = default_exporter(cell.torch) if cell.exporter == _DEFAULT else cell.exporter
            if by != _TRACE or CONVERTED not in cell.warnings:
                continue
            is_branch = f"{CONVERTED} boolean" in cell.warnings
            if notes.reads_values:
                return "an `if` on a value" if is_branch else "a tensor's value"
            # sizes matter only if an axis is dynamic
            if is_branch and notes.axes:
                return "an `if` on a size"
        return ""

    @property
    def best(self) -> CheckedCell | None:
        """The call to use if the default one does not work; a trace that may be wrong comes last."""
        others = [cell for cell in self.as_asked if cell.exporter != _DEFAULT]
        return min(others, key=self._rank, default=None)

    def _rank(self, cell: CheckedCell) -> tuple[bool, bool, int]:
        is_fixed = bool(self.fixed) and cell.exporter == _TRACE
        return is_fixed, cell.exporter == Exporter.SCRIPT.value, abs((cell.opset or 0) - USUAL_OPSET)


def find_verdict(
    outcomes: Sequence[ReleaseOutcome], failures: Sequence[Failure], asked: Asked
) -> tuple[str, AnswerOutcome]:
    """Return what to do, in one line, and the outcome."""
    if len(outcomes) > 1:
        return _of_several(outcomes, asked)
    (only,) = outcomes
    outcome = AnswerOutcome.WORKS if only.is_good else AnswerOutcome.FAILS
    early = next((item for item in failures if item.shown.stage in BEFORE_EXPORT and not item.shown.limit), None)
    if early and not only.works:
        return f"The model does not run in eager here: {short_cause(early.shown.message)}", AnswerOutcome.FAILS
    if all(cell.limit or cell.status is Status.UNSUPPORTED for cell in only.release.cells):
        why = next((cell.limit for cell in only.release.cells if cell.limit), "every call is refused")
        return f"Not judged: {why}.", AnswerOutcome.NOT_MEASURED
    if len(variants := {cell.variant_key for cell in only.release.cells}) > 1:
        working = {cell.variant_key for cell in only.works}
        return f"{len(working)} of {plural(len(variants), 'variant')} work with one call at least.", outcome
    if asked.is_named:
        return _of_named(only, failures), outcome
    return _of_default(only, failures, outcome)


def _of_default(only: ReleaseOutcome, failures: Sequence[Failure], outcome: AnswerOutcome) -> tuple[str, AnswerOutcome]:
    """Return whether to use the default call, or which other one."""
    default = next((cell for cell in only.release.cells if cell.exporter == _DEFAULT), None)
    if default and default.works:
        if others := list(dict.fromkeys(call_text(cell.torch, cell.exporter) for cell in only.wrong)):
            verb = "give" if len(others) > 1 else "gives"
            return f"Use the {default.call}: {' and '.join(others)} {verb} wrong values.", outcome
        if only.fixed and default_exporter(default.torch) == _TRACE:
            return f"Works on the inputs tried, but {only.fixed} is constant in the trace: try others.", outcome
        return f"Works with the {default.call} on {len(only.release.notes.sets)} sets of inputs.", outcome
    if not only.best:
        return _nothing_works(only, failures), outcome
    caution = f", but {only.fixed} is constant" if only.fixed and only.best.exporter == _TRACE else ""
    if default and default.limit:
        outcome = AnswerOutcome.FAILS if only.wrong else AnswerOutcome.NOT_MEASURED
        return f"The default call is not judged ({default.limit}).", outcome
    problem = f"gives wrong values{_MADE if only.made else ''}" if default and default.has_wrong_values else "fails"
    return f"The default call {problem}: use {only.best.call}{caution}.", outcome


def _nothing_works(only: ReleaseOutcome, failures: Sequence[Failure]) -> str:
    """Return what to try if no call works."""
    if left := [call_text(only.release.torch, name) for name in only.release.left]:
        return f"No measured call works, and time ran out for {' and '.join(left)} (--seconds)."
    problem = f"gives wrong values{_MADE if only.made else ''}" if only.wrong else "fails"
    if known := [item.case for failure in failures for item in failure.similar if item.is_sure and item.workarounds]:
        return f"Every call {problem}, as {known[0]} does: try its workarounds."
    if only.made:
        return f"Right for your inputs, wrong values for others: {only.made}."
    if only.wrong:
        return "Every call gives wrong values, and no workaround is known."
    return f"Every call fails: {short_cause(failures[0].shown.message)}"


def _of_named(only: ReleaseOutcome, failures: Sequence[Failure]) -> str:
    """Return the outcome of the named exporters and opsets."""
    good = calls_text(only.as_asked).get(only.release.torch, "")
    if only.wrong:
        works = f"; works with {good}" if good else ""
        made = _MADE if only.made else ""
        return f"Wrong values with {calls_text(only.wrong)[only.release.torch]}{made}{works}."
    if good:
        return f"Works with {good}{'' if only.is_good else ', but not with every exporter and opset named'}."
    if only.works:
        cell = only.works[0]
        call = call_text(cell.torch, cell.exporter)
        return f"Not at opset {cell.opset}: {call} writes opset {cell.opset_effective} without an error."
    return _nothing_works(only, failures)


def _of_several(outcomes: Sequence[ReleaseOutcome], asked: Asked) -> tuple[str, AnswerOutcome]:
    what = "the named calls" if asked.is_named else "the default call"
    good = [item.release.torch for item in outcomes if item.is_good]
    bad = [item.release.torch for item in outcomes if not item.is_good]
    wrong = [item.release.torch for item in outcomes if item.wrong]
    if not bad:
        return f"Works with {what} at each of {len(outcomes)} releases.", AnswerOutcome.WORKS
    if wrong:
        return f"Wrong values at torch {', '.join(wrong)}: see the calls below.", AnswerOutcome.FAILS
    if not good:
        return f"Fails with {what} at each of {len(outcomes)} releases.", AnswerOutcome.FAILS
    return f"Works with {what} at torch {', '.join(good)}, not at {', '.join(bad)}.", AnswerOutcome.FAILS
