"""The line of a message that says why."""

from __future__ import annotations

import re

#: characters of a message's line
_LONGEST = 160
#: what onnxruntime says before the reason of a node that fails
_RUNNING = re.compile(
    r"(?:\[ONNXRuntimeError\] : \d+ : \w+ : )?"
    r"Non-zero status code returned while running (\w+) node\. Name:'[^']*' Status Message: "
)
#: what a kept message puts before each exception that another one wraps, the innermost last
CAUSED = "caused by "


def cause_line(text: str) -> str:
    """The line of a message that says why: of a chain of causes the innermost's first, without what wraps it; of a
    traceback the last.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    inner = [line.removeprefix(CAUSED) for line in lines if line.startswith(CAUSED)]
    if lines and lines[0].startswith("Traceback ("):
        return lines[-1]
    return inner[-1] if inner else lines[0] if lines else ""


def short_cause(text: str, longest: int = _LONGEST) -> str:
    """That line; of one that is long, what onnxruntime puts before the reason is left out, then it is cut."""
    line = cause_line(text)
    if len(line) > longest:
        line = _RUNNING.sub(r"\1: ", line)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
