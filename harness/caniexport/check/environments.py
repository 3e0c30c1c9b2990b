"""The Python that measures a release: the user's own if it has that torch, else one that tox installs once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from caniexport import versions
from caniexport.check.target import UnusableModel
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.machine.turns import wait_for_turn
from caniexport.measure.tox_calls import make_environment, read_failure
from caniexport.model import releases
from caniexport.model.releases import Release, make_environment_name
from caniexport.store import summary

_PROVIDER = "cpu"
#: what a Python must import to measure, and by which name it is installed
_NEEDED = ("torch", "onnx", "onnxruntime", "numpy")
_PROBE = """
import json, sys
from importlib import metadata, util
missing = [name for name in sys.argv[1:] if util.find_spec(name) is None]
print(json.dumps({"missing": missing, "torch": None if "torch" in missing else metadata.version("torch")}))
"""


class InstallationFailed(Exception):
    """The environment cannot be installed; the message has the reason."""


@dataclass(frozen=True)
class Environment:
    """A Python that measures a release; ``is_own``: the user's, with the packages that are in it."""

    python: Path
    release: Release
    is_own: bool = False


def find_own_environment(cwd: Path, say: Callable[[str], None]) -> Environment | None:
    """The Python that a user works with, if it has the packages to measure: the activated environment's, the one of
    ``.venv`` in the working directory, or this one. ``None`` if none has a torch.
    """
    for python in dict.fromkeys(_pythons(cwd)):
        found = _probe(python)
        torch = found.get("torch")
        if not torch:
            continue
        missing = found["missing"]
        if not missing:
            return Environment(python, _like(str(torch)), is_own=True)
        say(f"{python} has torch {torch}, but lacks {', '.join(missing)}: install it to measure there")
    return None


def _pythons(cwd: Path) -> Iterator[Path]:
    folders = [os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX"), str(cwd / ".venv")]
    yield from (Path(folder) / "bin" / "python" for folder in folders if folder)
    yield Path(sys.executable)


@cache
def _probe(python: Path) -> Mapping[str, Any]:
    line = [str(python), "-c", _PROBE, *_NEEDED]
    try:
        reply = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
        found: Mapping[str, Any] = json.loads(reply.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):  # not there, too old, or broken
        return {}
    return found


def _like(torch: str) -> Release:
    """A torch that is installed, with the exporters and opsets of the newest release of the table that is not newer."""
    public = versions.public(torch)
    older = [item for item in releases.read_table() if versions.parse(item.torch) <= versions.parse(public)]
    return (older or releases.read_table())[-1 if older else 0]._replace(torch=public)


def fit_release(release: Release, packages: Sequence[str]) -> Release:
    """A release of the table with further packages, on a Python that this machine has."""
    wanted = add_packages(release, packages)
    return interpreters.find_fitting(wanted) or wanted


def make_environment_for(
    release: Release, packages: Sequence[str], home: Home, say: Callable[[str], None]
) -> Environment:
    """The environment of a release, installed by tox if it is missing. Those that ``measure`` has made in a checkout
    are reused; an installed package has them in the user's cache folder.

    Raises :class:`InstallationFailed`.
    """
    if interpreters.find_python(release.python) is None:
        why = f"uv could not download it ({interpreters.explain_missing(release.python)})"
        raise InstallationFailed(f"needs Python {release.python}: none found, {why}")
    home = replace(home, root=find_environments_root(home, packages), own_results=None)
    folder, name = home.environments, make_environment_name(release.torch, "newest", _PROVIDER)
    log = folder / f"{name}.log"
    with wait_for_turn(folder, name, say):
        if not (folder / name).is_dir():
            say(f"torch {release.torch}: installing its environment into {folder}, once (up to 6 GB)")
        if make_environment(home, name, log, release):
            raise InstallationFailed(f"could not be installed: {read_failure(log).splitlines()[0]}")
    return Environment(folder / name / "bin" / "python", release)


def find_environments_root(home: Home, packages: Sequence[str]) -> Path:
    """The folder that has the environments, below ``.tox``; those with further packages have one of their own."""
    cache_folder = summary.cache_folder()
    root = home.root if home.own_results is None or cache_folder is None else cache_folder / "check"
    if not packages:
        return root
    digest = hashlib.sha256(" ".join(sorted(packages)).encode("utf-8")).hexdigest()[:6]
    return root / ".tox" / f"with-{digest}"


def add_packages(release: Release, packages: Sequence[str]) -> Release:
    """The release with further requirements, which replace its pins of the same packages."""
    named = {canonicalize_name(requirement(text).name) for text in packages}
    if "torch" in named:
        raise UnusableModel("--with torch: use --release to choose the torch release")
    pins = [pin for pin in release.pins if canonicalize_name(requirement(pin).name) not in named]
    return release._replace(pins=(*pins, *packages))


def requirement(text: str) -> Requirement:
    """A requirement as pip writes it. Raises :class:`UnusableModel`."""
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise UnusableModel(f"--with {text!r}: not a requirement such as torchvision or timm==1.0.9") from error
