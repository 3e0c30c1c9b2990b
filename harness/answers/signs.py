"""How a status or a word looks: a sign that reads without colour, a colour, a meaning. CLI and dashboard share it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.verdicts import Workaround
from harness.worker.status import Exporter, Status


@dataclass(frozen=True)
class Sign:
    """One sign, its colour (a name that rich and CSS both know) and what it means in a few words."""

    sign: str
    colour: str
    meaning: str


STATUS: dict[Status, Sign] = {
    Status.PASS: Sign("✓", "green", "passes"),
    Status.DEGRADED: Sign("~", "yellow", "passes, but not with the opset, exporter or provider asked for"),
    Status.UNSUPPORTED: Sign("⊘", "blue", "refused: declared unsupported"),
    Status.FAIL: Sign("✗", "red", "fails with an error"),
    Status.TIMEOUT: Sign("T", "magenta", "takes too long"),
    Status.OOM: Sign("M", "magenta", "takes too much memory"),
    Status.CRASH: Sign("!", "red", "kills the process"),
    Status.MISMATCH: Sign("≠", "red", "runs, and gives wrong results"),
    Status.SKIP: Sign("-", "white", "skipped by us"),
    Status.NOT_RUN: Sign("·", "white", "not measured"),
    Status.INVALID: Sign("?", "white", "our infrastructure failed; says nothing about torch"),
}

#: what stands where nothing was measured: never an empty place
NOT_MEASURED = STATUS[Status.NOT_RUN].sign

WORKAROUND: dict[Workaround, Sign] = {
    Workaround.NEEDED: Sign("●", "yellow", "the failing form does not work, the fix does"),
    Workaround.OBSOLETE: Sign("○", "green", "both work: the fix may go"),
    Workaround.BROKEN: Sign("✗", "red", "neither works"),
    Workaround.HARMFUL: Sign("!", "red", "the failing form works, the fix does not"),
    Workaround.UNKNOWN: Sign("·", "white", "one of the two was not measured, or both were refused"),
}

CLAIM: dict[str, Sign] = {
    "reproduced": Sign("✓", "green", "measured, and as the source says"),
    "not-reproduced": Sign("✗", "red", "measured, and not as the source says"),
    "not-measured": Sign("·", "white", "could not be measured; the reason is given"),
}

EXPORTER_SHORT: dict[str, str] = {
    Exporter.TRACE.value: "trace",
    Exporter.SCRIPT.value: "script",
    Exporter.DYNAMO.value: "dynamo",
    Exporter.DEFAULT.value: "default",
}

_ASCII = dict(zip("✓✗≠⊘·●○→—≥≤…", "+x#0.*o>-><~", strict=True))


def ascii_only(text: str) -> str:
    """The same text for an output that has no more than ASCII."""
    known = text.translate({ord(sign): plain for sign, plain in _ASCII.items()})
    return known.encode("ascii", "replace").decode("ascii")


def word(status: Status) -> str:
    """The word shown beside a sign; ``unsupported`` reads as ``refused``."""
    return "refused" if status is Status.UNSUPPORTED else status.value
