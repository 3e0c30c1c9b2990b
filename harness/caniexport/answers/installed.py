"""Companion packages of torch: in each measured environment, compared with a user's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caniexport import versions
from caniexport.home import NEWEST
from caniexport.profiles import HELPERS, package_name

if TYPE_CHECKING:
    from packaging.version import Version

    from caniexport.store import Dataset

#: what decides most about an export comes first
_RANK = ("onnxscript", "onnx-ir", "onnx", "onnxruntime", "numpy", "protobuf")


@dataclass(frozen=True)
class Installed:
    """The environment of a torch release in a profile; ``packages`` has the versions of :data:`HELPERS`.

    ``as_of`` is the day whose packages were installed; empty where none was asked for. ``cells`` were measured in it.
    """

    profile: str
    torch: str
    python: str
    packages: Mapping[str, str]
    as_of: str = ""
    cells: int = 0

    @property
    def text(self) -> str:
        """``onnxscript 0.5.6, onnx-ir 0.1.12, onnx 1.19.1, onnxruntime 1.23.2``."""
        shown = [f"{name} {self.packages[name]}" for name in _RANK[:4] if name in self.packages]
        return ", ".join(shown)


@dataclass(frozen=True)
class VersionDifference:
    """A package that a user has in another version than what was measured; ``measured`` is empty where it has none."""

    package: str
    own: str
    measured: str

    @property
    def text(self) -> str:
        """``onnx 1.18.0 (measured with 1.19.1, newer)``."""
        if not self.measured:
            return f"{self.package} {self.own} (measured without it)"
        newer = versions.parse(self.measured) > versions.parse(self.own)
        return f"{self.package} {self.own} (measured with {self.measured}, {'newer' if newer else 'older'})"


def read_installations(dataset: Dataset) -> list[Installed]:
    """Return the newest good environment of each release of one profile, oldest release first; read once."""
    if "installations" in dataset.cache:
        kept: list[Installed] = dataset.cache["installations"]
        return kept
    counted = dict(dataset.counted(("torch",), {"cells": "sum(cells)"}))
    found: dict[str, tuple[str, Installed]] = {}
    for row in dataset.records("environments"):
        torch, at = row["torch"], str(row["measured_at"] or "")
        if torch and row["gate"] == "good" and at >= found.get(torch, ("",))[0]:
            packages = select_companions(json.loads(row["packages"] or "{}"))
            as_of, cells = row["as_of"] or "", counted.get(torch, 0)
            found[torch] = at, Installed(dataset.profile, torch, row["python"] or "", packages, as_of, cells)
    made = [found[torch][1] for torch in versions.ordered(found)]
    dataset.cache["installations"] = made
    return made


def read_every_installation(dataset: Dataset) -> tuple[Installed, ...]:
    """Return each environment that has rows, of every profile."""
    return tuple(item for name in dataset.profiles() for item in read_installations(dataset.of(name)))


def select_companions(packages: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of :data:`HELPERS` among packages of any spelling, without local parts."""
    known = {package_name(name): version for name, version in packages.items()}
    return {name: versions.public(version) for name, version in known.items() if name in HELPERS}


def find_nearest(installed: Iterable[Installed], torch: str, wanted: Mapping[str, str]) -> Installed | None:
    """Return the measured environment of a torch release that is most like what is ``wanted`` by package.

    The exporter's half outside torch decides first, then the other packages; of equals ``newest`` is taken. One in
    which only a part was measured counts where it alone has exactly what is wanted.
    """
    every_one = [item for item in installed if item.torch == torch]
    most = max((item.cells for item in every_one), default=0)
    whole = [item for item in every_one if 2 * item.cells >= most]
    same = [item for item in every_one if wanted and not list_differences(item, wanted)]
    found = whole if any(item in whole for item in same) else [*whole, *same]
    every = {
        name: sorted(versions.parse(item.packages[name]) for item in found if name in item.packages) for name in _RANK
    }
    return min(found, key=lambda item: _environment_distance(item, wanted, every), default=None)


def _environment_distance(
    item: Installed, wanted: Mapping[str, str], every: Mapping[str, list[Version]]
) -> tuple[tuple[int, ...], bool, str]:
    apart = tuple(_version_distance(item.packages.get(name), wanted.get(name), every[name]) for name in _RANK)
    return apart, item.profile != NEWEST, item.profile


def _version_distance(measured: str | None, wanted: str | None, known: list[Version]) -> int:
    """How many measured versions lie between two, and whether they are the same; a missing one is further than all."""
    if wanted is None:
        return 0
    if measured is None:
        return 2 * len(known) + 2
    bounds = sorted((versions.parse(measured), versions.parse(wanted)))
    return 2 * len({version for version in known if bounds[0] < version < bounds[1]}) + (bounds[0] != bounds[1])


def list_differences(item: Installed, wanted: Mapping[str, str]) -> tuple[VersionDifference, ...]:
    """Return the packages that an environment has in another version than wanted, the weightiest first."""
    measured = item.packages
    return tuple(
        VersionDifference(name, wanted[name], measured.get(name, ""))
        for name in _RANK
        if name in wanted and not (name in measured and versions.parse(wanted[name]) == versions.parse(measured[name]))
    )
