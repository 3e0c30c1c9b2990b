"""The torch releases that a project asks for, from the files in which projects say so."""

from __future__ import annotations

import ast
import configparser
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from caniexport import versions
from caniexport.locks import read_lock
from caniexport.model.errors import UnknownName
from caniexport.scan.files import Unreadable, content

#: what installs torch where no requirement asks for a release of it
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
#: folders above the tree that may have the project's files
_UP = 3
#: what a file that is no such file can end in
_UNREADABLE = (
    Unreadable, OSError, ValueError, SyntaxError, configparser.Error, AttributeError, TypeError, RecursionError,
    MemoryError,
)  # fmt: skip
_CARET = re.compile(r"^\^(\d+)(\.\d+)*$")


@dataclass(frozen=True)
class Pins:
    """What a project asks of torch.

    torch     the measured releases that it accepts, oldest first
    text      the requirements, and the files that they are in
    problems  files that cannot be read, with the reason
    """

    torch: tuple[str, ...]
    text: str
    problems: tuple[str, ...] = ()


def read(root: Path, measured: Sequence[str]) -> Pins:
    """Return what the files of the project at ``root`` ask of torch; else the newest of the ``measured`` releases."""
    problems: list[str] = []
    for folder in _folders(root):
        found = list(_requirements(folder, problems)) or list(_locked(folder, measured, problems))
        if found:
            return _resolved(found, measured, tuple(problems))
    return Pins(tuple(measured[-1:]), "the newest measured: the project names no torch", tuple(problems))


def _folders(root: Path) -> list[Path]:
    here = (root if root.is_dir() else root.parent).resolve()
    found = [here]
    while len(found) <= _UP and not (found[-1] / ".git").exists() and found[-1] != found[-1].parent:
        found.append(found[-1].parent)
    return found


def _resolved(found: Sequence[tuple[str, Requirement]], measured: Sequence[str], problems: tuple[str, ...]) -> Pins:
    """What every requirement allows; those of an extra or of some platforms count where there are no others."""
    general = [item for item in found if item[1].marker is None] or list(found)
    wanted = SpecifierSet()
    for _, requirement in general:
        wanted &= requirement.specifier
    text = ", ".join(dict.fromkeys(f"torch{requirement.specifier} ({file})" for file, requirement in general))
    taken = tuple(torch for torch in measured if versions.within(torch, str(wanted)))
    if not taken:
        text = f"the newest measured: no measured release is within {text}"
    return Pins(taken or tuple(measured[-1:]), text, problems)


def _requirements(folder: Path, problems: list[str]) -> Iterator[tuple[str, Requirement]]:
    for path in _files(folder):
        try:
            texts = list(_texts(path))
        except _UNREADABLE as error:
            problems.append(f"{path.name}: {error if isinstance(error, Unreadable) else type(error).__name__}")
            continue
        for text in texts:
            requirement = _torch(text)
            if requirement is not None:
                yield path.name if not path.parent.name.endswith("-info") else path.parent.name, requirement


def _locked(folder: Path, measured: Sequence[str], problems: list[str]) -> Iterator[tuple[str, Requirement]]:
    """What the first lock file with torch installs; another patch release of the series where it was not measured."""
    for path in (folder / name for name in _LOCKS):
        if not path.is_file():
            continue
        try:
            torch = read_lock(path).packages["torch"]
        except UnknownName as error:
            if "no torch in it" not in str(error):
                problems.append(str(error).removeprefix(f"{folder}{os.sep}"))
            continue
        series = ".".join(torch.split(".")[:2])
        yield path.name, Requirement(f"torch=={torch}" if torch in measured else f"torch=={series}.*")
        return


def _files(folder: Path) -> Iterator[Path]:
    names = ["pyproject.toml", "setup.cfg", "setup.py", "requirements*.txt", "requirements/*.txt", "*-info/METADATA"]
    for name in names:
        yield from sorted(path for path in folder.glob(name) if not path.is_dir())


def _texts(path: Path) -> Iterable[str]:
    """Everything in a file that may be a requirement."""
    text = content(path).decode("utf-8")
    if path.name == "pyproject.toml":
        return _of_toml(tomllib.loads(text))
    if path.name == "setup.cfg":
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(text)
        return [line for section in parser.values() for value in section.values() for line in value.splitlines()]
    if path.name == "setup.py":
        nodes = ast.walk(ast.parse(text))
        return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if path.name == "METADATA":
        return [line.partition(":")[2] for line in text.splitlines() if line.startswith("Requires-Dist:")]
    return [line.split(" #")[0] for line in text.splitlines()]


def _of_toml(data: dict[str, Any]) -> Iterator[str]:
    project = data.get("project", {})
    yield from (text for text in project.get("dependencies", []) if isinstance(text, str))
    for extra, listed in project.get("optional-dependencies", {}).items():
        yield from (f'{text.partition(";")[0]}; extra == "{extra}"' for text in listed if isinstance(text, str))
    asked = data.get("tool", {}).get("poetry", {}).get("dependencies", {}).get("torch")
    asked = asked.get("version") if isinstance(asked, dict) else asked
    if isinstance(asked, str):
        caret = _CARET.match(asked)
        exact = asked if asked[:1] in "<>=!~" else f"=={asked}"
        yield f"torch>={asked[1:]},<{int(caret[1]) + 1}" if caret else f"torch{exact}"


def _torch(text: str) -> Requirement | None:
    text = text.strip()
    if not re.match(r"torch\b(?![\w.-]*[\w])|torch\s*[\[<>=!~;]|torch$", text):
        return None
    try:
        requirement = Requirement(text)
        SpecifierSet(str(requirement.specifier))
    except (InvalidRequirement, InvalidSpecifier):
        return None
    return requirement if requirement.name == "torch" and requirement.specifier else None
