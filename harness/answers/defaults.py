"""What a point means where it leaves something out: the newest measured release, and that release's own opset."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.worker.status import Exporter, Stage

#: a cell that ends here has not asked the exporter for its opset
BEFORE_EXPORT = (Stage.RESOLVE.value, Stage.IMPORT.value, Stage.EAGER.value)


@dataclass(frozen=True)
class Offer:
    """What a release's exporter takes, as measured: its opsets, refused ones excluded, ascending."""

    torch: str
    exporter: str
    opsets: tuple[int, ...]


class Asked(NamedTuple):
    """All cells that asked a release's exporter for an opset: whether some case works at it, or is refused it."""

    torch: str
    exporter: str
    opset: int
    works: bool
    refused: bool


class Written(NamedTuple):
    """Files of the bare call of a release: who wrote them, at which opset, how many."""

    torch: str
    exporter: str | None
    opset: int | None
    files: int


def offers(asked: Iterable[Asked]) -> dict[tuple[str, str], Offer]:
    """By (torch, exporter): the opsets that the exporter accepts, as far as they were measured.

    One that is refused to some case and works for none is refused. (A case may fail before the exporter looks at the
    opset, and a fix may ask for another one, so neither a single failure nor a single refusal or pass tells.)
    """
    taken: dict[tuple[str, str], set[int]] = defaultdict(set)
    working, refused = set(), set()
    for item in asked:
        taken[item.torch, item.exporter].add(item.opset)
        if item.works:
            working.add(item[:3])
        if item.refused:
            refused.add(item[:3])
    for torch, exporter, opset in refused - working:
        taken[torch, exporter].discard(opset)
    return {key: Offer(*key, tuple(sorted(opsets))) for key, opsets in taken.items()}


def default_opsets(written: Iterable[Written]) -> dict[str, int]:
    """By torch release: the opset that a bare ``torch.onnx.export`` wrote, read back from most of its files."""
    seen: dict[str, Counter[int]] = defaultdict(Counter)
    for item in written:
        if item.opset is not None:
            seen[item.torch][item.opset] += item.files
    return {torch: counts.most_common(1)[0][0] for torch, counts in seen.items()}


def default_exporters(written: Iterable[Written]) -> dict[str, str]:
    """By torch release: the exporter that wrote most files of the bare call."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for item in written:
        if item.exporter:
            seen[item.torch][item.exporter] += item.files
    return {torch: counts.most_common(1)[0][0] for torch, counts in seen.items()}


@dataclass(frozen=True)
class OpsetChoice:
    """The opset used for a release and exporter, and why, for the caption."""

    opset: int | None
    why: str


def choose_opset(torch: str, exporter: str, defaults: Mapping[str, int], opsets: Sequence[int]) -> OpsetChoice:
    """The opset at which a release's exporter is judged where none was asked for.

    The release's own default; where this exporter was not measured there, the nearest that was. ``None`` for the
    exporter ``default``, which is asked for none, and where nothing was measured.
    """
    if exporter == Exporter.DEFAULT.value or not opsets:
        return OpsetChoice(None, "the release's own")
    wanted = defaults.get(torch)
    if wanted is None:
        return OpsetChoice(opsets[-1], "the highest measured; the release's own default was not")
    if wanted in opsets:
        return OpsetChoice(wanted, "the release's own")
    nearest = min(opsets, key=lambda opset: (abs(opset - wanted), opset))
    return OpsetChoice(nearest, f"the nearest to the release's own, {wanted}")
