"""Files that a reader saves from a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file of a page: its name, and its content, which is made when somebody saves it."""

    name: str
    content: Callable[[], str | bytes]
