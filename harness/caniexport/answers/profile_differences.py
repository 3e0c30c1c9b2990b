"""What the packages beside torch change by themselves: cells that end otherwise in another profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from caniexport import versions
from caniexport.answers.along import lines, statuses
from caniexport.answers.reading import Rows
from caniexport.answers.signs import exporter_rank
from caniexport.corpus.verdicts import works
from caniexport.model.status import MEASURED, Status
from caniexport.profiles import PERIOD


@dataclass(frozen=True)
class ProfileDifference:
    """Opsets at which a variant ends otherwise with the packages of a profile (``there``) than with the newest ones.

    ``None`` among the opsets is a default call.
    """

    case: str
    variant: str
    torch: str
    exporter: str
    opsets: tuple[int | None, ...]
    there: Status
    newest: Status

    @property
    def mended(self) -> bool:
        """Whether it works with the newest packages only."""
        return works(self.newest) is True and works(self.there) is False

    @property
    def broken(self) -> bool:
        """Whether it works with the packages of the profile only."""
        return works(self.there) is True and works(self.newest) is False


def differences_beside_torch(
    rows: Rows, profile: str = PERIOD, where: Mapping[str, Iterable[Any]] | None = None
) -> list[ProfileDifference]:
    """Where cells that were measured in both profiles end otherwise; by release, the oldest first.

    ``where`` names the values taken of columns: case, variant, torch, exporter, opset.
    """
    if profile not in rows.profiles:
        return []
    theirs, ours = lines(rows.under(profile), where or {}), lines(rows, where or {})
    found: dict[tuple[str, str, str, str, Status, Status], list[int | None]] = defaultdict(list)
    for line, told in theirs.items():
        for torch, text in told.items():
            beside = ours.get(line, {}).get(torch, "")
            if text == beside or not beside:
                continue
            now = statuses(beside)
            for opset, there in statuses(text).items():
                if opset in now and now[opset] is not there and {there, now[opset]} <= _MEASURED:
                    found[(*line[:2], torch, line[2], there, now[opset])].append(opset)
    made = [
        ProfileDifference(*key[:4], tuple(sorted(opsets, key=lambda one: (one is None, one or 0))), *key[4:])
        for key, opsets in found.items()
    ]
    return sorted(made, key=_order)


def _order(item: ProfileDifference) -> tuple[Version, str, str, int]:
    return versions.parse(item.torch), item.case, item.variant, exporter_rank(item.exporter)


_MEASURED = frozenset(MEASURED)
