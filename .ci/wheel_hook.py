"""What a wheel needs beside the dependencies in pyproject.toml: the dataset, which a checkout has in results/."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: any dataset of this row contract or a later one; at load its contract is checked (caniexport/home/data_package.py)
DATASET = "caniexport-data>=2026.11"


class WheelHook(BuildHookInterface[Any]):
    """Adds the dataset's package to a wheel that is to be installed elsewhere."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add it, unless the checkout is installed in place."""
        if version != "editable":
            build_data["dependencies"].append(DATASET)
