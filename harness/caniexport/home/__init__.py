"""Where the corpus, the published dataset, the local one and tox.ini are."""

from __future__ import annotations

import codecs
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.home.data_package import PACKAGE, find_package, require_package
from caniexport.model.errors import CaniexportError, UnknownName

if TYPE_CHECKING:
    from caniexport.model.corpus import LoadedCase

VARIABLE = "CANIEXPORT_HOME"
#: files in the root that people keep: what is expected to fail, and what became of alerts
EXPECTATIONS = "expectations.toml"
STATES = "alerts.toml"
_PACKAGE = Path(__file__).resolve().parents[1]
#: in a checkout the package lies below its folder harness/
_AROUND = _PACKAGE.parent.parent
#: the dataset of the packages in the table of releases, and the folder with those of other profiles
NEWEST, PROFILES = "newest", "profiles"
#: the corpus of the case files in ``cases``; every other one has a folder of its own in there, and in each dataset's
DOCUMENTED = "documented"
_CANARY = "canary.py"
#: bytes of the largest list or settings file that is read
LARGEST_LIST = 8 * 1024 * 1024


@dataclass(frozen=True)
class Home:
    """The places a command reads from and writes to; ``root`` is where ``measure`` runs tox.

    An installed package is never written to. The user has ``own_cases``, which are read after ``cases``, and
    ``own_results``, which ``publish`` makes and which are then ``published``. Both are ``None`` in a checkout.
    """

    root: Path
    cases: Path
    published: Path
    local: Path
    tox_ini: Path
    own_cases: Path | None = None
    own_results: Path | None = None
    #: case files of another folder that go along: the canaries
    more_cases: tuple[Path, ...] = ()

    @property
    def corpora(self) -> tuple[Path, ...]:
        """The folders and files that cases are read from."""
        own = self.own_cases
        return (self.cases, *([own] if own is not None and _has_cases(own) else []), *self.more_cases)

    def of_corpus(self, corpus: str) -> Home:
        """The places of a corpus's cases and datasets. Raises :class:`UnknownName` for one that is not there."""
        if corpus == DOCUMENTED:
            return self
        if not any((self.cases / corpus).glob("*.py")):
            raise UnknownName(f"there is no corpus {corpus}: {self.cases / corpus} has no case files")
        own = self.own_results and self.own_results / corpus
        return replace(
            self,
            cases=self.cases / corpus,
            published=self.published / corpus,
            local=self.local / corpus,
            own_cases=None,
            own_results=own,
            more_cases=(self.cases / _CANARY,),
        )

    def of(self, profile: str) -> Home:
        """Return the places of a profile's datasets."""
        if profile == NEWEST:
            return self
        folders = [self.published, self.local, *filter(None, [self.own_results])]
        below = [folder / PROFILES / profile for folder in folders]
        return replace(self, published=below[0], local=below[1], own_results=below[2] if below[2:] else None)

    @property
    def environments(self) -> Path:
        """The folder of tox's environments; with an installed package the user's project may have its own `.tox`."""
        return (self.root / "results-local" if self.own_results else self.root) / ".tox"

    @property
    def new_cases(self) -> Path:
        """The folder that a new case goes to."""
        return self.own_cases or self.cases

    def read_cases(self) -> dict[str, LoadedCase]:
        """Every case by its id, read without torch. Raises :class:`caniexport.model.errors.CorpusError`."""
        from caniexport.model import corpus

        return corpus.load(self.corpora, stand_in=True)

    def writable_results(self) -> Path:
        """The published dataset's folder, to be written to: a copy of the package's where the user has none yet."""
        if self.own_results is None or self.own_results == self.published:
            return self.published
        shutil.copytree(self.published, self.own_results, ignore=shutil.ignore_patterns("cases"))
        return self.own_results


def find(cwd: Path | None = None, environ: Mapping[str, str] | None = None) -> Home:
    """The home named by ``CANIEXPORT_HOME``, else the checkout around ``cwd``, else the one this package is in.

    Where there is none of these (a plain ``pip install``) the package ``caniexport-data`` is read, and what a user
    makes lies in ``cwd``: ``cases``, ``results``, ``results-local``. Raises :class:`UnknownName` where the variable
    names what is no home, :class:`CaniexportError` where that cannot be read, or the package is not there.
    """
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    named = environ.get(VARIABLE)
    if named:
        return _named(named)
    for folder in (cwd.resolve(), *cwd.resolve().parents, _AROUND):
        if _is_checkout(folder):
            return _checkout(folder)
    return _installed(cwd.resolve())


def _named(text: str) -> Home:
    try:
        folder = Path(text).expanduser().resolve()
        if not folder.is_dir():
            what = "a file" if folder.exists() else "not there"
            raise UnknownName(f"{VARIABLE} names {folder}, which is {what}: a folder with cases/ is wanted")
        if not (folder / "cases").is_dir():
            raise UnknownName(f"{VARIABLE} names {folder}, which has no folder cases/")
        next((folder / "cases").iterdir(), None)
    except (OSError, RuntimeError) as error:  # RuntimeError: a user nobody knows, links that lead in a circle
        raise CaniexportError(f"{VARIABLE} names {text}, which cannot be read ({error})") from error
    return _checkout(folder)


def _is_checkout(folder: Path) -> bool:
    return (folder / "tox.ini").is_file() and (folder / "cases").is_dir() and (folder / "harness").is_dir()


def _checkout(folder: Path) -> Home:
    return Home(folder, folder / "cases", folder / "results", folder / "results-local", folder / "tox.ini")


def _installed(cwd: Path) -> Home:
    data, results = require_package(), cwd / "results"
    published = results if holds_dataset(results) else data
    tox_ini = _PACKAGE / "_home" / "tox.ini"
    return Home(cwd, data / "cases", published, cwd / "results-local", tox_ini, cwd / "cases", results)


def _has_cases(folder: Path) -> bool:
    """Whether a folder has case files: a project may have a folder of this name for something else."""
    return any(b"caniexport" in path.read_bytes() for path in folder.glob("*.py"))


def holds_dataset(folder: Path) -> bool:
    """Whether a folder has rows: ``cells/*.parquet``, or journals that nothing has compacted yet."""
    return any(folder.glob("cells/*.parquet")) or any(folder.glob("journal/*.jsonl"))


def code_folder() -> Path:
    """The folder that this package is imported from."""
    return _PACKAGE.parent


def packaged_list(name: str) -> str:
    """The text of a list that lies with the published cases, whatever home a command reads.

    Raises :class:`CaniexportError` where the dataset that is installed is too old to have it.
    """
    data = None if _is_checkout(_AROUND) else find_package()
    try:
        return ((data or _AROUND) / "cases" / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CaniexportError(f"{PACKAGE} has no {name}: pip install --upgrade {PACKAGE}") from None


def dashboard_folder() -> Path:
    """The folder of the Streamlit app: the checkout's, else the copy inside the package."""
    inside = _PACKAGE / "_home" / "dashboard"
    return inside if inside.is_dir() else _AROUND / "dashboard"


def read_list(path: Path) -> str:
    """The text of a list or settings file that a user names; :class:`OSError` for one larger than such files are."""
    with path.open("rb") as file:
        data = file.read(LARGEST_LIST + 1)
    if len(data) > LARGEST_LIST:
        raise OSError(f"larger than {LARGEST_LIST // 1024 // 1024} MiB")
    # PowerShell's > writes UTF-16
    return data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
