"""What a user has installed: from a lock file, a list of requirements, or the environment around.

Read are uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock, requirements, conda's environment.yml,
conda-lock.yml, pixi.lock, and what ``pip freeze``, ``pip list``, ``conda list`` and torch's ``collect_env`` print. A
file tells its kind by what is in it, not by its name. Of what depends on the machine, this one's is taken.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from caniexport import home, versions
from caniexport.model.errors import UnknownName
from caniexport.names import plural, some
from caniexport.profiles import HELPERS, package_name

_TOLD = ("torch", *HELPERS)
_CONDA = re.compile(r"([\w.-]+)\s*=\s*=?\s*([0-9][^=\s*]*?)(?:\.?\*)?(?:=[^=]*)?")
#: a line of ``pip list`` and ``conda list``: a name, two blanks or more, a version
_COLUMNS = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\s{2,}|\s(?=\S+$))(\d\S*)(?:\s.*)?")
_FILE = re.compile(r"(.+?)-(\d[^-]*?)(?:-.*)?\.(?:whl|conda|tar\.bz2|tar\.gz|zip)")
_ADDRESS = re.compile(r"-e\s|(git|hg|svn|bzr)\+|https?://|file:|\.{0,2}/")
_PYTHON = re.compile(r"(\d+)\.(\d+)")
_PYTHON_OF_LINES = re.compile(
    r"(?:pip-compile with python |--python-version[ =]|^python version: )(\d+\.\d+)", re.IGNORECASE | re.MULTILINE
)
#: other files of this machine that a list of requirements refers to
_OTHERS = re.compile(r"^[ \t]*(?:- )?(?:-r|-c|--requirement|--constraint)[ =]*(?!\S*://)(\S+)", re.MULTILINE)
#: the machine that a package of conda's is for, in its address, and this one
_PLATFORM = re.compile(r"/(?:linux|osx|win)-\w+/")
_SYSTEMS = {"linux": "linux", "darwin": "osx", "win32": "win"}
_PROCESSORS = {"x86_64": "64", "amd64": "64"}
_WANTED = (
    "`pip list --format=freeze` prints every version, and the command names that of torch with the file"
    " (--torch VERSION; upgrade: --from torch=VERSION)"
)


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
        parts = [f"{name} {version}" for name, version in self.packages.items()]
        return f"{self.source}: {', '.join([*parts, *([f'Python {self.python}'] if self.python else [])])}"

    @property
    def pins(self) -> tuple[str, ...]:
        """Return requirements for the packages other than torch."""
        return tuple(f"{name}=={version}" for name, version in self.packages.items() if name != "torch")


@dataclass(frozen=True)
class _Entry:
    """A package of a file; ``version`` is empty, and ``what`` says why, where none is named.

    It is installed where one of the ``markers`` holds, or there is none.
    """

    name: str
    version: str
    what: str = ""
    markers: tuple[str, ...] = ()

    @property
    def public(self) -> str:
        """The version without its local part; empty where it is none."""
        try:
            return Version(self.version).public
        except InvalidVersion:
            return ""

    @property
    def problem(self) -> str:
        """Return why there is no version."""
        return self.what or f"{self.name} {self.version} is no version"

    def holds(self, python: str) -> bool:
        """Whether it is installed on this machine, with this minor version of Python, or the tool's own without one."""
        own = {"python_version": python, "python_full_version": f"{python}.0"} if python else {}
        return not self.markers or any(_holds(marker, own) for marker in self.markers)


def _holds(marker: str, environment: Mapping[str, str]) -> bool:
    try:
        return Marker(marker).evaluate({**environment})
    except (InvalidMarker, UndefinedEnvironmentName):
        return True


def read_lock(path: Path, torch: str = "") -> LockedInstall:
    """Read a lock file; ``torch`` stands for the version that it names.

    Raises :class:`UnknownName` for a file that is no lock file, or that names no single version where none is given.
    """
    try:
        text = home.read_list(path).replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnknownName(f"{path}: cannot be read ({error})") from error
    entries, python = _entries(path.name, text)
    others = list(dict.fromkeys(_OTHERS.findall(text)))
    notes = [f"{path.name} refers to {some(others, 3)}, not read"] if others else []
    if not entries:
        none = "; ".join(["no package was found in it", *notes])
        raise UnknownName(f"{path}: no lock file: {none} (`pip list --format=freeze > FILE` writes one)")
    return _install(f"{path.name} ({plural(len(entries), 'package')})", entries, python, torch, notes)


def read_here(torch: str = "") -> LockedInstall:
    """What is installed in the active environment: the one that VIRTUAL_ENV or CONDA_PREFIX names, else this Python's.

    ``torch`` stands for the version that is. Raises :class:`UnknownName` where torch is not, and none is given.
    """
    above = next((Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)), None)
    if above is None or above.resolve() == Path(sys.prefix).resolve():
        return read_running(torch)
    folders = sorted(above.glob("lib/python3*/site-packages")) or sorted(above.glob("Lib/site-packages"))
    python = folders[0].parent.name.removeprefix("python") if folders else ""
    return _of_distributions(metadata.distributions(path=[*map(str, folders)]), python, str(above), torch)


def read_running(torch: str = "") -> LockedInstall:
    """What this very process imports; ``torch`` and errors as in :func:`read_here`."""
    python = ".".join(map(str, sys.version_info[:2]))
    return _of_distributions(metadata.distributions(), python, sys.prefix, torch)


def _of_distributions(found: Iterable[metadata.Distribution], python: str, where: str, torch: str) -> LockedInstall:
    entries = [_Entry(item.metadata["Name"], item.version) for item in found if item.metadata["Name"]]
    return _install(f"the environment {where} ({plural(len(entries), 'package')})", entries, python, torch)


def _install(
    source: str, entries: Iterable[_Entry], python: str, torch: str = "", notes: Iterable[str] = ()
) -> LockedInstall:
    found: dict[str, list[_Entry]] = defaultdict(list)
    for entry in entries:
        found[package_name(entry.name)].append(entry)
    if torch:
        found["torch"] = [_Entry("torch", torch)]
    chosen = {name: _choose(name, found[name], python) for name in _TOLD}
    if not chosen["torch"][0]:
        parts = [chosen["torch"][1] or "no torch in it", *notes]
        raise UnknownName(f"{source}: {'; '.join(parts)}: {_WANTED}")
    packages = {name: version for name, (version, _) in chosen.items() if version}
    lines = [f"{source}: {note}{'' if version else ', not used'}" for version, note in chosen.values() if note]
    if not found["onnxscript"] and versions.parse(packages["torch"]) >= Version("2.9"):
        lines.append(f"{source}: no onnxscript in it, which torch.onnx.export needs since 2.9 (unless dynamo=False)")
    return LockedInstall(source, python, packages, (*lines, *notes))


def _choose(name: str, entries: list[_Entry], python: str) -> tuple[str, str]:
    """The one version of a package on this machine, empty where none is; and a note on it."""
    where = f"Python {python or '.'.join(map(str, sys.version_info[:2]))} on {sys.platform}"
    mine = [entry for entry in entries if entry.holds(python)]
    # torch for another machine can be answered just as well
    used = mine if mine or name != "torch" else entries
    named = list(dict.fromkeys(entry.public for entry in used if entry.public))
    if len(named) > 1:
        return "", f"{name} in {len(named)} versions ({_every(used)})"
    if not named:
        return "", used[0].problem if used else f"{name} not for {where}" if entries else ""
    others = _every(entry for entry in entries if not mine or entry.public != named[0])
    return named[0], f"{name} {others} not for {where}" if others else ""


def _every(entries: Iterable[_Entry]) -> str:
    return ", ".join(versions.ordered(entry.version for entry in entries if entry.public))


def _entries(name: str, text: str) -> tuple[list[_Entry], str]:
    """The packages of a text and the Python that it names."""
    stripped = text.lstrip()
    if stripped.startswith(("{", "[{")):
        return _of_json(name, stripped)
    if re.search(r"^\[\[packages?\]\]", text, re.MULTILINE):
        return _of_toml(name, text)
    if re.search(r"^(dependencies|package|packages):\s*$", text, re.MULTILINE):
        return _of_yaml(name, text)
    found = [entry for line in re.sub(r"\\\n", " ", text).splitlines() for entry in _of_line(line)]
    python = _PYTHON_OF_LINES.search(text)
    return found, python[1] if python else _python_of(found)


def _of_json(name: str, text: str) -> tuple[list[_Entry], str]:
    """Pipfile.lock, and what ``pip list`` and ``conda list`` print as JSON."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnknownName(f"{name}: no JSON ({error})") from error
    if isinstance(data, list):
        found = [_of_table(item) for item in data if isinstance(item, dict) and item.get("name")]
        return found, _python_of(found)
    sections = [data.get(section) for section in ("default", "develop")]
    items = [pair for part in sections if isinstance(part, dict) for pair in part.items()]
    found = [_of_table({"name": key, **item}) for key, item in items if isinstance(item, dict)]
    python = re.search(r'"python_(?:full_)?version":\s*"(\d+\.\d+)', text)
    return found, python[1] if python else ""


def _of_toml(name: str, text: str) -> tuple[list[_Entry], str]:
    """uv.lock, poetry.lock, pdm.lock, pylock.toml."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnknownName(f"{name}: no TOML ({error})") from error
    packages = data.get("package") or data.get("packages") or []
    found = [_of_table(item) for item in packages if isinstance(item, dict) and item.get("name")]
    poetry = data.get("metadata")
    python = data.get("requires-python") or (poetry.get("python-versions") if isinstance(poetry, dict) else "")
    return found, _exact_minor(str(python or ""))


def _of_table(item: Mapping[str, Any]) -> _Entry:
    """A package of a TOML or JSON file."""
    name, version, source = str(item["name"]), str(item.get("version", "")).lstrip("="), item.get("source")
    git = "vcs" in item or "git" in item or (isinstance(source, dict) and "git" in (*source, source.get("type")))
    markers = item.get("resolution-markers") or [item.get("marker") or item.get("markers")]
    kept = tuple(marker for marker in markers if isinstance(marker, str))
    return _Entry(name, "" if git else version, f"{name} {'is a git dependency' if git else 'has no version'}", kept)


def _of_yaml(name: str, text: str) -> tuple[list[_Entry], str]:
    """environment.yml, conda-lock.yml, pixi.lock."""
    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        # the error's own text quotes the file, in which a password may stand
        mark = getattr(error, "problem_mark", None)
        raise UnknownName(f"{name}: no YAML{f' (line {mark.line + 1})' if mark else ''}") from None
    if not isinstance(data, dict):
        return [], ""
    locked = data.get("package") or data.get("packages")
    tables = [item for item in locked if isinstance(item, dict)] if isinstance(locked, list) else None
    found = list(_of_conda(data.get("dependencies") or []) if tables is None else _of_locked(tables))
    return found, _python_of(found)


def _of_locked(items: Sequence[Mapping[str, Any]]) -> Iterator[_Entry]:
    """The packages of conda-lock.yml and pixi.lock for this machine, or for any where none is for it.

    The newest form of the second names them by their address alone.
    """
    processor = platform.machine().lower()
    here = f"/{_SYSTEMS.get(sys.platform)}-{_PROCESSORS.get(processor, processor)}/"
    tables = [(f"/{item.get('platform')}/{item.get('conda') or item.get('url')}", item) for item in items]
    has_mine = any(here in place for place, _ in tables)
    for place, item in tables:
        if here in place or not has_mine or not _PLATFORM.search(place):
            yield _of_table(item) if item.get("name") else _of_address(str(item.get("conda", "")))


def _of_conda(dependencies: Iterable[Any]) -> Iterator[_Entry]:
    for item in dependencies:
        if isinstance(item, dict):
            yield from (entry for line in item.get("pip") or [] for entry in _of_line(str(line)))
        elif isinstance(item, str):
            plain = item.rpartition("::")[2].strip()
            match = _CONDA.fullmatch(plain)
            name = re.split(r"[\s=<>!~\[]", plain, maxsplit=1)[0]
            yield _Entry(match[1], match[2]) if match else _Entry(name, "", f"{plain} names no one version")


def _of_line(line: str) -> Iterator[_Entry]:
    """The package of a line, if it names one; options, comments and other files name none."""
    plain = re.sub(r"(^|\s)#.*$", "", line)
    plain = re.split(r"\s--(?:hash|config-settings|global-option)\b", plain)[0].strip()
    # so does torch's collect_env mark what it lists
    plain = re.sub(r"^\[(?:pip3?|conda)\]\s*", "", plain)
    if not plain or plain.startswith(("-r", "--", "-c", "-i", "-f", "@")):
        return
    built = re.fullmatch(r"([\w.-]+)=([0-9][^=\s]*)=[^=\s]+", plain) or _COLUMNS.fullmatch(plain)
    if built:
        yield _Entry(built[1], built[2])
    elif _ADDRESS.match(plain) or "#egg=" in line:
        yield _of_address(line.strip())
    else:
        yield from _of_requirement(plain)


def _of_address(address: str, name: str = "") -> _Entry:
    """The package of a file or a repository. Notes never show the address: it may hold a password."""
    egg = re.search(r"#egg=([A-Za-z0-9_.-]+)", address)
    file = unquote(re.split(r"[\s?#]", address.removeprefix("-e").strip())[0].rstrip("/")).rpartition("/")[2]
    built = _FILE.fullmatch(file)
    if built:
        return _Entry(name or built[1], built[2])
    name = name or (egg[1] if egg else file.partition("@")[0].removesuffix(".git"))
    return _Entry(name, "", f"{name} is not from an index")


def _of_requirement(text: str) -> Iterator[_Entry]:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return
    markers = (str(wanted.marker),) if wanted.marker else ()
    if wanted.url:
        yield replace(_of_address(wanted.url, wanted.name), markers=markers)
        return
    pins = [item.version for item in wanted.specifier if item.operator in ("==", "===") and "*" not in item.version]
    asked = f"{wanted.name}{wanted.specifier} names no one version"
    yield _Entry(wanted.name, pins[0] if len(pins) == 1 else "", asked, markers)


def _python_of(entries: Iterable[_Entry]) -> str:
    """The minor version of the package python, where there is one only."""
    found = {_minor(entry.version) for entry in entries if entry.name == "python"}
    return found.pop() if len(found) == 1 else ""


def _exact_minor(text: str) -> str:
    """The minor version, where a range takes one only."""
    return _minor(text) if re.fullmatch(r"\s*[=~^]*=?\s*\d+\.\d+(\.\S+)?\s*", text) else ""


def _minor(text: str) -> str:
    found = _PYTHON.search(text)
    return f"{found[1]}.{found[2]}" if found else ""
