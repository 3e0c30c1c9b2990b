"""Signs of statuses and verdicts: a character, a color, a meaning. CLI and dashboard share them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import EXPORTERS, Checker, Exporter, Status, WhyNot


@dataclass(frozen=True)
class Sign:
    """A sign, its color (a name that rich and CSS both know) and its meaning, where the name is not enough."""

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

#: how a call is headed, by exporter
CALLS = {
    Exporter.DYNAMO.value: "dynamo=True",
    Exporter.TRACE.value: "dynamo=False",
    Exporter.SCRIPT.value: "script",
    Exporter.DEFAULT.value: "default",
}

#: the mark of a working file that onnx's checker refuses
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
    "not-reproduced": Sign("✗", "red", "measured with another outcome"),
    "pending": Sign("○", "white", "not measured yet"),
    "not-measured": Sign("·", "white", "cannot be measured, for the reason given"),
}

#: why a claim is not reproduced, as reviewed
WHY_NOT: dict[str, str] = {
    WhyNot.CONTRADICTED.value: "measured exactly as the source describes, and the result differs",
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
    """Return the number of an exporter in the usual order; anything else comes last."""
    return EXPORTERS.index(exporter) if exporter in EXPORTERS else len(EXPORTERS)


#: by the value of the column ``checker``: what it does with the file
_CHECKS = {
    Checker.STRICT.value: "strict check refuses",
    Checker.PLAIN.value: "check refuses",
    Checker.CRASH.value: "check crashes on",
}
_ASCII = dict(zip("✓✗≠⊘·●○→—≥≤…±°", "+x#0.*o>-><~%^", strict=True))


def ascii_only(text: str) -> str:
    """Return a text in ASCII."""
    known = text.translate({ord(sign): plain for sign, plain in _ASCII.items()})
    return known.encode("ascii", "replace").decode("ascii")


def checker_text(checker: str | None, runtime: str | None, *, works: bool) -> str:
    """Return what onnx's checker and the runtime do with a file; empty where the checker takes it.

    ``onnx's strict check refuses this file; onnxruntime 1.31.1 runs it``.
    """
    if checker not in _CHECKS:
        return ""
    refuses = f"onnx's {_CHECKS[checker]} this file"
    return f"{refuses}; {runtime or 'the runtime'} runs it" if works else f"{refuses}, too"


def unstable_text(seen: Iterable[str]) -> str:
    """Return ``not the same every time: pass, mismatch were seen``; empty where repetitions agree."""
    words = sorted(seen, key=[status.value for status in Status].index)
    return f"not the same every time: {', '.join(words)} were seen" if words else ""


def status_word(status: Status) -> str:
    """Return the shown name of a status: ``unsupported`` reads as ``refused``, ``not_run`` as ``not measured``."""
    return {Status.UNSUPPORTED: "refused", Status.NOT_RUN: "not measured"}.get(status, status.value)
