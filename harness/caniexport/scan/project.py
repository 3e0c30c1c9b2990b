"""The opset and the exporter that a project means, and the torch releases that it asks for.

Opset and exporter are told by most of its export calls; those of its tests are left out. The releases stand in the
files in which projects say so.
"""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from caniexport import versions
from caniexport.model.status import Exporter
from caniexport.scan.files import Unreadable, content
from caniexport.scan.site import Site, SiteKind

_TEST = re.compile(r"(^|[/_])(tests?|testing|unittests?|conftest)([/_.]|$)", re.IGNORECASE)
#: folders above the tree that may have the project's files
_UP = 3
#: what a file that is no such file can end in
_UNREADABLE = (
    Unreadable,
    OSError,
    ValueError,
    SyntaxError,
    configparser.Error,
    AttributeError,
    TypeError,
    RecursionError,
    MemoryError,
)
_CARET = re.compile(r"^\^(\d+)(\.\d+)*$")


@dataclass(frozen=True)
class Meant:
    """A project's ``exporter`` and ``opset``, ``None`` for each release's own; ``notes`` say what was taken and why."""

    exporter: str | None
    opset: int | None
    notes: tuple[str, ...] = ()


def is_test(path: str) -> bool:
    """Whether a file is a test, or only for tests."""
    return bool(_TEST.search(path))


def meant(sites: Sequence[Site], asked: Meant, offered: Callable[[str | None, int], bool]) -> Meant:
    """What most export calls say where nobody asked; ``offered`` tells whether an exporter writes an opset at any of
    the releases.
    """
    calls = [site for site in sites if not is_test(site.path)]
    exporter, notes = asked.exporter, list(asked.notes)
    if exporter is None and _is_pinned(calls):
        exporter = Exporter.TRACE.value
        notes.append(
            "dynamo=False is in most export calls, so the TorchScript exporter is meant (--exporter takes another)"
        )
    opset = asked.opset
    if opset is None:
        counts = Counter(int(site.name) for site in calls if site.kind is SiteKind.OPSET)
        opset, note = _most(counts, exporter, offered)
        notes += [note] if note else []
    return Meant(exporter, opset, tuple(notes))


def _is_pinned(calls: Sequence[Site]) -> bool:
    pinned = sum(site.kind is SiteKind.DYNAMO for site in calls)
    open_calls = sum(site.kind is SiteKind.EXPORT for site in calls)
    return pinned > open_calls


def _most(
    counts: Counter[int], exporter: str | None, offered: Callable[[str | None, int], bool]
) -> tuple[int | None, str]:
    """The opset of more than half of the calls that name one, and what is to be told of it."""
    if not counts:
        return None, ""
    whole = counts.total()
    opset, count = counts.most_common(1)[0]
    listed = ", ".join(f"{value} ({number})" for value, number in counts.most_common())
    if 2 * count <= whole:
        return None, f"export calls name several opsets, {listed}: each release's own is looked at (--opset takes one)"
    which = "the only one" if len(counts) == 1 else f"in {count} of {whole} calls"
    if not offered(exporter, opset):
        return (
            None,
            f"opset {opset}, {which} that the project names, is not written there: each release's own is looked at",
        )
    return opset, f"opset {opset} is {which} that the project names, so it is meant (--opset takes another)"


@dataclass(frozen=True)
class Pins:
    """The measured releases that the project takes, oldest first, and where that is said; ``problems`` are files that
    cannot be read.
    """

    torch: tuple[str, ...]
    said: str
    problems: tuple[str, ...] = ()


def read_pins(root: Path, measured: Sequence[str]) -> Pins:
    """What the files of the project at ``root`` ask of torch; the newest measured release where they say nothing."""
    problems: list[str] = []
    for folder in _folders(root):
        found = list(_requirements(folder, problems))
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
    said = ", ".join(dict.fromkeys(f"torch{requirement.specifier} ({file})" for file, requirement in general))
    taken = tuple(torch for torch in measured if versions.within(torch, str(wanted)))
    if not taken:
        said = f"the newest measured: no measured release is within {said}"
    return Pins(taken or tuple(measured[-1:]), said, problems)


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
