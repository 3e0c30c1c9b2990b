"""Settings of a project: ``[tool.caniexport]`` of its pyproject.toml."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport import names, versions
from caniexport.home import read_list
from caniexport.model.errors import UnknownName

FILE, TABLE = "pyproject.toml", "tool.caniexport"
#: keys of the table, and what each takes
KEYS = {
    "torch": 'a version ("2.9") or a range (">=2.4,<2.10")',
    "opset": "a number",
    "exporter": '"trace", "script" or "dynamo"',
    "runtime": '"onnxruntime==1.23"',
}


@dataclass(frozen=True)
class ProjectSettings:
    """Settings of a project, as text, empty where none is set; ``source`` names the file."""

    torch: str = ""
    opset: str = ""
    exporter: str = ""
    runtime: str = ""
    source: str = ""

    def describe(self, *keys: str) -> str:
        """``torch >=2.4,<2.10, opset 17: [tool.caniexport] of pyproject.toml``; empty where none of them is set."""
        parts = [f"{key} {getattr(self, key)}" for key in KEYS if key in keys and getattr(self, key)]
        return f"{', '.join(parts)}: [{TABLE}] of {self.source}" if parts else ""


def read_settings(place: Path) -> ProjectSettings:
    """The settings of the project around a file or folder: of the nearest pyproject.toml that has some.

    A folder with ``.git`` ends the search. Raises :class:`UnknownName` for a key or a value that means nothing; a file
    that is no TOML says nothing here.
    """
    for folder in _folders(place):
        table = _table(folder / FILE)
        if table is not None:
            return _read(table, folder / FILE)
    return ProjectSettings()


def _folders(place: Path) -> Iterator[Path]:
    here = place.resolve()
    for folder in (here, *here.parents):
        yield folder
        with contextlib.suppress(OSError):  # a name that is too long to be one
            if (folder / ".git").exists():
                return


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        found = tomllib.loads(read_list(path)).get("tool", {}).get("caniexport")
    except (OSError, ValueError, AttributeError, RecursionError):  # nested brackets end Python's own parser
        return None
    return found if isinstance(found, dict) else None


def _read(table: Mapping[str, Any], path: Path) -> ProjectSettings:
    here = Path.cwd()
    source = str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
    values = {names.require(f"key of [{TABLE}] in {source}", key, KEYS): value for key, value in table.items()}
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, str | int) or (isinstance(value, int) != (key == "opset")):
            raise UnknownName(f"[{TABLE}] in {source}: {key} = {value!r}: {KEYS[key]} is wanted")
    found = ProjectSettings(**{key: str(value) for key, value in values.items()}, source=source)
    if versions.is_range(found.torch):
        versions.within("1", found.torch)
    elif found.torch:
        versions.parse(found.torch)
    return found
