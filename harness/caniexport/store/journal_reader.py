"""Reading journals: tolerant of what a killed process or a broken disk leaves, silent about nothing."""

from __future__ import annotations

import json
import re
import stat
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caniexport.model.errors import StoreError
from caniexport.store.entering import check_row
from caniexport.store.schema import shown, text

#: how a line begins that carries the checksum of what follows (caniexport.model.journal)
_CHECKED = re.compile(rb'\{"crc": "([0-9a-f]{8})", ')


@dataclass
class Entries:
    """What journals hold, in the order of their lines; rows have the columns and types of the contract."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    environments: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows by table, first those that others refer to."""
        texts = [{"message_id": key, "text": text} for key, text in self.messages.items()]
        return {"messages": texts, "environments": self.environments, "cells": self.cells, "runs": self.runs}

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


def read_journals(dataset: Path) -> Entries:
    """Everything readable in all journals of a dataset."""
    found = Entries()
    for path in journals(dataset):
        found.add(read_journal(path))
    return found


def read_journal(path: Path) -> Entries:
    """Everything readable in one journal.

    A last line without its newline is a cell that was in flight, and is left out. Any other line that cannot be used
    is reported with its number in ``problems``, and the rest is kept. A journal that has gone (compacted in the
    meantime) is empty.
    """
    found = Entries()
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            found.problems.append(f"{path}: is no file, and cannot be a journal")
            return found
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}: line {number}"
                if line.endswith(b"\n"):
                    _use(line[:-1], found, where)
                elif _is_intact(line) or _is_intact(line[:-1]):
                    # not in flight: it is whole, and its newline was changed or cut off
                    found.problems.append(f"{where} has been changed at its end; it is not used, the other lines are")
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"{path}: cannot be read ({error.strerror})")
    return found


def _use(line: bytes, found: Entries, where: str) -> None:
    try:
        notes = _read_line(line, found)
        found.problems += [f"{where}: {note}" for note in notes]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        found.problems.append(
            f"{where} cannot be read ({str(error) or type(error).__name__}); the other lines are used"
        )
    except StoreError as error:
        found.problems.append(f"{where} is not used ({error}); the other lines are")


def _is_intact(line: bytes) -> bool:
    """Whether a line has a checksum, and it is that of the rest."""
    match = _CHECKED.match(line)
    return match is not None and int(match[1], 16) == zlib.crc32(b"{" + line[match.end() :])


def _read_line(line: bytes, found: Entries) -> list[str]:
    """Take up a line; sentences about what of it was not kept. One without a checksum is of an older journal."""
    if _CHECKED.match(line) and not _is_intact(line):
        raise StoreError("it has been changed: its checksum is that of another line")
    entry = json.loads(line)
    kinds: dict[str, list[dict[str, Any]]] = {
        "cell": found.cells,
        "run": found.runs,
        "environment": found.environments,
    }
    if entry["kind"] not in kinds:
        raise StoreError(f"entries of kind {shown(entry['kind'])} are not known")
    row, notes = check_row(f"{entry['kind']}s", entry["row"])
    messages = {text(key): text(value) for key, value in (entry.get("messages") or {}).items()}
    kinds[entry["kind"]].append(row)
    found.messages.update(messages)
    return notes
