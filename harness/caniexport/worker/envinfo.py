"""What is installed here: the environment's row."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
from typing import Any, Dict, Optional

#: what only runs the tests, or only made the environment; it does not change what is measured
TEST_TOOLS = frozenset(
    "pytest pytest-xdist execnet pluggy iniconfig pip wheel uv tox exceptiongroup tomli importlib-metadata zipp "
    "pygments colorama attrs py packaging".split()
)


def read_installed() -> Dict[str, str]:
    """Every installed distribution and its version, names in lower case with dashes."""
    try:
        from importlib import metadata
    except ImportError:  # Python 3.7 has only the backport, which pytest brings
        import importlib_metadata as metadata  # type: ignore  # only on 3.7
    found = {}
    for item in metadata.distributions():
        name = item.metadata["Name"]
        if name:
            found[re.sub(r"[-_.]+", "-", name).lower()] = item.version
    return dict(sorted(found.items()))


def find_version(package: str) -> Optional[str]:
    """Installed version of a package with its local part, or ``None``."""
    return read_installed().get(package)


def strip_local_part(version: Optional[str]) -> Optional[str]:
    """A version without its local part: ``2.13.0+cpu`` -> ``2.13.0``."""
    return version.split("+")[0] if version else None


def describe_environment(
    release: str, spec: str, device: str, profile: str = "newest", as_of: str = ""
) -> Dict[str, Any]:
    """The environment's row (``rows.ENVIRONMENTS``) without the run's own columns."""
    packages = read_installed()
    measured = {name: version for name, version in packages.items() if name not in TEST_TOOLS}
    system = "{}-{}".format(platform.system(), platform.machine())
    identity = json.dumps([platform.python_version(), system, device, measured], sort_keys=True)
    return {
        "env_id": hashlib.sha256(identity.encode("utf-8")).hexdigest()[:16],
        "release": release,
        "spec": spec,
        "profile": None if profile == "newest" else profile,
        "as_of": as_of or None,
        "python": platform.python_version(),
        "torch": strip_local_part(packages.get("torch")),
        "torch_build": packages.get("torch"),
        "packages": json.dumps(packages, sort_keys=True),
        "platform": system,
        "cpu": read_cpu_name(),
        "gpu": read_gpu_name(),
    }


def read_cpu_name() -> Optional[str]:
    """The processor's model name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or None


def read_gpu_name() -> Optional[str]:
    """The first GPU's name as the driver reports it, without starting CUDA in this process."""
    try:
        reply = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = reply.stdout.decode(sys.stdout.encoding or "utf-8", "replace").strip().split("\n")
    return lines[0].strip() or None
