"""Where the corpus, the published dataset, the local one and tox.ini are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport.model.errors import CaniexportError, UnknownName

VARIABLE = "CANIEXPORT_HOME"
#: files in the root that people keep: what is expected to fail, and what became of alerts
EXPECTATIONS = "expectations.toml"
STATES = "alerts.toml"
_PACKAGE = Path(__file__).resolve().parent
#: in a checkout the package lies below its folder harness/
_AROUND = _PACKAGE.parent.parent


@dataclass(frozen=True)
class Home:
    """The places a command reads from and writes to; ``root`` is where ``measure`` runs tox."""

    root: Path
    cases: Path
    published: Path
    local: Path
    tox_ini: Path


def find(cwd: Path | None = None, environ: Mapping[str, str] | None = None) -> Home:
    """The home named by ``CANIEXPORT_HOME``, else the checkout around ``cwd``, else the one this package is in.

    Where there is none of these (a plain ``pip install``) the copies inside the package serve, and what is
    measured goes to ``results-local`` in ``cwd``. Raises :class:`UnknownName` where the variable names what is no
    home, :class:`CaniexportError` where that cannot be read.
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
    copies = _PACKAGE / "_home"
    return Home(cwd, copies / "cases", copies / "results", cwd / "results-local", copies / "tox.ini")


def holds_dataset(folder: Path) -> bool:
    """Whether a folder has rows: ``cells/*.parquet``, or journals that nothing has compacted yet."""
    return any(folder.glob("cells/*.parquet")) or any(folder.glob("journal/*.jsonl"))


def code_folder() -> Path:
    """The folder that this package is imported from."""
    return _PACKAGE.parent


def dashboard_folder() -> Path:
    """The folder of the Streamlit app: the checkout's, else the copy inside the package."""
    inside = _PACKAGE / "_home" / "dashboard"
    return inside if inside.is_dir() else _AROUND / "dashboard"
