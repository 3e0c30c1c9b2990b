"""The packages of a profile for a torch release, resolved by uv."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from caniexport.machine import interpreters
from caniexport.model.errors import EnvironmentUnavailable
from caniexport.profiles import LATER, EnvironmentProfile, MorePackages, Wanted

if TYPE_CHECKING:
    from caniexport.model.releases import Release

#: seconds that uv may take to read an index
_PATIENCE = 600.0
#: uv's words for an index that does not tell the day of an upload
_NO_DATES = "missing an upload date"
_LATER_THAN_ALL = "2100-01-01"


def resolve_profile(
    release: Release, profile: EnvironmentProfile, kept: Path, more: MorePackages | None = None
) -> Release:
    """The release with the pins of a profile, every package that is installed among them, and ``more`` of a corpus.

    What was resolved is kept in a folder, by what was asked. Raises :class:`EnvironmentUnavailable` where no packages
    fit together, or the index does not tell the day of an upload.
    """
    wanted = profile.asks(release, more)
    if wanted is None:
        return release
    path = kept / f"{wanted.digest}.txt"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_resolve_with_uv(wanted), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    pins = tuple(line for line in lines if line and not line.startswith("torch=="))
    return release._replace(python=wanted.python, pins=pins, profile=profile.name, as_of=wanted.as_of)


def _resolve_with_uv(wanted: Wanted) -> str:
    """One ``name==version`` a line."""
    command = [interpreters.find_uv(), "pip", "compile", "-", "--no-header", "--no-annotate"]
    command += ["--color", "never", "--python-version", wanted.python, "--only-binary", ":all:"]
    if wanted.as_of:
        command += ["--exclude-newer", wanted.as_of]
        command += [word for name in LATER for word in ("--exclude-newer-package", f"{name}={_LATER_THAN_ALL}")]
    if wanted.lowest:
        command += ["--resolution", "lowest-direct"]
    asked = "\n".join(wanted.requirements)
    try:
        reply = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentUnavailable(f"uv could not be asked for {', '.join(wanted.requirements)}: {error}") from error
    if reply.returncode != 0:
        if _NO_DATES in reply.stderr:
            raise EnvironmentUnavailable(
                f"the index does not tell the days of uploads: what was installed on {wanted.as_of} is not known"
            )
        on = f" of {wanted.as_of}" if wanted.as_of else ""
        raise EnvironmentUnavailable(
            f"no packages{on} fit together for Python {wanted.python}: {_find_reason(reply.stderr)}"
        )
    return reply.stdout


def _find_reason(text: str) -> str:
    """uv's reason in one line."""
    words = " ".join(text.split())
    found = re.search(r"Because .*?(?= hint:|$)", words)
    return found[0] if found else words.removeprefix("error: ")
