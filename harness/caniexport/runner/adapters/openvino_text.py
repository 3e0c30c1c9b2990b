"""OpenVINO's error texts: the reason stands last, behind lines that say only where in its source it was noticed."""

from __future__ import annotations

import re
from typing import List

_OURS = re.compile(r"Exception from \S+:\d+")
#: sentences that are the reason, wherever they stand: operators that OpenVINO has not
_MISSING = re.compile(r"(?:No conversion rule found for|OpenVINO does not support the following ONNX) operations: .+")
#: lines that say where, and not why
_WHERE = re.compile(
    r"(?:.*\bException from \S+:\d+:?|.*\bCheck '.*' failed at \S+:\d+:?|FrontEnd API failed with \w+:?|"
    r"Errors during ONNX translation:|Model wasn't fully converted\..*|Summary:|Details:|Not Implemented:|"
    r"While validating (?:ONNX )?node '.*'.*:|Shape inference input shapes .*|To facilitate the conversion .*|)"
)
_FAILED = re.compile(r"-- (?P<operator>\S+?)(?:-\d+)? with a message:")
_NODE = re.compile(r"<Node\([\w.]+\): (?P<names>[^>]*)>")
_OPSET = re.compile(r"\b([A-Za-z]\w*)-\d+\b")
_NAME = re.compile(r"\b(name: )\S+")


def find_reason(text: str) -> str:
    """The line of a text that says why, with its operator where one is named; empty where OpenVINO did not write it.

    Names of nodes are left out: they differ between files that fail for the same reason.
    """
    if not _OURS.search(text):
        return ""
    missing = _MISSING.search(text)
    if missing:
        return _OPSET.sub(r"\1", missing.group())
    operator, line_found = "", ""
    for line in text.split("\n"):
        line = line.strip()
        failed = _FAILED.fullmatch(line)
        if failed:
            operator = operator or failed.group("operator") + ": "
        elif not _WHERE.fullmatch(line):
            line_found = line
            break
    for names in _find_names(text):
        line_found = line_found.replace(names, "").strip()
    return operator + _NAME.sub(r"\1…", line_found) if line_found else ""


def _find_names(text: str) -> List[str]:
    """What the text calls the nodes, the longest first."""
    return sorted({match.group("names") for match in _NODE.finditer(text)} - {""}, key=len, reverse=True)
