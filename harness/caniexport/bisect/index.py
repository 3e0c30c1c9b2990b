"""The versions of a package that the index has, as uv sees it: its configuration, mirrors and find-links included."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable

from caniexport import versions
from caniexport.machine import interpreters
from caniexport.model.errors import CaniexportError

_SECONDS = 120


def between(package: str, low: str, high: str, pythons: Iterable[str]) -> list[str]:
    """Releases with ``low < version < high`` that have a wheel for one of these Pythons (``3.12``), oldest first.

    Pre-releases are left out, as by every installer. Raises :class:`CaniexportError` where the index is not reached.
    """
    found: set[str] = set()
    for python in sorted(set(pythons)):
        bound = high
        while (newest := _newest(f"{package}>{low},<{bound}", package, python)) is not None:
            found.add(newest)
            bound = newest
    return versions.ordered(found)


def _newest(requirement: str, package: str, python: str) -> str | None:
    """The newest version that satisfies a requirement; ``None`` where there is none."""
    options = ["--no-deps", "--only-binary", ":all:", "--no-header", "--no-annotate", "--color", "never", "--quiet"]
    command = [interpreters.uv(), "pip", "compile", *options, "--python-version", python, "-"]
    try:
        reply = subprocess.run(
            command, input=requirement, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CaniexportError(f"the versions of {package} could not be listed: {error}") from error
    if reply.returncode == 0:
        match = re.search(rf"^{re.escape(package)}==(\S+)", reply.stdout, re.MULTILINE)
        return versions.public(match[1]) if match else None
    if "No solution found" in reply.stderr:
        return None
    reason = reply.stderr.strip().splitlines()
    raise CaniexportError(f"the versions of {package} could not be listed: {reason[-1] if reason else 'uv failed'}")
