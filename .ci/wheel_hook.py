"""What a wheel needs beside the dependencies in pyproject.toml: the dataset, which a checkout has in results/."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: any dataset of this row contract or a later one; at load its contract is checked (caniexport/home/data_package.py)
DATASET = "caniexport-data>=2026.11"


class WheelHook(BuildHookInterface[Any]):
    """Adds the dataset's package to a wheel that is to be installed elsewhere, and packs it as small as zlib can."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it, unless the checkout is installed in place."""
        if version != "editable":
            build_data["dependencies"].append(DATASET)

    def finalize(self, _version: str, _build_data: dict[str, Any], artifact_path: str) -> None:
        """Pack the same files again: hatchling leaves zlib's level as it is."""
        wheel = Path(artifact_path)
        with zipfile.ZipFile(wheel) as packed:
            files = [(info, packed.read(info)) for info in packed.infolist()]
        with zipfile.ZipFile(wheel, "w") as packed:
            for info, content in files:
                packed.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=9)
