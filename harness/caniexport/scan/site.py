"""A place of a source tree that measurements may speak to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from caniexport.scan.gates import Condition


class SiteKind(StrEnum):
    """What a site is."""

    WORKAROUND = "workaround"
    #: what a workaround leaves out: an argument that releases refuse
    ORIGINAL = "original"
    SYMBOLIC = "registered symbolic"
    GATE = "version gate"
    BRANCH = "export branch"
    CALL = "export call"


@dataclass(frozen=True)
class Site:
    """A place in a file.

    name        operator of a symbolic; condition of a gate or branch; function of a call
    workaround  case and variant
    exporter, opset  that an export call names
    is_unread   an export call has arguments that cannot be read
    is_gated    it lies in a version gate
    """

    path: str
    line: int
    kind: SiteKind
    name: str = ""
    workaround: tuple[str, str] = ("", "")
    condition: Condition | None = None
    exporter: str | None = None
    opset: int | None = None
    is_unread: bool = False
    is_gated: bool = False
