"""What a point means where it leaves something out: the newest measured release, and that release's own opset."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from caniexport.model.status import Exporter, Stage

_Key = TypeVar("_Key")
#: a cell that ends here has not asked the exporter for its opset
BEFORE_EXPORT = (Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value)


#: by (torch, exporter): the opsets that it takes, as measured, ascending
Offers = Mapping[tuple[str, str], tuple[int, ...]]


class CountedPlace(NamedTuple):
    """Everything measured of a release, exporter, opset and provider, counted.

    ``asked``: whether a case came as far as asking the exporter; ``works``, ``refused``: whether one works, is refused.
    """

    torch: str
    exporter: str
    opset: int | None
    provider: str | None
    cells: int
    asked: bool
    works: bool
    refused: bool


class DefaultFiles(NamedTuple):
    """Files of the default call of a release: who wrote them, at which opset, how many."""

    torch: str
    exporter: str | None
    opset: int | None
    files: int


def offers(places: Iterable[CountedPlace]) -> Offers:
    """The opsets that exporters accept, as far as they were measured.

    One that is refused to some case and works for none is refused. (A case may fail before the exporter looks at the
    opset, and a fix may ask for another one, so neither a single failure nor a single refusal or pass tells.)
    """
    taken: dict[tuple[str, str], set[int]] = defaultdict(set)
    working, refused = set(), set()
    for place in places:
        if place.asked and place.opset is not None:
            taken[place.torch, place.exporter].add(place.opset)
            if place.works:
                working.add(place[:3])
            if place.refused:
                refused.add(place[:3])
    for torch, exporter, opset in refused - working:
        taken[torch, exporter].discard(opset)
    return {key: tuple(sorted(opsets)) for key, opsets in taken.items()}


class OwnOpsets:
    """The opsets that are written where none is asked for, read back from most of the files that asked for none.

    ``bare`` is by torch release what a bare ``torch.onnx.export`` writes. Another exporter may
    write another one (dynamo 18 in 2.5 to 2.7, beside 17): fixes that only name it tell which.
    """

    def __init__(self, written: Iterable[DefaultFiles]) -> None:
        every = [item for item in written if item.opset is not None]
        self.bare: Mapping[str, int] = _most((item.torch, item) for item in every)
        self._exporters: Mapping[tuple[str, str | None], int] = _most(
            ((item.torch, item.exporter), item) for item in every
        )

    def of(self, torch: str, exporter: str) -> int | None:
        """What an exporter of a release writes by itself; what the default call does where its own is not known."""
        return self._exporters.get((torch, exporter), self.bare.get(torch))


def _most(files: Iterable[tuple[_Key, DefaultFiles]]) -> dict[_Key, int]:
    """By key: the opset of most of its files."""
    seen: dict[_Key, Counter[int]] = defaultdict(Counter)
    for key, item in files:
        seen[key][item.opset or 0] += item.files
    return {key: counts.most_common(1)[0][0] for key, counts in seen.items()}


def default_exporters(written: Iterable[DefaultFiles]) -> dict[str, str]:
    """By torch release: the exporter that wrote most files of the default call."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for item in written:
        if item.exporter:
            seen[item.torch][item.exporter] += item.files
    return {torch: counts.most_common(1)[0][0] for torch, counts in seen.items()}


class OpsetChoice(NamedTuple):
    """The opset used for a release and exporter, and why, for the caption."""

    opset: int | None
    why: str


def choose_opset(torch: str, exporter: str, own: OwnOpsets, opsets: Sequence[int]) -> OpsetChoice:
    """The opset at which a release's exporter is judged where none was asked for.

    What this exporter writes by itself; where it was not measured there, the nearest that was. ``None`` for the
    exporter ``default``, which is asked for none, and where nothing was measured.
    """
    if exporter == Exporter.DEFAULT.value or not opsets:
        return OpsetChoice(None, "the release's own")
    wanted = own.of(torch, exporter)
    if wanted is None:
        return OpsetChoice(opsets[-1], "the highest measured; the release's own default was not")
    whose = "the release's own" if wanted == own.bare.get(torch) else "the exporter's own"
    if wanted in opsets:
        return OpsetChoice(wanted, whose)
    nearest = min(opsets, key=lambda opset: (abs(opset - wanted), opset))
    return OpsetChoice(nearest, f"the nearest to {whose}, {wanted}")
