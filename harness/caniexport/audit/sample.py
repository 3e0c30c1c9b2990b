"""Which published cells are measured again: a few of every release, exporter and status, drawn by a seed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from caniexport.model.corpus import LoadedCase
from caniexport.model.status import MEASURED
from caniexport.store import Dataset

_COLUMNS = "torch case variant exporter opset stage status message_id unstable case_hash".split()
#: stages before a cell is anything of its own
_OF_THE_ENVIRONMENT = ("resolve", "import")


@dataclass(frozen=True)
class PublishedCell:
    """A published cell; ``unstable`` has the statuses that its repetitions ended with, where they differ."""

    torch: str
    case: str
    variant: str
    exporter: str
    opset: int | None
    stage: str
    status: str
    message_id: str | None
    unstable: tuple[str, ...]

    @property
    def name(self) -> str:
        """``2.8.0/cross-no-symbolic/plain/dynamo/18``."""
        opset = "default" if self.opset is None else self.opset
        return f"{self.torch}/{self.case}/{self.variant}/{self.exporter}/{opset}"


def read_published(dataset: Dataset, release: str, corpus: Mapping[str, LoadedCase]) -> list[PublishedCell]:
    """The cells of a release that can be measured again: those of today's cases, on the cpu, that say something."""
    where = {"torch": (release,), "provider": ("cpu",), "status": tuple(status.value for status in MEASURED)}
    found = []
    for row in dataset.select(_COLUMNS, where):
        values = dict(zip(_COLUMNS, row, strict=True))
        loaded, case_hash = corpus.get(values["case"]), values.pop("case_hash")
        is_todays = loaded and values["variant"] in loaded.variants and loaded.case_hash(values["variant"]) == case_hash
        if is_todays and values["stage"] not in _OF_THE_ENVIRONMENT:
            values["unstable"] = tuple(values["unstable"] or ())
            found.append(PublishedCell(**values))
    return found


def draw_sample(cells: Iterable[PublishedCell], count: int, seed: int) -> list[PublishedCell]:
    """So many of the cells: one of each status, then one of each release, exporter and status in turn.

    The same cells and seed give the same sample, in whatever order the cells come.
    """
    chance = random.Random(seed)
    strata: dict[tuple[str, str, str], list[PublishedCell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: cell.name):
        strata[cell.status, cell.torch, cell.exporter].append(cell)
    for stratum in strata.values():
        chance.shuffle(stratum)
    order = sorted(strata)
    chance.shuffle(order)
    first = {key[0]: key for key in order}
    turns = [*first.values(), *(key for key in order if key not in first.values())]
    deepest = max(map(len, strata.values()), default=0)
    dealt = (strata[key][depth] for depth in range(deepest) for key in turns if depth < len(strata[key]))
    return sorted(islice(dealt, count), key=lambda cell: cell.name)
