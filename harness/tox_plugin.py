"""tox environments from the table of releases.

``torch{X}-{cpu,cuda}`` and ``torch{X}-opset{N}-{cpu,cuda}``, where X is a minor or a full version. What every
environment
shares is in ``tox.ini``; this adds Python, requirements and a description. An environment that is not in the table is
left alone.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl

from harness import interpreters
from harness.worker import releases
from harness.worker.errors import UnknownName

if TYPE_CHECKING:
    from tox.config.sets import ConfigSet
    from tox.session.state import State

__all__ = ["tox_add_core_config", "tox_extend_envs"]

_TEST_TOOLS = ("pytest", "pytest-xdist")


@impl
def tox_extend_envs() -> tuple[str, ...]:
    """Every release of the table, and whatever else of ours the command line names."""
    listed = [f"torch{release.minor}-{provider}" for release in releases.table() for provider in ("cpu", "cuda")]
    return tuple(dict.fromkeys([*listed, *_asked_for()]))


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:  # noqa: ARG001  # the hook's signature
    """Give each environment its Python, its requirements and its description."""
    for name in tox_extend_envs():
        try:
            release = releases.find(releases.target(name).release)
        except UnknownName:
            continue
        state.conf.memory_seed_loaders[name].append(_loader(name, release))


def _loader(name: str, release: releases.Release) -> MemoryLoader:
    target = releases.target(name)
    python = interpreters.find(release.python) if name in _asked_for() else None
    opset = f" at opset {target.opsets[0]}" if target.opsets else ""
    requirements = [_for_provider(item, target.provider) for item in release.requirements]
    return MemoryLoader(
        description=f"measure torch {release.torch}{opset} on {target.provider}",
        base_python=[str(python) if python else f"python{release.python}"],
        deps="\n".join((*requirements, *_TEST_TOOLS)),
    )


def _for_provider(requirement: str, provider: str) -> str:
    """Both packages unpack into the same folder, so an environment has one of them."""
    if provider == "cuda" and requirement.startswith("onnxruntime=="):
        return requirement.replace("onnxruntime", "onnxruntime-gpu", 1)
    return requirement


def _asked_for() -> list[str]:
    """Names of ours on tox's command line or in ``TOXENV``."""
    words = [*sys.argv[1:], os.environ.get("TOXENV", "")]
    names = [name for word in words for name in word.removeprefix("-e").split(",")]
    return [name for name in names if releases.target(name).release]
