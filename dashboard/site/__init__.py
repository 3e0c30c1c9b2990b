"""The static copy: the dashboard's tables as plain files that any file server serves, with no Python behind them."""

from __future__ import annotations

from dashboard.site.build import Written, build

__all__ = ["Written", "build"]
