"""Where a case works, one line for each exporter: ``from torch 2.0.1, opset ≥ 10``, as compatibility pages say it.

What was not measured says nothing: it neither ends a run of releases nor begins one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from caniexport import versions
from caniexport.answers.along import Told, lines, statuses
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.corpus.verdicts import collapse
from caniexport.model.case import PLAIN
from caniexport.model.status import EXPORTERS, WORKS, Status

#: runs of working releases that are told one by one; of more, the newest is told and the others are counted
_MOST_RUNS = 2
#: spans of opsets that are told one by one
_MOST_SPANS = 2
#: of a variant that works on all releases of a dataset
EVERYWHERE = "on every measured release"
#: of one that works on none, and of one that an exporter takes at no opset
_NOWHERE, _REFUSED = "on no measured release", "refused on every measured release"
_FAILING = {
    Status.MISMATCH: "wrong values",
    Status.CRASH: "the process is killed",
    Status.TIMEOUT: "too slow",
    Status.OOM: "out of memory",
    Status.UNSTABLE: "not the same every time",
    Status.FAIL: "an error",
    Status.DEGRADED: "a file of another opset",
    Status.UNSUPPORTED: "refused",
}


@dataclass(frozen=True)
class Support:
    """Where one variant works with one exporter.

    ``status`` is the newest measured release's: its best where anything works there, else its worst. ``text`` is the
    line; ``otherwise`` what happens where it does not work, worst first; ``newest`` the release that ``status`` is of.
    """

    exporter: str
    status: Status
    text: str
    otherwise: tuple[Status, ...]
    newest: str

    @property
    def told(self) -> str:
        """The line behind the newest release's sign: ``works on torch 2.5.1`` where it fails there."""
        if self.status in WORKS or self.text.startswith(_REFUSED):
            return self.text
        return f"works {'on ' if self.text.startswith('torch') else ''}{self.text}"

    @property
    def otherwise_text(self) -> str:
        """``elsewhere: wrong values, an error``; empty where it works everywhere."""
        words = [_FAILING[status] for status in self.otherwise if status in _FAILING]
        return f"elsewhere: {', '.join(words)}" if words and not self._nowhere else ", ".join(words)

    @property
    def _nowhere(self) -> bool:
        return self.text.startswith((_NOWHERE, _REFUSED))


@dataclass(frozen=True)
class _Clause:
    """At which opsets of those ``tried`` something works: all that ``holds``.

    Of a release in which it passes anywhere, that is where it passes; a file that is not as asked (of another opset)
    counts where that is all there is.
    """

    tried: tuple[int, ...]
    holds: tuple[int, ...]

    @property
    def is_open(self) -> bool:
        """Whether it holds from an opset on, or up to one."""
        count = len(self.holds)
        return bool(count) and self.holds in (self.tried[-count:], self.tried[:count])

    @property
    def text(self) -> str:
        """``opset ≥ 10``; empty where every opset works."""
        low, high = self.holds[0], self.holds[-1]
        if self.holds == self.tried:
            return ""
        if self.holds == tuple(opset for opset in self.tried if opset >= low):
            return f"opset ≥ {low}"
        if self.holds == tuple(opset for opset in self.tried if opset <= high):
            return f"opset ≤ {high}"
        spans = versions.spans(self.holds, self.tried)
        shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MOST_SPANS])
        return f"opset {shown}{' and others' if len(spans) > _MOST_SPANS else ''}"


#: neighbouring releases on each of which something works, oldest first
_Run = dict[str, _Clause]


def supports(cells: Iterable[MeasuredCell]) -> list[Support]:
    """One line for each exporter among the cells of one variant on one provider, exporters in their usual order."""
    by_exporter: dict[str, list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        by_exporter[cell.exporter].append(cell)
    return [support(name, by_exporter[name]) for name in EXPORTERS if name in by_exporter]


def support(exporter: str, cells: Sequence[MeasuredCell]) -> Support:
    """The line of one exporter; ``cells`` are those of one variant with it, at least one."""
    by_release: dict[str, dict[int | None, Status]] = defaultdict(dict)
    for cell in cells:
        by_release[cell.torch][cell.opset] = cell.status
    return _support(exporter, by_release)


def all_supports(rows: Rows) -> dict[str, tuple[Support, ...]]:
    """By case: where its failing form works, a line for each exporter; on cpu where it was measured there."""
    by_case: dict[str, dict[tuple[str, str | None], Told]] = defaultdict(dict)
    for (case, _, exporter, provider), told in lines(rows, {"variant": (PLAIN,)}).items():
        by_case[case][exporter, provider] = told
    return {case: tuple(_supports(found)) for case, found in by_case.items()}


def _supports(found: Mapping[tuple[str, str | None], Told]) -> Iterator[Support]:
    providers = sorted({provider for _, provider in found}, key=lambda name: (name is None, name or ""))
    taken = [provider for provider in providers if provider in ("cpu", None)] or providers
    for exporter in EXPORTERS:
        by_release: dict[str, dict[int | None, Status]] = defaultdict(dict)
        for provider in taken:
            for torch, told in found.get((exporter, provider), {}).items():
                by_release[torch].update(statuses(told))
        if by_release:
            yield _support(exporter, by_release)


def _support(exporter: str, by_release: Mapping[str, Mapping[int | None, Status]]) -> Support:
    releases = versions.ordered(by_release)
    clauses = {torch: _clause(by_release[torch]) for torch in releases}
    spoken = [torch for torch in releases if clauses[torch] is not None]
    newest = (spoken or releases)[-1]
    status = _status(by_release[newest].values())
    if not spoken:
        return Support(exporter, status, f"{_REFUSED} to {newest}", (status,), newest)
    told = _text({torch: clause for torch, clause in clauses.items() if clause is not None})
    return Support(exporter, status, told, _otherwise(by_release), newest)


def _clause(statuses: Mapping[int | None, Status]) -> _Clause | None:
    """``None`` where the exporter refuses every opset asked for: nothing was tried."""
    tried = {opset or 0: status for opset, status in statuses.items() if status is not Status.UNSUPPORTED}
    if not tried:
        return None
    good = {Status.PASS} if Status.PASS in tried.values() else WORKS
    holds = tuple(sorted(opset for opset, status in tried.items() if status in good))
    return _Clause(tuple(sorted(tried)), holds)


def _status(found: Iterable[Status]) -> Status:
    statuses = list(found)
    works = [status for status in (Status.PASS, Status.DEGRADED) if status in statuses]
    tried = [status for status in statuses if status is not Status.UNSUPPORTED]
    return works[0] if works else collapse(tried) or collapse(statuses) or Status.NOT_RUN


def _otherwise(by_release: Mapping[str, Mapping[int | None, Status]]) -> tuple[Status, ...]:
    seen = {status for statuses in by_release.values() for status in statuses.values()}
    order = list(Status)
    bad = seen - {Status.PASS, Status.UNSUPPORTED}
    return tuple(sorted(bad, key=order.index, reverse=True))


def _text(clauses: Mapping[str, _Clause]) -> str:
    releases = list(clauses)
    runs = _runs(clauses)
    if not runs:
        return f"{_NOWHERE} (torch {_span(releases[0], releases[-1])})"
    if len(runs) > _MOST_RUNS:
        count = sum(map(len, runs))
        return f"{_told(runs[-1], releases)}; on {count} of {len(releases)} measured releases in all"
    return "; ".join(_told(run, releases) for run in reversed(runs))


def _runs(clauses: Mapping[str, _Clause]) -> list[_Run]:
    found: list[_Run] = []
    before = False
    for torch, clause in clauses.items():
        if clause.holds:
            if not before:
                found.append({})
            found[-1][torch] = clause
        before = bool(clause.holds)
    return found


def _told(run: _Run, releases: Sequence[str]) -> str:
    names = list(run)
    first, last = names[0] == releases[0], names[-1] == releases[-1]
    if first and last:
        where = EVERYWHERE
    elif last:
        where = f"from torch {names[0]}"
    elif first:
        where = f"up to torch {names[-1]}"
    else:
        where = f"torch {_span(names[0], names[-1])}"
    common = _common(tuple(run.values()))
    if not common.holds:
        return f"{where}, at opsets that differ by release{_widened(run, common)}"
    return ", ".join(filter(None, (where, common.text))) + _widened(run, common)


def _common(clauses: Sequence[_Clause]) -> _Clause:
    """The opsets that work on every release that takes them, where these are all from one on, or up to one, and each
    release has some of them; else those that were measured on every release.
    """
    tried = sorted({opset for clause in clauses for opset in clause.tried})
    bad = {opset for clause in clauses for opset in clause.tried if opset not in clause.holds}
    holds = tuple(opset for opset in tried if opset not in bad)
    found = _Clause(tuple(tried), holds)
    shared = tuple(opset for opset in holds if all(opset in clause.tried for clause in clauses))
    is_reached = all(set(holds) & set(clause.tried) for clause in clauses)
    return found if found.is_open and is_reached else _Clause(tuple(tried), shared)


def _widened(run: _Run, common: _Clause) -> str:
    """Since when it works at every opset at which the newest release of a run does, where that came later than the
    first.
    """
    names = list(run)
    wanted = set(run[names[-1]].holds)
    if wanted <= set(common.holds):
        return ""
    start = next(at for at in range(len(names)) if wanted <= set(_common([run[name] for name in names[at:]]).holds))
    later = _common([run[name] for name in names[start:]])
    return f" ({later.text or 'every opset'} from {names[start]})"


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
