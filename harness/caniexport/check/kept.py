"""An answer kept beside its rows: to find the cases that fail alike takes longer than to read what was found."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path

from caniexport import home as homes
from caniexport.check.answer import Checked


def kept_answer(folder: Path, asked: Iterable[object], compute: Callable[[], Checked]) -> Checked:
    """What ``compute`` gives, kept in ``folder``; everything that it depends on beside this package is ``asked``."""
    text = repr([*asked, _code()])
    path = folder / f"answer-{hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]}.pickle"
    try:
        found = pickle.loads(path.read_bytes())
        if isinstance(found, Checked):
            return found
    except (OSError, ValueError, EOFError, AttributeError, ImportError, pickle.UnpicklingError):
        pass  # not kept, or by another Python: made anew
    answer = compute()
    if folder.is_dir():
        for old in folder.glob("answer-*.pickle"):
            old.unlink(missing_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(answer))
        part.replace(path)
    return answer


def _code() -> list[tuple[str, int]]:
    """Every file of this package with the time of its change."""
    found = sorted((homes.code_folder() / "caniexport").rglob("*.py"))
    return [(str(path), path.stat().st_mtime_ns) for path in found]
