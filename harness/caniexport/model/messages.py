"""Error texts: what is kept of them, and the signature by which equal failures are recognised.

Kept are the head of a text, which says why, and its tail, which says where, without addresses, local paths and the
frames of the measuring process. What lies between is left out where the text is long: dumped graphs first.
A signature is ``stage|exception|first line`` of the innermost cause, with everything stripped that differs between
equal failures.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Tuple

#: characters kept of a message: the reason of every failure seen fits, a whole traceback does not
KEPT = 4000
#: of them at its beginning
_HEAD = 2500
#: of a huge text no more than this at each end is searched for graphs, and of what is left for everything else
_SEARCHED, _READ = 4000000, 100000
#: what stands for the part that is left out
_CUT = "\n…\n"
_SIGNATURE_WIDTH = 200

_CPP_PREFIX = re.compile(r"\S+\.(?:cc|h|cpp):\d+ [^\n]*?\) (?=\S)")
_PATH = re.compile(r"(?:/[\w.+@-]+){2,}/([\w.+@-]+)|[A-Za-z]:\\(?:[\w. -]+\\)+([\w.-]+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: a call stack as TorchScript prints it, from our first frame on: whoever exports by hand has none of these
_OWN_FRAMES = re.compile(
    r"^[ \t]*"
    + re.escape(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    + r"[/\\]\w+[/\\]\w+\.py\(\d+\): .*\n?(?:^[ \t]*\S.*\(\d+\): .*\n?)*",
    re.MULTILINE,
)
#: two and more lines of a graph as TorchScript prints it
_GRAPH = re.compile(r"(?:^[ \t]*(?:graph\(|%[^\s,:]+ : |return \(|block\d+\(|-> \(|\}).*\n?){2,}", re.MULTILINE)
#: a stack as a runtime written in Rust prints it: it goes on into the process that called it
_RUST_STACK = re.compile(r"\s*^Stack backtrace:\n(?:[ \t]+(?:\d+: |at ).*(?:\n|\Z))+", re.MULTILINE)
#: causes kept of a chain at each of its ends
_CAUSES = 10
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


def clean_text(text: str) -> str:
    """The text without colours, addresses and folders (file names stay), of a long one its head and its tail.

    Characters that no encoding has (half of a surrogate pair) and NUL are written as Python escapes them.
    """
    if len(text) > KEPT:
        text = _cut_middle(_GRAPH.sub("  (graph)\n", _cut_middle(text, _SEARCHED, _SEARCHED)), _READ, _READ)
    text = _RUST_STACK.sub("\n", _OWN_FRAMES.sub("", _ANSI.sub("", text)))
    text = _PATH.sub(lambda match: match.group(1) or match.group(2), text)
    text = _ADDRESS.sub("0x…", text).strip()
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return _cut_middle(text, _HEAD, KEPT - _HEAD - len(_CUT))


def _cut_middle(text: str, head: int, tail: int) -> str:
    """The text, or its two ends where it is longer than what is kept."""
    if len(text) <= head + tail + len(_CUT):
        return text
    return text[:head] + _CUT + text[-tail:]


def make_message_id(text: str) -> str:
    """First 16 hex digits of the text's sha256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def make_signature(stage: str, kind: str, text: str) -> str:
    """``stage|exception|first line``, without what differs between equal failures (numbers, names, shapes)."""
    line = _find_reason(text)
    for pattern, replacement in _SIGNATURE_RULES:
        line = pattern.sub(replacement, line)
    return "{}|{}|{}".format(stage, kind, line.strip()[:_SIGNATURE_WIDTH])


def describe(stage: str, kind: str, text: str, reason: str = "") -> Tuple[str, str, str]:
    """Signature, message id and the text to keep, for an error ``kind`` (exception type) seen at ``stage``.

    ``reason`` is the text of the innermost cause, where ``text`` begins with an outer one's words.
    """
    kept = clean_text(text)
    return make_signature(stage, kind, clean_text(reason) if reason else kept), make_message_id(kept), kept


def describe_exception(stage: str, error: BaseException) -> Tuple[str, str, str]:
    """As :func:`describe`, for an exception with its chain of explicit causes, the innermost last."""
    chain, seen = [error], {id(error)}
    while chain[-1].__cause__ is not None and id(chain[-1].__cause__) not in seen:
        chain.append(chain[-1].__cause__)
        seen.add(id(chain[-1]))
    if len(chain) > 2 * _CAUSES:
        chain = chain[:_CAUSES] + chain[-_CAUSES:]
    texts = ["{}: {}".format(type(item).__name__, clean_text(read_text(item))) for item in chain]
    if sum(map(len, texts)) > KEPT:
        # half for the innermost: its reason is not lost behind what the outer ones dump
        shares = [KEPT // 2 // len(texts)] * (len(texts) - 1) + [KEPT // 2]
        texts = [_cut_middle(text, share * 2 // 3, share // 3) for text, share in zip(texts, shares)]
    root = chain[-1]
    return describe(stage, type(root).__name__, "\ncaused by ".join(texts), read_text(root))


def read_text(error: BaseException) -> str:
    """What an exception says of itself; one whose ``__str__`` raises says that."""
    try:
        return str(error).strip()
    except Exception as problem:  # an exception class of a case or a library
        return "(its text cannot be read: __str__ raised {})".format(type(problem).__name__)


def _find_reason(text: str) -> str:
    """The line that says why: the first that is not empty, without the runtime's C++ prefix."""
    for line in _CPP_PREFIX.sub("", text).split("\n"):
        if line.strip():
            return line
    return ""
