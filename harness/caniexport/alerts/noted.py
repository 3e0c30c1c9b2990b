"""What people wrote down beside a dataset: which changes are expected, and what became of alerts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caniexport import home
from caniexport.alerts import expectations, lifecycle
from caniexport.alerts.expectations import Expectation
from caniexport.alerts.lifecycle import KnownAlert


@dataclass(frozen=True)
class Noted:
    """Both files of a home; empty where they are not there."""

    expected: tuple[Expectation, ...] = ()
    known: tuple[KnownAlert, ...] = ()


def read(root: Path) -> Noted:
    """The files in ``root``. Raises :class:`caniexport.model.errors.CorpusError` naming what is wrong in one."""
    listed = root / home.EXPECTATIONS
    entries = expectations.read(listed) if listed.exists() else []
    return Noted(tuple(entries), tuple(lifecycle.read(root / home.STATES)))
