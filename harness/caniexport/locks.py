"""What a user has installed: from a lock file, a list of requirements, or the environment around.

Read are uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock, requirements and ``pip freeze``, conda's
environment.yml, conda-lock.yml and ``conda list --export``. A file tells its kind by what is in it, not by its name.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from packaging.markers import InvalidMarker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from caniexport import home, versions
from caniexport.model.errors import UnknownName
from caniexport.profiles import HELPERS

#: other names under which the same package is installed
_SAME = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "onnxruntime-gpu": "onnxruntime"}
_TOLD = ("torch", *HELPERS)
_CONDA = re.compile(r"([A-Za-z0-9_.-]+)\s*=\s*=?\s*([0-9][^=\s*]*)(?:=[^=]*)?")
_PYTHON = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class LockedInstall:
    """What a lock file installs: versions by package, without local parts.

    source    what was read, for a person: ``uv.lock (212 packages)``
    python    minor version; empty where none is named
    packages  torch and :data:`~caniexport.profiles.HELPERS`, as far as they are named with one version
    notes     what was read and not used, a line each
    """

    source: str
    python: str
    packages: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """``uv.lock (212 packages): torch 2.9.1, onnxscript 0.5.6, Python 3.12``."""
        said = [f"{name} {version}" for name, version in self.packages.items()]
        return f"{self.source}: {', '.join([*said, *([f'Python {self.python}'] if self.python else [])])}"

    @property
    def point(self) -> dict[str, str]:
        """The point of the measured space, for :class:`caniexport.answers.points.Places`."""
        return dict(self.packages)

    @property
    def pins(self) -> tuple[str, ...]:
        """Requirements for what is installed beside torch."""
        return tuple(f"{name}=={version}" for name, version in self.packages.items() if name != "torch")


@dataclass(frozen=True)
class _Entry:
    """A package of a file; ``version`` is empty, and ``what`` says why, where none is named."""

    name: str
    version: str
    what: str = ""


def read_lock(path: Path) -> LockedInstall:
    """Read a lock file. Raises :class:`UnknownName` for one that is none, or that names no single version of torch."""
    try:
        text = home.read_list(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UnknownName(f"{path}: cannot be read ({error})") from error
    entries, python = _entries(path.name, text)
    if not entries:
        raise UnknownName(f"{path}: no lock file and no list of requirements: no package was found in it")
    return _install(f"{path.name} ({len(entries)} packages)", entries, python)


def read_here() -> LockedInstall:
    """What is installed in the active environment: the one that VIRTUAL_ENV or CONDA_PREFIX names, else this Python's.

    Raises :class:`UnknownName` where torch is not.
    """
    above = next((Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)), None)
    if above is None or above.resolve() == Path(sys.prefix).resolve():
        found, python, where = metadata.distributions(), ".".join(map(str, sys.version_info[:2])), sys.prefix
    else:
        folders = sorted(above.glob("lib/python3*/site-packages")) or sorted(above.glob("Lib/site-packages"))
        found = metadata.distributions(path=[str(folder) for folder in folders])
        python, where = (folders[0].parent.name.removeprefix("python") if folders else ""), str(above)
    entries = [_Entry(item.metadata["Name"], item.version) for item in found if item.metadata["Name"]]
    return _install(f"the environment {where} ({len(entries)} packages)", entries, python)


def _install(source: str, entries: Iterable[_Entry], python: str) -> LockedInstall:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    notes = []
    for entry in entries:
        plain = str(canonicalize_name(entry.name))
        name = _SAME.get(plain, plain)
        if name not in _TOLD:
            continue
        version = _public(entry.version)
        if version:
            found[name][version] = None
        else:
            notes.append(f"{source}: {entry.what or f'{entry.name} {entry.version} is no version'}; not used")
    packages = {}
    for name in _TOLD:
        if len(found[name]) == 1:
            packages[name] = next(iter(found[name]))
        elif found[name]:
            said = f"{source}: {name} in {len(found[name])} versions ({', '.join(versions.ordered(found[name]))})"
            if name == "torch":
                raise UnknownName(f"{said}: --from torch=VERSION takes one")
            notes.append(f"{said}; not used")
    if "torch" not in packages:
        why = next((note for note in notes if ": torch" in note), f"{source}: no torch in it")
        raise UnknownName(f"{why.removesuffix('; not used')}: a lock file that names torch==VERSION is wanted")
    return LockedInstall(source, python, packages, tuple(dict.fromkeys(notes)))


def _public(version: str) -> str:
    try:
        return Version(version).public
    except InvalidVersion:
        return ""


def _entries(name: str, text: str) -> tuple[list[_Entry], str]:
    """The packages of a text and the Python that it names."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("{"):
        return _of_json(name, stripped)
    if re.search(r"^\[\[packages?\]\]", text, re.MULTILINE):
        return _of_toml(name, text)
    if re.search(r"^(dependencies|package|packages):\s*$", text, re.MULTILINE):
        return _of_yaml(name, text)
    return list(_of_lines(text)), _python_of_lines(text)


def _of_json(name: str, text: str) -> tuple[list[_Entry], str]:
    """Pipfile.lock."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UnknownName(f"{name}: no JSON ({error})") from error
    sections = [data.get(section) for section in ("default", "develop")] if isinstance(data, dict) else []
    items = [pair for section in sections if isinstance(section, dict) for pair in section.items()]
    found = [_Entry(key, str(item.get("version", "")).lstrip("="), f"{key} has no version") for key, item in items]
    wanted = data.get("_meta", {}).get("requires", {}) if isinstance(data, dict) else {}
    return found, _minor(str(wanted.get("python_version", "")))


def _of_toml(name: str, text: str) -> tuple[list[_Entry], str]:
    """uv.lock, poetry.lock, pdm.lock, pylock.toml."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnknownName(f"{name}: no TOML ({error})") from error
    packages = data.get("package") or data.get("packages") or []
    found = [_of_table(item) for item in packages if isinstance(item, dict) and item.get("name")]
    poetry = data.get("metadata")
    python = data.get("requires-python") or (poetry.get("python-versions") if isinstance(poetry, dict) else "")
    return found, _exact_minor(str(python or ""))


def _of_table(item: Mapping[str, Any]) -> _Entry:
    name, version, source = str(item["name"]), str(item.get("version", "")), item.get("source")
    git = isinstance(source, dict) and (source.get("git") or source.get("type") == "git")
    what = f"{name} is a git dependency" if git or "vcs" in item else f"{name} has no version"
    return _Entry(name, "" if git or "vcs" in item else version, what)


def _of_yaml(name: str, text: str) -> tuple[list[_Entry], str]:
    """environment.yml, conda-lock.yml."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnknownName(f"{name}: no YAML ({' '.join(str(error).split())})") from error
    if not isinstance(data, dict):
        return [], ""
    locked = data.get("package") or data.get("packages")
    if isinstance(locked, list):
        tables = [item for item in locked if isinstance(item, dict) and item.get("name")]
        found = [_Entry(str(item["name"]), str(item.get("version", ""))) for item in tables]
    else:
        found = list(_of_conda(data.get("dependencies") or []))
    python = next((entry.version for entry in found if entry.name == "python"), "")
    return found, _minor(python)


def _of_conda(dependencies: Iterable[Any]) -> Iterator[_Entry]:
    for item in dependencies:
        if isinstance(item, dict):
            yield from (entry for line in item.get("pip") or [] for entry in _of_line(str(line)))
        elif isinstance(item, str):
            plain = item.rpartition("::")[2]
            match = _CONDA.fullmatch(plain.strip())
            name = re.split(r"[\s=<>!~\[]", plain, maxsplit=1)[0]
            yield _Entry(match[1], match[2]) if match else _Entry(name, "", f"{item} names no one version")


def _of_lines(text: str) -> Iterator[_Entry]:
    """requirements.txt, pip freeze, conda list --export."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        yield from _of_line(line)


def _of_line(line: str) -> Iterator[_Entry]:
    """The package of a line, if it names one; options, comments and other files name none."""
    plain = re.sub(r"(^|\s)#.*$", "", line).strip()
    plain = re.split(r"\s--(?:hash|config-settings|global-option)\b", plain)[0].strip()
    if not plain or plain.startswith(("-r", "--", "-c", "-i", "-f", "@")):
        return
    conda = re.fullmatch(r"([A-Za-z0-9_.-]+)=([0-9][^=\s]*)=[^=\s]+", plain)
    if conda:
        yield _Entry(conda[1], conda[2])
        return
    egg = re.search(r"#egg=([A-Za-z0-9_.-]+)", line)
    if plain.startswith("-e") or egg or re.match(r"(git|hg|svn|bzr)\+|https?://|file:|\.{0,2}/", plain):
        name = egg[1] if egg else re.split(r"[/@#?]", plain.rstrip("/").removesuffix(".git"))[-1]
        wheel = re.search(r"([A-Za-z0-9_.]+)-([0-9][^-]*)-[^/]*\.whl", plain)
        yield _Entry(wheel[1], wheel[2]) if wheel else _Entry(name, "", f"{name} is not from an index ({plain})")
        return
    yield from _of_requirement(plain)


def _of_requirement(text: str) -> Iterator[_Entry]:
    try:
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate():
            return
    except (InvalidRequirement, InvalidMarker, UndefinedEnvironmentName):
        return
    if wanted.url:
        wheel = re.search(r"-([0-9][^-]*)-[^/]*\.whl", wanted.url)
        yield _Entry(wanted.name, wheel[1] if wheel else "", f"{wanted.name} is not from an index ({wanted.url})")
        return
    pins = [item.version for item in wanted.specifier if item.operator in ("==", "===") and "*" not in item.version]
    yield _Entry(wanted.name, pins[0] if len(pins) == 1 else "", f"{text} names no one version")


def _python_of_lines(text: str) -> str:
    """The Python that a compiled list of requirements says it is for."""
    found = re.search(r"python(?:-version)?[ =]+(\d+\.\d+)", text[:2000], re.IGNORECASE)
    return found[1] if found else ""


def _exact_minor(text: str) -> str:
    """The minor version, where a range takes one only."""
    return _minor(text) if re.fullmatch(r"\s*[=~^]*=?\s*\d+\.\d+(\.\S+)?\s*", text) else ""


def _minor(text: str) -> str:
    found = _PYTHON.search(text)
    return f"{found[1]}.{found[2]}" if found else ""
