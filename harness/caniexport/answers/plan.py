"""Where to go from here: the newest target at which nothing listed breaks, and the least that makes a target work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.answers.filters import Filters
from caniexport.answers.model_file import ModelFile
from caniexport.answers.points import MeasuredPoint, Places
from caniexport.answers.select import Rows, load, select
from caniexport.answers.targets import TargetJudge, UpgradeTarget, kept_place
from caniexport.answers.torch_operators import operators_beside
from caniexport.model.status import Exporter

if TYPE_CHECKING:
    from caniexport.store import Dataset

_NAMED = tuple(member.value for member in Exporter if member is not Exporter.DEFAULT)


@dataclass(frozen=True)
class Plan:
    """``newest`` is the newest release (never older than the one left) at which nothing breaks when it is called as it
    is by default, ``kept`` the newest at which nothing breaks with the exporter and opset of today; ``None`` where each
    release breaks something. ``held`` says of the newer releases what breaks there, by default and as called today.
    ``wanted`` is the target asked for, and ``best`` the settings of its release (exporter, opset) that need the fewest
    workarounds; both ``None`` where none was asked for. ``file_refused`` is as in :class:`Upgrade`.
    """

    before: MeasuredPoint
    cases: int
    newest: UpgradeTarget | None
    kept: UpgradeTarget | None
    held: tuple[UpgradeTarget, ...]
    wanted: UpgradeTarget | None
    best: UpgradeTarget | None
    notes: tuple[str, ...]
    file_refused: tuple[str, ...] = ()

    @property
    def breaks(self) -> bool:
        """Whether the target asked for needs a workaround, or has none; without one, whether there is nowhere to go of
        which all is known.
        """
        if self.wanted:
            return not self.wanted.is_known
        return not any(goal.is_known for goal in (self.newest, self.kept) if goal)


def plan(
    dataset: Dataset,
    before: Mapping[str, str],
    after: Mapping[str, str] | None,
    filters: Filters,
    model: ModelFile | None = None,
) -> Plan:
    """Plan a way from one point. ``before`` and ``after`` are what :func:`caniexport.answers.points.parse` gives.

    Every release is judged at its own exporter and opset unless ``after`` names some; with the file of a ``model``
    what is judged is what touches it. Raises :class:`UnknownName`.
    """
    rows = load(dataset)
    selection = select(rows, replace(filters, torch=(), opsets=(), exporters=(), providers=(), statuses=()))
    left = Places(rows).fill(before)
    judge = TargetJudge(selection, left, model.graph if model else None, operators_beside(dataset))
    pinned = {axis: value for axis, value in (after or {}).items() if axis != "torch"}
    newer = [torch for torch in rows.torch if versions.parse(torch) >= versions.parse(left.torch)]
    places = [Places(rows).fill({**pinned, "torch": torch}) for torch in reversed(newer)]
    targets = [judge.at(place) for place in places]
    kept = [judge.at(kept_place(rows, left, place, pinned)) for place in places]
    newest = next((target for target in targets if target.clean), None)
    newest_kept = next((target for target in kept if target.clean), None)
    right = Places(rows).fill(after) if after is not None else None
    wanted = judge.at(right) if right else None
    best = (
        min((judge.at(place) for place in _settings(rows, right, pinned)), key=lambda t: _cost(t, right))
        if right
        else None
    )
    notes = dict.fromkeys(filter(None, (left.assumed, right.assumed if right else "")))
    cases = len({case for case, _ in selection.catalogue})
    held = _held(targets, kept, newest)
    ends = dict.fromkeys(goal.place for goal in (wanted, newest, newest_kept) if goal)
    refused = model.refused_on(rows, (left, *ends)) if model else ()
    return Plan(left, cases, newest, newest_kept, held, wanted, best, tuple(notes), refused)


def _held(
    targets: Sequence[UpgradeTarget], kept: Sequence[UpgradeTarget], newest: UpgradeTarget | None
) -> tuple[UpgradeTarget, ...]:
    """What is newer than the newest target where nothing breaks: each release by default and as it is called today."""
    until = targets.index(newest) if newest else len(targets)
    pairs = zip(targets[:until], kept[:until], strict=True)
    return tuple({target.place: target for pair in pairs for target in pair if not target.clean}.values())


def _settings(rows: Rows, right: MeasuredPoint, pinned: Mapping[str, str]) -> Iterable[MeasuredPoint]:
    """The target, and its release at every exporter and opset that was not asked for by name."""
    yield right
    exporters = [right.exporter] if "exporter" in pinned else _NAMED
    for exporter in exporters:
        for opset in rows.offers.get((right.torch, exporter), ()):
            if "opset" not in pinned or opset == right.opset:
                yield replace(right, exporter=exporter, opset=opset)


def _cost(target: UpgradeTarget, right: MeasuredPoint) -> tuple[int, int, int, bool, int]:
    """What has no fix weighs most, then what is not known, then what has to be written, then the way to go."""
    near = abs((target.place.opset or 0) - (right.opset or 0))
    other = target.place.exporter != right.exporter
    without = len(target.without) + len(target.lost_cases)
    return without, len(target.unmeasured), len(target.workarounds), other, near
