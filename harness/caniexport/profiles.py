"""Profiles: the companion packages of torch in an environment. Each profile's rows are a dataset of their own.

``newest``          the newest packages that install and import with each release: the table of releases has the pins
``period``          what an installation got two weeks after the release came out
``onnxscript-0.5.6``  those of ``newest``, but for one package
``lock-1f2e3d4c``   those that a user's lock file names
"""

from __future__ import annotations

import datetime
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caniexport import names
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.plan import is_within
from caniexport.model.releases import Release

PERIOD = "period"
#: packages whose version makes another profile: the companion packages that export, write, check or run a file
HELPERS = ("onnx", "onnxscript", "onnx-ir", "onnxruntime", "numpy", "protobuf")
#: how long after its release an installation of the period is made
_AFTER = datetime.timedelta(weeks=2)
#: Pythons of the period where that of the table had no wheels of onnx or onnxruntime yet
_PERIOD_PYTHON = {"1.4.0": "3.7", "1.5.1": "3.7", "1.6.0": "3.7", "1.11.0": "3.9"}
#: packages that had no wheel in the period, and only install as a later one
LATER = ("future",)
#: other names under which the same package is installed
_SAME = {
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "onnxruntime-gpu": "onnxruntime",
    "onnxruntime-directml": "onnxruntime",
    "onnxscript-preview": "onnxscript",
}
_SWAP = re.compile(rf"({'|'.join(sorted(HELPERS, key=len, reverse=True))})-([0-9][0-9a-z.]*)")
#: what works only with versions of its own time: onnxscript 0.5.6 exports nothing with onnx-ir 1.1
_BROUGHT = {"onnxscript": ("onnx-ir",)}
_LOCK = re.compile(r"lock-[0-9a-f]{8}")


@dataclass(frozen=True)
class EnvironmentProfile:
    """The companion packages of an environment.

    name    as commands and folders have it
    pins    requirements of a lock file; empty for the other profiles
    python  minor version that a lock file names; empty for that of the table of releases
    """

    name: str = NEWEST
    pins: tuple[str, ...] = ()
    python: str = ""

    def asks(self, release: Release, more: MorePackages | None = None) -> Wanted | None:
        """What is to be resolved for a release; ``None`` where the table of releases has the pins.

        ``more`` is what a corpus wants beside them.

        Raises :class:`UnknownName` for a lock file's profile without its pins, or of a release whose day is not known.
        """
        named = more.of(release) if more else ()
        if self.name == NEWEST:
            return Wanted(release.python, (*release.requirements, *named), more.as_of) if more and named else None
        if self.name == PERIOD:
            return _of_the_period(release, named)
        swap = _SWAP.fullmatch(self.name)
        if swap:
            return Wanted(release.python, tuple(_swapped(release, swap[1], swap[2])), lowest=True)
        if not self.pins:
            raise UnknownName(f"the packages of profile {self.name} are those of a lock file: --lock names it")
        return Wanted(self.python or release.python, (f"torch=={release.torch}", *self.pins))


@dataclass(frozen=True)
class MorePackages:
    """What a corpus wants installed beside torch and its companions: ``packages.toml`` of its folder.

    as_of  the day whose packages are the newest ones: 2026-11-29
    since  the torch releases with which each is installed: ``{"timm": ">=2.9"}``; all of them where it is empty
    """

    as_of: str = ""
    since: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> MorePackages:
        """Read the file; a corpus without one wants nothing."""
        if not path.is_file():
            return cls()
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(found["as_of"], found["packages"])

    def of(self, release: Release) -> tuple[str, ...]:
        """Those that are installed with a release."""
        return tuple(name for name, releases in self.since.items() if is_within(release.torch, releases))


#: the profile of the table of releases
NEWEST_PACKAGES = EnvironmentProfile()


@dataclass(frozen=True)
class Wanted:
    """Requirements that are to be resolved for a Python, as they were on a day (ISO; empty for today).

    ``lowest`` takes the oldest version of what is named without one: that of the time of what needs it.
    """

    python: str
    requirements: tuple[str, ...]
    as_of: str = ""
    lowest: bool = False

    @property
    def digest(self) -> str:
        """Names what was asked."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def find_profile(name: str) -> EnvironmentProfile:
    """The profile of a name; raises :class:`UnknownName` with the nearest one."""
    if name in (NEWEST, PERIOD) or _SWAP.fullmatch(name) or _LOCK.fullmatch(name):
        return EnvironmentProfile(name)
    raise UnknownName(
        f"{names.unknown_name('profile', name, (NEWEST, PERIOD))}, or a package with a version: onnxscript-0.5.6"
    )


def of_lock(pins: Iterable[str], python: str = "") -> EnvironmentProfile:
    """The profile of a lock file's pins."""
    wanted = tuple(sorted(pins))
    digest = hashlib.sha256("\n".join((python, *wanted)).encode()).hexdigest()[:8]
    return EnvironmentProfile(f"lock-{digest}", wanted, python)


def package_name(name: str) -> str:
    """The name of a package in one spelling, the same for all builds of it: ``onnxruntime`` for ``onnxruntime-gpu``."""
    from packaging.utils import canonicalize_name

    plain = str(canonicalize_name(name))
    return _SAME.get(plain, plain)


def _of_the_period(release: Release, named: Sequence[str]) -> Wanted:
    if not release.released:
        raise UnknownName(f"torch {release.torch} is not in the table of releases, which has the day of each release")
    day = datetime.date.fromisoformat(release.released) + _AFTER
    requirements = [f"torch=={release.torch}", "onnx", "onnxruntime", "numpy"]
    requirements += ["onnxscript"] if release.dynamo else ["setuptools"]
    return Wanted(_PERIOD_PYTHON.get(release.torch, release.python), (*requirements, *named), day.isoformat())


def _swapped(release: Release, package: str, version: str) -> Iterable[str]:
    """The release's requirements with one package in another version; onnxscript's brings the onnx-ir of its time."""
    for requirement in release.requirements:
        name = package_name(re.split(r"[=<>!~]", requirement)[0])
        if name not in {package, *_BROUGHT.get(package, ())}:
            yield requirement
    yield f"{package}=={version}"
    yield from _BROUGHT.get(package, ())
