"""What has come of a release from all machines, and what has not: shards that are missing, cells that are owed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from caniexport.measure.arrived import ArrivedRelease, Run, run_of
from caniexport.measure.deliveries import Row, key_of
from caniexport.measure.job import cell_name
from caniexport.measure.overlaps import MEASURED_STATUSES
from caniexport.measure.shards import CutShard, Shard, cut, digest, past_microseconds, read_cut_shard
from caniexport.store import Dataset
from caniexport.store.gates import GOOD


@dataclass(frozen=True)
class MergedRelease:
    """What has come of a release, from all machines.

    files     deliveries that it came in; ``rows`` that were taken from them
    shards    that have come, ``missing`` those that have not
    owed      cells that no row has come of: ``torch/case/variant/exporter/opset``
    outdated  rows that were left out: their case has changed since, or is not in this corpus
    problem   what the gate says of runs whose rows may not be used; empty where all are good
    notes     what else a person should know
    """

    torch: str
    profile: str
    provider: str
    files: int
    rows: int
    shards: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    outdated: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all of it is there and may be used."""
        return not (self.problem or self.missing or self.owed or self.outdated)


@dataclass(frozen=True)
class Owed:
    """The cells without a row, the numbers of the shards that owe none, and why that is not known, if it is not."""

    cells: tuple[str, ...] = ()
    whole: frozenset[int] = frozenset()
    unknown: tuple[str, ...] = ()


def merged_release(arrived: ArrivedRelease, words: Mapping[Run, str], rows: Sequence[Row]) -> MergedRelease:
    """What has come of a release: ``rows``, and the gate's words on their runs."""
    good = [row for row in rows if words[run_of(row)] == GOOD]
    cuts = set(_cuts(arrived, words))
    owed = _owed(arrived, cuts, {key_of(row) for row in good if row["status"] in MEASURED_STATUSES})
    return MergedRelease(
        *arrived.origin,
        files=len(arrived.deliveries),
        rows=len(rows),
        shards=tuple(map(str, sorted({item.shard for item in cuts}))),
        missing=tuple(map(str, _missing({item.shard for item in cuts}, owed.whole))),
        owed=owed.cells,
        outdated=arrived.outdated,
        problem=_problem(arrived, words),
        notes=(*owed.unknown, *_notes(arrived, words, good)),
    )


def _cuts(arrived: ArrivedRelease, words: Mapping[Run, str]) -> Iterator[CutShard]:
    """The shards that good runs were of."""
    for run, row in arrived.environments.items():
        found = read_cut_shard(row["shard"] or "")
        if found and words.get(run) == GOOD:
            yield found


def _missing(shards: set[Shard], whole: frozenset[int]) -> list[Shard]:
    """The shards that have not come; one whose rows have all come in files of other shards is not missing."""
    counts = {shard.of for shard in shards}
    every = [Shard(number, count) for count in counts for number in range(1, count + 1)] if len(counts) == 1 else []
    return [shard for shard in every if shard not in shards and shard.number not in whole]


def _owed(arrived: ArrivedRelease, cuts: set[CutShard], have: set[str]) -> Owed:
    """What is owed, where the plan is cut here as it was there."""
    if not cuts:
        return Owed()
    if len({(item.digest, item.shard.of) for item in cuts}) > 1:
        return Owed(unknown=("the shards are of plans that were cut differently: what is owed is not known",))
    some = next(iter(cuts))
    took = past_microseconds(Dataset.open(arrived.home.published, None), arrived.origin.torch)
    parts = cut(arrived.plan, some.shard.of, took)
    if digest(parts) != some.digest:
        why = "the plan was cut from other cases, rows or options than are here: what is owed is not known"
        return Owed(unknown=(why,))
    whole = frozenset(number for number, part in enumerate(parts, start=1) if all(cell.key in have for cell in part))
    return Owed(tuple(cell_name(arrived.origin.torch, cell) for cell in arrived.plan if cell.key not in have), whole)


def _problem(arrived: ArrivedRelease, words: Mapping[Run, str]) -> str:
    """What the gate says of runs that had ended and may not be used, the same words once."""
    environments = arrived.environments
    bad = Counter(word for run, word in words.items() if word != GOOD and environments[run]["planned"] is not None)
    return "; ".join(f"{word} ({count} runs)" for word, count in sorted(bad.items()))


def _notes(arrived: ArrivedRelease, words: Mapping[Run, str], good: Sequence[Row]) -> Iterator[str]:
    environments = arrived.environments
    unfinished = [run for run, word in words.items() if word != GOOD and environments[run]["planned"] is None]
    if unfinished:
        yield f"{len(unfinished)} runs that were ended before their canaries could judge them are not used"
    codes = {row["code"] for row in good}
    if len(codes) > 1:
        yield f"measured by {len(codes)} versions of the measuring code"
