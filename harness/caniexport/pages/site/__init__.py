"""The static copy: the dashboard's tables as plain files that any file server serves, with no Python behind them."""

from __future__ import annotations

from caniexport.pages.site.build import WrittenSite, build

__all__ = ["WrittenSite", "build"]
