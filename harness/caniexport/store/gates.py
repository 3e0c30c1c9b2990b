"""The gate's verdict on a run: whether its rows may be used."""

from __future__ import annotations

GOOD = "good"


def is_quarantined(gate: str | None) -> bool:
    """Whether a run has been judged, and not as good."""
    return gate not in (None, GOOD)
