"""How a status or a word looks: a sign that reads without colour, a colour, a meaning. CLI and dashboard share it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import EXPORTERS, Checker, Exporter, Status, WhyNot


@dataclass(frozen=True)
class Sign:
    """One sign, its colour (a name that rich and CSS both know) and what its word leaves open."""

    sign: str
    colour: str
    meaning: str


STATUS: dict[Status, Sign] = {
    Status.PASS: Sign("✓", "green", ""),
    Status.DEGRADED: Sign("~", "yellow", "works, but not as asked"),
    Status.UNSUPPORTED: Sign("⊘", "blue", "by the exporter or runtime"),
    Status.FAIL: Sign("✗", "red", "with an error"),
    Status.TIMEOUT: Sign("T", "magenta", "too slow"),
    Status.OOM: Sign("M", "magenta", "out of memory"),
    Status.CRASH: Sign("!", "red", "kills the process"),
    Status.UNSTABLE: Sign("±", "magenta", "not the same every time"),
    Status.MISMATCH: Sign("≠", "red", "runs, wrong values"),
    Status.SKIP: Sign("s", "white", "by us"),
    Status.NOT_RUN: Sign("·", "white", ""),
    Status.INVALID: Sign("?", "white", "our infrastructure failed"),
}

#: what stands where nothing was measured: never an empty place
NOT_MEASURED = STATUS[Status.NOT_RUN].sign

#: beside what passes: onnx's checker refuses the file
REFUSED = "°"

WORKAROUND: dict[Workaround, Sign] = {
    Workaround.NEEDED: Sign("●", "yellow", "the original fails, the workaround works"),
    Workaround.OBSOLETE: Sign("○", "green", "both work: remove it"),
    Workaround.BROKEN: Sign("✗", "red", "neither works"),
    Workaround.HARMFUL: Sign("!", "red", "the original works, the workaround fails"),
    Workaround.UNKNOWN: Sign("·", "white", "not measured, or refused to both"),
}

CLAIM: dict[str, Sign] = {
    "reproduced": Sign("✓", "green", "as the source says"),
    "partly": Sign("~", "yellow", "on some of the cells"),
    "not-reproduced": Sign("✗", "red", "the cells ended differently"),
    "pending": Sign("○", "white", "not measured yet"),
    "not-measured": Sign("·", "white", "cannot be measured, for the reason given"),
}

#: why a claim is not reproduced, as reviewed
WHY_NOT: dict[str, str] = {
    WhyNot.CONTRADICTED.value: "measured in the source's own form, and ended differently",
    WhyNot.FORM.value: "the source's own model, call or device is not the one measured",
    WhyNot.NEWER.value: "a runtime or helper newer than the source hides it",
    WhyNot.VERSION.value: "true of other versions than the source names",
}

EXPORTER_SHORT: dict[str, str] = {
    Exporter.TRACE.value: "trace",
    Exporter.SCRIPT.value: "script",
    Exporter.DYNAMO.value: "dynamo",
    Exporter.DEFAULT.value: "default",
    "-": "-",
}


def exporter_rank(exporter: str | None) -> int:
    """The place of an exporter in the usual order; of anything else one behind all."""
    return EXPORTERS.index(exporter) if exporter in EXPORTERS else len(EXPORTERS)


#: by the checker's word: what it does with the file
_CHECKS = {
    Checker.STRICT.value: "strict check refuses",
    Checker.PLAIN.value: "check refuses",
    Checker.CRASH.value: "check crashes on",
}
_ASCII = dict(zip("✓✗≠⊘·●○→—≥≤…±°", "+x#0.*o>-><~%^", strict=True))


def ascii_only(text: str) -> str:
    """The same text for an output that has no more than ASCII."""
    known = text.translate({ord(sign): plain for sign, plain in _ASCII.items()})
    return known.encode("ascii", "replace").decode("ascii")


def checker_told(checker: str | None, runtime: str | None, *, works: bool) -> str:
    """What onnx's checker and the runtime make of a file, in one sentence; empty where the checker takes it.

    ``onnx's strict check refuses this file; onnxruntime 1.31.1 runs it``.
    """
    if checker not in _CHECKS:
        return ""
    refuses = f"onnx's {_CHECKS[checker]} this file"
    return f"{refuses}; {runtime or 'the runtime'} runs it" if works else f"{refuses}, too"


def unstable_told(seen: Iterable[str]) -> str:
    """``not the same every time: pass, mismatch were seen``; empty where repetitions agree."""
    words = sorted(seen, key=[status.value for status in Status].index)
    return f"not the same every time: {', '.join(words)} were seen" if words else ""


def word(status: Status) -> str:
    """The word shown beside a sign: ``unsupported`` reads as ``refused``, ``not_run`` as ``not measured``."""
    return {Status.UNSUPPORTED: "refused", Status.NOT_RUN: "not measured"}.get(status, status.value)
