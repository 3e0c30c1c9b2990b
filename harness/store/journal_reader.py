"""Reading journals: tolerant of what a killed process or a broken disk leaves, silent about nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.store.schema import normalise
from harness.worker.errors import StoreError


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
        data = path.read_bytes()
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"{path}: cannot be read ({error.strerror})")
        return found
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            _read_line(line, found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            found.problems.append(f"{path}: line {number} cannot be read ({_why(error)}); the other lines are used")
        except StoreError as error:
            found.problems.append(f"{path}: line {number} is not used ({error}); the other lines are")
    return found


def read_journals(dataset: Path) -> Entries:
    """Everything readable in all journals of a dataset."""
    found = Entries()
    for path in journals(dataset):
        found.add(read_journal(path))
    return found


def _read_line(line: bytes, found: Entries) -> None:
    entry = json.loads(line)
    kind = entry["kind"]
    if kind in ("cell", "run"):
        row = normalise(f"{kind}s", entry["row"])
        messages = {str(key): str(text) for key, text in (entry.get("messages") or {}).items()}
        (found.cells if kind == "cell" else found.runs).append(row)
        found.messages.update(messages)
    elif kind == "environment":
        found.environments.append(normalise("environments", entry["row"]))
    else:
        raise StoreError(f"entries of kind {kind!r} are not known")


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return f"no {error} in it" if isinstance(error, KeyError) else str(error)
