"""pandas, which an extra of the package installs."""

from __future__ import annotations

from types import ModuleType


def import_pandas(what: str) -> ModuleType:
    """Return pandas; raises :class:`ModuleNotFoundError` with the extra to install."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{what} needs pandas: pip install 'caniexport[frames]'", name=error.name) from None
    return pandas
