"""The failures of a user's model, and similar cases of the corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from caniexport import versions
from caniexport.answers.answer import Cell, Code, Link, Message, Table
from caniexport.answers.outcomes import short_cause
from caniexport.check.cells import CheckedCell, calls_text
from caniexport.check.measure import MeasuredRelease
from caniexport.check.similar import SimilarCase, find_similar
from caniexport.check.widen import USUAL_OPSET, default_exporter
from caniexport.match.parse import read_error
from caniexport.model.status import EXPORTERS, Exporter, Stage, Status
from caniexport.store import Dataset

_STAGES = list(Stage)
_STATUS_TEXTS = {
    Status.CRASH: "the process dies",
    Status.TIMEOUT: "takes too long",
    Status.OOM: "takes too much memory",
}
#: sets of inputs that are named on one line
_MOST_SETS = 3


class Failure:
    """Cells of a model that fail in the same way; ``shown`` stands for all of them."""

    def __init__(self, cells: Sequence[CheckedCell], release: MeasuredRelease, corpus: Dataset) -> None:
        self.cells = cells
        self.shown = max(cells, key=_preference)
        sets = release.notes.sets
        #: descriptions of the sets of inputs that show it
        self.sets = [sets[number] for number in self.shown.sets if number < len(sets)]
        #: whether inputs that the user gave show it; those of a case file are all the user's
        self.is_given = not sets or any(number < release.notes.given for number in self.shown.sets)
        variants = {cell.variant_key for cell in release.cells}
        self._prefix = f"{'/'.join(self.shown.variant_key)}: " if len(variants) > 1 else ""
        own = [cell for cell in release.cells if cell.variant_key == self.shown.variant_key]
        self.similar: list[SimilarCase] = find_similar(corpus, self.shown, own, is_given=self.is_given)

    @property
    def rank(self) -> tuple[object, ...]:
        """Wrong values first, then the earliest stage; what could not be judged last."""
        cell = self.shown
        return (
            bool(cell.limit),
            not cell.has_wrong_values,
            not self.is_given,
            _STAGES.index(cell.stage),
            -len(self.cells),
        )

    def table(self, shown: int) -> Table:
        """The failure as facts, of which the first screen has ``shown``."""
        cell, message = self.shown, self.shown.message
        warned = cell.warnings.strip() if cell.has_wrong_values else ""
        names_sets = cell.has_wrong_values or not self.is_given
        named = [Link(item.case, "case", {"case": item.case}) for item in self.similar]
        found = [(item.case, fix) for item in self.similar for fix in item.workarounds[:1]]
        facts: list[tuple[str, Cell]] = [
            ("where", Code("; ".join(f"torch {torch}: {calls}" for torch, calls in calls_text(self.cells).items()))),
            ("why", cell.limit or Message(short_cause(message), message)),
            ("inputs", "; ".join(self.sets[:_MOST_SETS]) if names_sets else ""),
            ("ignores", ", ".join(cell.ignores)),
            ("warned", Message(warned.partition("\n")[0], warned) if warned else None),
            ("similar cases", tuple(named)),
            *(
                ("to try", (Link(f"{case}/{fix.variant}", "case", {"case": case, "variant": fix.variant}), fix.note))
                for case, fix in found
            ),
            ("to try", "no known workaround works there" if named and not found else None),
        ]
        rows = tuple((name, value) for name, value in facts if value not in ("", None, ()))
        return Table(f"{self._prefix}{self._title}", ("fact", "value"), rows, shown=shown)

    @property
    def _title(self) -> str:
        if self.shown.limit:
            return "not judged"
        if self.shown.has_wrong_values:
            return "wrong values" if self.is_given else "wrong values for inputs that this check made"
        return f"{_STATUS_TEXTS.get(self.shown.status, 'fails')} at {self.shown.stage.value}"


def find_failures(releases: Sequence[MeasuredRelease], corpus: Dataset) -> list[Failure]:
    """The failures, wrong values first: cells with one stage, kind of exporter and operator or message are one failure.

    A refused opset is no failure.
    """
    grouped: dict[tuple[object, ...], list[CheckedCell]] = defaultdict(list)
    for release in releases:
        for cell in release.cells:
            if cell.works or cell.status is Status.UNSUPPORTED:
                continue
            by = default_exporter(cell.torch) if cell.exporter == Exporter.DEFAULT.value else cell.exporter
            cause: object = cell.limit or read_error(cell.message).operator or short_cause(cell.message, 40)
            if cell.has_wrong_values:
                cause = not release.notes.sets or any(number < release.notes.given for number in cell.sets)
            grouped[cell.variant_key, cell.stage, cell.status, by == Exporter.DYNAMO.value, cause].append(cell)
    by_torch = {release.torch: release for release in releases}
    found = [Failure(cells, by_torch[max(cells, key=_preference).torch], corpus) for cells in grouped.values()]
    return sorted(found, key=lambda item: item.rank)


def _preference(cell: CheckedCell) -> tuple[object, ...]:
    """The newest release first, then the opset nearest to the usual one."""
    opset = cell.opset or USUAL_OPSET
    return versions.parse(cell.torch), -EXPORTERS.index(cell.exporter), -abs(opset - USUAL_OPSET), opset
