"""Cells of one torch release in every profile, told apart by the version of a package beside torch.

And what these packages change by themselves: cells that end otherwise in another profile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from caniexport import versions
from caniexport.answers.along import lines, statuses
from caniexport.answers.installed import Installed
from caniexport.answers.reading import Rows
from caniexport.answers.rows import MeasuredCell
from caniexport.answers.signs import exporter_rank
from caniexport.corpus.verdicts import works
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import MEASURED, Status
from caniexport.profiles import PERIOD

#: packages along which a release can be looked at
ALONG_PACKAGES = ("onnxscript", "onnx", "onnx-ir")


@dataclass(frozen=True)
class PackageVersion:
    """One version of a package beside a torch release, where it was measured."""

    version: str
    installed: Installed

    def differing(self, other: PackageVersion) -> tuple[str, ...]:
        """The packages in which the two environments differ; what onnxscript's version decides is left out."""
        mine, theirs = self.installed.packages, other.installed.packages
        found = tuple(name for name in mine if mine[name] != theirs.get(name))
        return tuple(name for name in found if name != "onnx-ir" or "onnxscript" not in found)


def one_release(releases: Sequence[str], asked: Iterable[str], package: str) -> str:
    """The one torch release that is looked at; raises :class:`UnknownName` where none or several are named."""
    found = {versions.resolve(text, releases) for text in asked}
    if len(found) != 1:
        said = f"several are asked for: {', '.join(versions.ordered(found))}" if found else "--torch names it"
        raise UnknownName(f"along {package} one torch release is looked at; {said}")
    return found.pop()


def versions_of(rows: Rows, torch: str, package: str) -> list[PackageVersion]:
    """The versions of a package beside a torch release, oldest first; of several environments with one version that
    of ``newest`` is taken, then one that differs from it in this package alone.

    Raises :class:`UnknownName` where the release was not measured with it.
    """
    found: dict[str, PackageVersion] = {}
    for item in sorted(rows.installed, key=lambda item: _rank(item, package), reverse=True):
        version = item.packages.get(package)
        if item.torch == torch and version is not None:
            found[version] = PackageVersion(version, item)
    if not found:
        raise UnknownName(f"torch {torch} was not measured with {package} installed")
    return [found[version] for version in versions.ordered(found)]


def _rank(item: Installed, package: str) -> tuple[bool, bool, str]:
    return item.profile != NEWEST, not item.profile.startswith(f"{package}-"), item.profile


def cells_beside(
    rows: Rows, torch: str, along: Sequence[PackageVersion], where: Mapping[str, Iterable[Any]]
) -> dict[str, list[MeasuredCell]]:
    """By version: the cells of a release with these values of their columns."""
    asked = {**where, "torch": (torch,)}
    return {item.version: rows.under(item.installed.profile).cells(**asked) for item in along}


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
