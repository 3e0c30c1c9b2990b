"""Whether what the plain script found is what is published: stage, status, and the words of the innermost cause."""

from __future__ import annotations

import re
from dataclasses import dataclass

from caniexport.audit.sample import PublishedCell

#: characters of an error's words that are compared, at its beginning or at its end: between them long texts are cut
_COMPARED = 100
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FOLDERS = re.compile(r"(?:/[\w.+@-]+)+/(?=[\w.+@-])")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|0x…")
#: in what outputs are wrong: their number, dtype, shape, values, or whose memory they are
_DIFFERENCES = re.compile(
    r"output\(s\)(?= expected)|\bdtype(?= \S+ expected)|\bshape(?= \[)|values differ|the memory of"
)


@dataclass(frozen=True)
class ScriptOutcome:
    """How a cell ended in the plain script; ``kind`` and ``text`` are its innermost exception's."""

    stage: str
    status: str
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class AuditDifference:
    """A cell whose row is not what the script found, both in words."""

    cell: str
    published: str
    found: str

    @property
    def text(self) -> str:
        """One line, as the dataset keeps it."""
        return f"{self.cell}: published {self.published}; found {self.found}"


def find_difference(cell: PublishedCell, text: str, found: ScriptOutcome) -> AuditDifference | None:
    """What is not the same; ``text`` is the published message.

    ``None`` where all is, or where the row says that the cell ends so at times.
    """
    same_end = (cell.stage, cell.status) == (found.stage, found.status)
    if (same_end and _same_words(cell.status, text, found)) or found.status in cell.unstable:
        return None
    innermost = text.rpartition("\ncaused by ")[2]
    words = ": ".join(filter(None, (found.kind, found.text)))
    return AuditDifference(cell.name, _end(cell.stage, cell.status, innermost), _end(found.stage, found.status, words))


def _end(stage: str, status: str, words: str) -> str:
    line = _first_line(words)
    end = status if stage == "done" else f"{status} at {stage}"
    return f"{end} ({line[:160]})" if line else end


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def _same_words(status: str, text: str, found: ScriptOutcome) -> bool:
    if status in ("pass", "timeout", "oom"):
        return True
    if status == "mismatch":
        return set(_DIFFERENCES.findall(text)) == set(_DIFFERENCES.findall(found.text))
    if status == "crash":
        return found.kind in text
    kept = _plain(text)
    # what follows the first line may be the stack of the process that measured
    first, last = _plain(_first_line(found.text))[:_COMPARED], _plain(found.text)[-_COMPARED:]
    return found.kind in kept and (first in kept or last in kept)


def _plain(text: str) -> str:
    """A text without what differs from machine to machine: colours, folders, addresses, line breaks."""
    return " ".join(_ADDRESS.sub("0x", _FOLDERS.sub("", _COLOUR.sub("", text))).split())
