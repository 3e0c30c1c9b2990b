"""Error texts: what is kept of them, and the signature by which equal failures are recognised.

Kept is the end of a text (runtimes put the reason last, behind C++ prefixes), without addresses and local paths.
A signature is ``stage|exception|first line`` with everything stripped that differs between equal failures.
"""

from __future__ import annotations

import hashlib
import re
from typing import Tuple

#: characters kept of a message: the reason of every failure seen fits, a whole traceback does not
KEPT = 4000
_SIGNATURE_WIDTH = 200

_CPP_PREFIX = re.compile(r"\S+\.(?:cc|h|cpp):\d+ [^\n]*?\) (?=\S)")
_PATH = re.compile(r"(?:/[\w.+@-]+){2,}/([\w.+@-]+)|[A-Za-z]:\\(?:[\w. -]+\\)+([\w.-]+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_SIGNATURE_RULES = (
    (re.compile(r"\bopset version \d+"), "opset version N"),
    (re.compile(r"'[^']{1,80}'|\"[^\"]{1,80}\""), "'…'"),
    (re.compile(r"[\[{(][-\d., xX*?NHWC]*\d[-\d., xX*?NHWC]*[\]})]"), "[…]"),
    (re.compile(r"%\S+"), "%…"),
    (re.compile(r"\b\d+\.\d+(?:\.\d+)*\S*"), "V"),
    (re.compile(r"\b(?:node|Node|node_|n)_?\w*?\d+\b"), "node"),
    (re.compile(r"-?\b\d+\b"), "N"),
    (re.compile(r"\s+"), " "),
)


def tidy(text: str) -> str:
    """The text without colours, addresses and folders (file names stay), at most :data:`KEPT` characters of its end."""
    text = _ANSI.sub("", text)
    text = _PATH.sub(lambda match: match.group(1) or match.group(2), text)
    text = _ADDRESS.sub("0x…", text).strip()
    return text if len(text) <= KEPT else "…" + text[-KEPT:]


def message_id(text: str) -> str:
    """First 16 hex digits of the text's sha256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def signature(stage: str, kind: str, text: str) -> str:
    """``stage|exception|first line``, without what differs between equal failures (numbers, names, shapes)."""
    line = _reason(text)
    for pattern, replacement in _SIGNATURE_RULES:
        line = pattern.sub(replacement, line)
    return "{}|{}|{}".format(stage, kind, line.strip()[:_SIGNATURE_WIDTH])


def describe(stage: str, kind: str, text: str, reason: str = "") -> Tuple[str, str, str]:
    """Signature, message id and the text to keep, for an error ``kind`` (exception type) seen at ``stage``.

    ``reason`` is the text of the innermost cause, where ``text`` begins with an outer one's words.
    """
    kept = tidy(text)
    return signature(stage, kind, tidy(reason) if reason else kept), message_id(kept), kept


def describe_exception(stage: str, error: BaseException) -> Tuple[str, str, str]:
    """As :func:`describe`, for an exception with its chain of explicit causes, the innermost last."""
    chain = [error]
    while chain[-1].__cause__ is not None and chain[-1].__cause__ not in chain:
        chain.append(chain[-1].__cause__)
    texts = ["{}: {}".format(type(item).__name__, str(item).strip()) for item in chain]
    root = chain[-1]
    return describe(stage, type(root).__name__, "\ncaused by ".join(texts), str(root))


def _reason(text: str) -> str:
    """The line that says why: the first that is not empty, without the runtime's C++ prefix."""
    for line in _CPP_PREFIX.sub("", text).split("\n"):
        if line.strip():
            return line
    return ""
