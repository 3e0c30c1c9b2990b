"""tox loads this file by itself; the plugin lives in the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "harness"))

from caniexport.measure.tox_plugin import *  # noqa: F403  # the path above comes first
