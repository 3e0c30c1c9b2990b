"""The two states that are compared: a folder, or what a git revision has in ``results/``."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path

from caniexport.home import Home, holds_dataset
from caniexport.model.errors import CaniexportError, SchemaMismatch, UnknownName
from caniexport.store import Dataset, files

_FOLDER = "results"
#: one of the two: what it is called in the answer, and its dataset
Side = tuple[str, Dataset]


def open_states(home: Home, baseline: str | None, current: str | None, stack: ExitStack) -> tuple[Side, Side]:
    """The two states to compare.

    Each is a folder with a dataset, or a git revision of the repository around ``home``. Where the current one is not
    named it is this home's dataset, its local rows before the published ones. Where the baseline is not named it is
    what is published; where there are no local rows that could differ, the state before the last commit that changed
    it. Raises :class:`UnknownName` for what is neither folder nor revision, :class:`SchemaMismatch` for a state
    written under another version of the row contract.
    """
    after = _open_state(home, current, stack) if current else ("this machine", Dataset.open(home.published, home.local))
    if baseline:
        return _open_state(home, baseline, stack), after
    if current is None and holds_dataset(home.local):
        return ("published", Dataset.open(home.published, None)), after
    revisions = _find_revisions(home.root)
    if len(revisions) < 2:
        raise UnknownName(
            "--baseline: a folder or a git revision is wanted (the history has one state of results/ only)"
        )
    _, before = _open_state(home, revisions[1], stack)
    return (f"results/ at {revisions[1][:10]}", before), after


def _find_revisions(root: Path) -> list[str]:
    """The last two commits that changed the published rows, the newest first."""
    try:
        return _run_git(root, "log", "-n", "2", "--format=%H", "--", f"{_FOLDER}/cells").decode().split()
    except CaniexportError as error:
        raise UnknownName(
            f"--baseline: a folder with a dataset is wanted, for there is no history here ({error})"
        ) from error


def _open_state(home: Home, text: str, stack: ExitStack) -> Side:
    folder = Path(text).expanduser()
    if folder.is_dir():
        inside = folder / _FOLDER
        return _open_folder(text, inside if (inside / "cells").is_dir() and not (folder / "cells").is_dir() else folder)
    return _open_folder(f"results/ at {text}", _check_out(home.root, text, stack))


def _open_folder(name: str, folder: Path) -> Side:
    paths = files.cells_files(folder)
    if not paths and not holds_dataset(folder):
        raise UnknownName(f"{folder} has no dataset (a folder with cells/*.parquet is wanted)")
    for path in paths:
        try:
            files.check_footer(path)
        except SchemaMismatch:
            raise
        except CaniexportError:
            continue  # damaged: named among the problems, the rest is compared
    local = folder if (folder / "journal").is_dir() else None
    return name, Dataset.open(None if local else folder, local)


def _check_out(root: Path, revision: str, stack: ExitStack) -> Path:
    """``results/`` of a revision in a folder of its own."""
    if revision.startswith("-"):
        raise UnknownName(f"{revision!r} is neither a folder nor a git revision")
    try:
        commit = _run_git(root, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
        archive = _run_git(root, "archive", "--format=tar", commit, _FOLDER)
    except CaniexportError as error:
        wanted = "a folder with a dataset, or a git revision whose tree has results/, is wanted"
        raise UnknownName(f"{revision!r} is no state of a dataset: {wanted} ({error})") from error
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="caniexport-")))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        # a dataset has regular files alone: no link of a stranger's revision is followed
        for item in tar:
            content = tar.extractfile(item) if item.isreg() else None
            if content is not None:
                (folder / item.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / item.name).write_bytes(content.read())
    return folder / _FOLDER


def _run_git(root: Path, *words: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True).stdout
    except OSError as error:
        raise CaniexportError(f"git cannot be run ({error})") from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise CaniexportError(reason or f"git {words[0]} failed") from error
