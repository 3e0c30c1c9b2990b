"""Versions of the published dataset, and the package ``caniexport-data`` that carries it where there is no checkout.

A version is the day on which rows were published, ``2026.11.23``, and ``2026.11.23.1`` the second time on one day. It
lies with the rows in ``VERSION``, with the number of the row contract that they are written under.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from caniexport.model.errors import CaniexportError
from caniexport.model.rows import SCHEMA_VERSION

NAME = "VERSION"
PACKAGE = "caniexport-data"
_TEXT = re.compile(r"(\d+\.\d+\.\d+)(?:\.(\d+))? of row contract (\d+)\s*")


@dataclass(frozen=True)
class DataVersion:
    """A version of the published dataset: the day of publishing, the number within that day, the row contract."""

    day: str
    again: int = 0
    contract: int = SCHEMA_VERSION

    def __str__(self) -> str:
        return f"{self.day}.{self.again}" if self.again else self.day

    def next(self, today: date) -> DataVersion:
        """The version of what is published ``today``, after this one."""
        day = f"{today.year}.{today.month}.{today.day}"
        return DataVersion(day, self.again + 1 if day == self.day else 0)


def read_version(results: Path) -> DataVersion | None:
    """The version of the dataset in a folder; ``None`` where it names none."""
    try:
        found = _TEXT.fullmatch((results / NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeError):
        return None
    return DataVersion(found[1], int(found[2] or 0), int(found[3])) if found else None


def write_next_version(results: Path, today: date) -> DataVersion:
    """Write and return the version of a dataset to which rows were published today."""
    version = (read_version(results) or DataVersion("")).next(today)
    (results / NAME).write_text(f"{version} of row contract {version.contract}\n", encoding="utf-8")
    return version


def find_package() -> Path | None:
    """The installed package: a dataset's folder, with ``cases`` in it; ``None`` where it is not installed."""
    spec = importlib.util.find_spec("caniexport_data")
    folders = map(Path, (spec.submodule_search_locations or ()) if spec else ())
    return next((folder for folder in folders if (folder / NAME).is_file()), None)


def require_package() -> Path:
    """The installed package; raises :class:`CaniexportError` where there is none, or none of this row contract."""
    folder = find_package()
    if folder is None:
        raise CaniexportError(f"no dataset is here: pip install {PACKAGE}, or ask in a checkout of caniexport")
    version = read_version(folder)
    if version is None or version.contract != SCHEMA_VERSION:
        contract = version.contract if version else "unknown"
        older = PACKAGE if version is None or version.contract < SCHEMA_VERSION else "caniexport"
        raise CaniexportError(
            f"{PACKAGE} {version} is of row contract {contract}, caniexport reads {SCHEMA_VERSION}:"
            f" pip install --upgrade {older}"
        )
    return folder
