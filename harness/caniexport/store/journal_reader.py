"""Reading journals: tolerant of what a killed process or a broken disk leaves, silent about nothing."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from caniexport.model.errors import StoreError
from caniexport.store.entering import check_row
from caniexport.store.schema import shown, text

#: how a line begins that carries the checksum of what follows (caniexport.model.journal)
_CHECKED = re.compile(rb'\{"crc": "([0-9a-f]{8})", ')
_KEYS = frozenset({"crc", "kind", "row", "messages"})
#: bytes of a line that anybody would have written
_LONGEST = 64 << 20


@dataclass
class Entries:
    """What journals hold, in the order of their lines; rows have the columns and types of the contract."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    environments: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, other: Entries) -> None:
        """Append another journal's entries."""
        self.cells += other.cells
        self.runs += other.runs
        self.environments += other.environments
        self.messages.update(other.messages)
        self.problems += other.problems


def journals(dataset: Path) -> list[Path]:
    """The journals of a dataset, by name."""
    return sorted((dataset / "journal").glob("*.jsonl"))


def read_journal(path: Path) -> Entries:
    """Everything readable in one journal.

    A last line without its newline is a cell that was in flight, and is left out. Any other line that cannot be used
    is reported with its number in ``problems``, and the rest is kept. A journal that has gone (compacted in the
    meantime) is empty.
    """
    found = Entries()
    try:
        if path.exists() and not path.is_file():
            found.problems.append(f"{path}: is no file, and cannot be a journal")
            return found
        with path.open("rb") as file:
            for number, line in enumerate(_lines(file), start=1):
                _use(line, found, f"{path}: line {number}")
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"{path}: cannot be read ({error.strerror})")
    return found


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines, each with its newline if it has one; of a line that is too long only its beginning."""
    while line := file.readline(_LONGEST):
        rest = line
        while len(rest) == _LONGEST and not rest.endswith(b"\n"):
            rest = file.readline(_LONGEST)
        yield line


def _use(line: bytes, found: Entries, where: str) -> None:
    if not line.endswith(b"\n") and len(line) < _LONGEST:
        # in flight; unless its last byte was a newline once, and it is whole without it
        if _CHECKED.match(line) and _intact(line[:-1]):
            found.problems.append(f"{where} has been changed at its end; it is not used, the other lines are")
        return
    try:
        if len(line) == _LONGEST:
            raise StoreError(f"it is longer than {_LONGEST >> 20} MiB")
        notes = _read_line(line[:-1], found)
        found.problems += [f"{where}: {note}" for note in notes]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        found.problems.append(f"{where} cannot be read ({_why(error)}); the other lines are used")
    except StoreError as error:
        found.problems.append(f"{where} is not used ({error}); the other lines are")


def read_journals(dataset: Path) -> Entries:
    """Everything readable in all journals of a dataset."""
    found = Entries()
    for path in journals(dataset):
        found.add(read_journal(path))
    return found


def _intact(line: bytes) -> bool:
    """Whether a line is what was written; one without a checksum (of an older journal) counts as such."""
    match = _CHECKED.match(line)
    return match is None or int(match[1], 16) == zlib.crc32(b"{" + line[match.end() :])


def _read_line(line: bytes, found: Entries) -> list[str]:
    """Take up a line; sentences about what of it was not kept."""
    if not _intact(line):
        raise StoreError("it has been changed: its checksum is that of another line")
    entry = json.loads(line)
    if not isinstance(entry, dict) or entry.keys() - _KEYS:
        raise StoreError("it is no entry of a journal")
    kind = entry["kind"]
    if kind in ("cell", "run"):
        row, notes = check_row(f"{kind}s", entry["row"])
        messages = {text(key): text(value) for key, value in (entry.get("messages") or {}).items()}
        (found.cells if kind == "cell" else found.runs).append(row)
        found.messages.update(messages)
    elif kind == "environment":
        row, notes = check_row("environments", entry["row"])
        found.environments.append(row)
    else:
        raise StoreError(f"entries of kind {shown(kind)} are not known")
    return notes


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "too many brackets within each other"
    return f"no {error} in it" if isinstance(error, KeyError) else str(error) or type(error).__name__
