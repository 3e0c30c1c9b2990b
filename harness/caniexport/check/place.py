"""The folder that a check writes: cases, environments, rows. It belongs to the user; nothing else reads it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport.check.subject import UnusableModel
from caniexport.home import Home

#: says that a folder was made here, so that another one's files are never written over
MARK = ".caniexport-check"


@dataclass(frozen=True)
class CheckFolder:
    """A folder of checks, and the home that ``measure`` is given: its environments and rows are below that folder."""

    folder: Path
    home: Home

    @property
    def local(self) -> Path:
        """The dataset of what was measured."""
        return self.home.local


def prepare(folder: Path, home: Home, files: Mapping[str, str], *, keep: bool) -> CheckFolder:
    """Make the folder and write the case files into it, in the place of those of an earlier check.

    The rows of an earlier check are removed unless they are to be kept; its environments stay.
    Raises :class:`UnusableModel` for a folder with other things in it, one inside a dataset or the corpus, and where
    nothing can be written.
    """
    folder = folder.resolve()
    for taken in (home.published, home.local, *home.corpora):
        if folder == taken.resolve() or taken.resolve() in folder.parents:
            raise UnusableModel(f"--into {folder}: this is within {taken.name}/, which a check never writes to")
    try:
        if folder.exists() and not (folder / MARK).is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise UnusableModel(f"--into {folder}: there are other things; name a folder that is not there yet")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).touch()
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        cases = folder / "cases"
        for old in (cases, *([] if keep else [folder / "results"])):
            shutil.rmtree(old, ignore_errors=True)
        cases.mkdir()
        for name, text in files.items():
            (cases / name).write_text(text, encoding="utf-8")
        _add_canaries(home, cases)
    except OSError as error:
        raise UnusableModel(f"--into {folder}: cannot be written ({error.strerror})") from error
    return CheckFolder(folder, Home(folder, cases, folder / "none", folder / "results", home.tox_ini))


def _add_canaries(home: Home, cases: Path) -> None:
    """Every run has them: one whose canaries surprise does not speak."""
    found = [path for path in sorted(home.cases.glob("canar*.py")) if path.is_file()]
    for path in found:
        # after every file of the user's, whatever it is called
        shutil.copy(path, cases / f"zz_{path.name}")
