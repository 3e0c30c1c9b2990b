"""The line of a message that has the cause."""

from __future__ import annotations

import re

#: characters of a message's line
_LONGEST = 160
#: the words of onnxruntime before the reason of a failing node
_RUNNING = re.compile(
    r"(?:\[ONNXRuntimeError\] : \d+ : \w+ : )?"
    r"Non-zero status code returned while running (\w+) node\. Name:'[^']*' Status Message: "
)
#: the mark of a wrapped exception in a kept message; the innermost is last
CAUSED = "caused by "


def cause_line(text: str) -> str:
    """Return the line of a message that has the cause: the first of the innermost cause, or the last of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    inner = [line.removeprefix(CAUSED) for line in lines if line.startswith(CAUSED)]
    if lines and lines[0].startswith("Traceback ("):
        return lines[-1]
    return inner[-1] if inner else lines[0] if lines else ""


def short_cause(text: str, longest: int = _LONGEST) -> str:
    """Return the same line cut to a length; the words of onnxruntime before the reason go first."""
    line = cause_line(text)
    if len(line) > longest:
        line = _RUNNING.sub(r"\1: ", line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
