"""How each failing form ends in the newest release, and whether it ever failed, exporter by exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from caniexport.answers.along import Along
from caniexport.answers.filters import Filters
from caniexport.answers.select import Rows, load, select
from caniexport.corpus.verdicts import works
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS, Status
from caniexport.store import Dataset

_PROVIDER = "cpu"


@dataclass(frozen=True)
class FailingForm:
    """The failing form of a case, each release at its own default opset, on cpu.

    ``now`` has an exporter's status in the newest release measured, where there is one; ``failed`` the exporters with
    which it ended in an error or in wrong values in some release. What an exporter refuses by its own word is neither.
    """

    case: str
    title: str
    now: Mapping[str, Status]
    failed: frozenset[str]

    def works(self, exporter: str) -> bool | None:
        """Whether it works in the newest release; ``None`` where that is not known."""
        status = self.now.get(exporter)
        return None if status is Status.UNSUPPORTED else works(status)


def failing_forms(dataset: Dataset) -> tuple[FailingForm, ...]:
    """Every case that was measured with an exporter, in catalogue order."""
    rows = load(dataset)
    selection = select(rows, Filters(variants=(PLAIN,)))
    along = Along(selection)
    found = []
    for case, variant in selection.catalogue:
        now: dict[str, Status] = {}
        failed = set()
        for exporter in EXPORTERS:
            for torch, status in _along(along, rows, case, exporter):
                if works(status) is False and status is not Status.UNSUPPORTED:
                    failed.add(exporter)
                if torch == rows.torch[-1]:
                    now[exporter] = status
        if now or failed:
            found.append(FailingForm(case, selection.catalogue[case, variant].title, now, frozenset(failed)))
    return tuple(found)


def _along(along: Along, rows: Rows, case: str, exporter: str) -> Iterator[tuple[str, Status]]:
    """Each release at which it was measured at the opset that the release is judged at, and how that ended."""
    for torch in rows.torch:
        status = along.at(torch, exporter, _PROVIDER, case, PLAIN).get(rows.opset(torch, exporter))
        if status is not None:
            yield torch, status
