"""tox environments from the tables of releases.

``torch{X}-{cpu,cuda}`` and ``torch{X}-opset{N}-{cpu,cuda}``, where X is a minor or a full version, measure;
``ort{X}-cpu`` and its like run an archive of bundles. What every environment shares is in ``tox.ini``; this adds
Python, requirements and a description. An environment that is not in a table is left alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tox.config.loader.memory import MemoryLoader
from tox.config.types import Command, EnvList
from tox.plugin import impl

from caniexport import runtime_releases
from caniexport.machine import interpreters
from caniexport.model import releases
from caniexport.model.errors import UnknownName

if TYPE_CHECKING:
    from tox.config.sets import ConfigSet
    from tox.session.state import State

__all__ = ["tox_add_core_config", "tox_extend_envs"]


@impl
def tox_extend_envs() -> tuple[str, ...]:
    """Every release of the table, and whatever else of ours the command line names."""
    listed = [f"torch{release.minor}-{provider}" for release in releases.read_table() for provider in ("cpu", "cuda")]
    listed += [item.environment(provider) for item in runtime_releases.RUNTIMES for provider in item.providers]
    return tuple(dict.fromkeys([*listed, *_find_asked()]))


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Give each environment its Python, its requirements and its description; the newest release is the default one."""
    newest = f"torch{releases.read_table()[-1].minor}-cpu"
    core_conf.loaders.insert(0, MemoryLoader(env_list=EnvList([newest])))
    for name in tox_extend_envs():
        runtime, target = runtime_releases.find_target(name), releases.parse_environment_name(name)
        if runtime is not None:
            state.conf.memory_seed_loaders[name].append(
                _make_runtime_loader(name, runtime, Path(core_conf["tox_root"]))
            )
            continue
        try:
            release = releases.find(target.release)
        except UnknownName:
            continue
        if release.profile == target.profile:  # `measure` hands the packages of another one over
            state.conf.memory_seed_loaders[name].append(_make_torch_loader(name, release, target))


def _make_torch_loader(name: str, release: releases.Release, target: releases.ReleaseTarget) -> MemoryLoader:
    opset = f" at opset {target.opsets[0]}" if target.opsets else ""
    requirements = [*release.requirements, "pytest", "pytest-xdist"]
    if target.provider == "cuda":  # both packages unpack into the same folder
        requirements = [item.replace("onnxruntime==", "onnxruntime-gpu==") for item in requirements]
    return MemoryLoader(
        description=f"measure torch {release.torch}{opset} on {target.provider}",
        base_python=_find_python(name, release.python),
        deps="\n".join(requirements),
    )


def _make_runtime_loader(name: str, target: runtime_releases.RuntimeTarget, root: Path) -> MemoryLoader:
    """An archive of bundles runs itself: nothing of ours is installed. ``CANIEXPORT_ARCHIVE`` names it."""
    release, provider = target.release, target.provider
    local = os.environ.get("CANIEXPORT_LOCAL", str(root / "results-local"))
    archive = os.environ.get("CANIEXPORT_ARCHIVE", str(root / "results-local" / "bundles.zip"))
    words = ["python", archive, "--runtime", release.runtime, "--provider", provider, "-o", local]
    words += ["--release", release.text, "--spec", release.spec(provider)]
    words += sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    return MemoryLoader(
        description=f"run an archive of bundles on {release.text}, {provider}",
        base_python=_find_python(name, release.python),
        deps="\n".join(release.requirements(provider)),
        commands=[Command(words)],
    )


def _find_python(name: str, minor: str) -> list[str]:
    """The interpreter of an environment; it is looked for where that is asked for alone."""
    found = interpreters.find_python(minor) if name in _find_asked() else None
    return [str(found or f"python{minor}")]


def _find_asked() -> list[str]:
    """Names of ours on tox's command line or in ``TOXENV``."""
    words = [*sys.argv[1:], os.environ.get("TOXENV", "")]
    names = [name for word in words for name in word.removeprefix("-e").split(",")]
    return [
        name for name in names if releases.parse_environment_name(name).release or runtime_releases.find_target(name)
    ]
