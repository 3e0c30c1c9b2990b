"""After the export: a user's own file through the tools that they name, one after the other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from caniexport import names
from caniexport.answers.answer import LONGEST, Answer, AnswerOutcome, Cell, Code, Mark, Message, Table
from caniexport.answers.outcomes import short_cause
from caniexport.bundles.pack import write_archive
from caniexport.check.cells import CALL_ORDER, CheckedCell
from caniexport.check.target import Options
from caniexport.machine import interpreters
from caniexport.model.status import WORKS, Status
from caniexport.runner.archive import ArchiveEntry
from caniexport.runtime_releases import RUNTIMES, Kind, RuntimeRelease, find_releases
from caniexport.store.journal_reader import read_journals

#: what people call a step
_ALIASES = {"fp16": "onnxruntime-half", "int8": "onnxruntime-quantize:dynamic", "slim": "onnxslim"}


@dataclass(frozen=True)
class RoadStep:
    """A tool with what is asked of it."""

    release: RuntimeRelease
    asked: str

    @property
    def text(self) -> str:
        """``onnx-converter:to13``."""
        return self.release.runtime + ("" if self.asked == "cpu" else f":{self.asked}")


def read_steps(texts: Iterable[str]) -> tuple[RoadStep, ...]:
    """Read ``TOOL``, ``TOOL==VERSION``, ``TOOL:SETTING`` or what people call it. Raises :class:`UnknownName`."""
    tools = [item.runtime for item in RUNTIMES if item.kind is Kind.TOOL and item.providers != ("none",)]
    found = []
    for text in texts:
        named, _, asked = _ALIASES.get(text, text).partition(":")
        name, _, version = named.partition("==")
        names.require("tool", name, (*dict.fromkeys(tools), *_ALIASES))
        release = find_releases(f"{name}=={version}" if version else name)[-1]
        if asked:
            names.require(f"setting of {name}", asked, release.providers)
        found.append(RoadStep(release, asked or release.providers[0]))
    return tuple(found)


def follow_road(
    answer: Answer,
    cells: Sequence[CheckedCell],
    steps: Sequence[RoadStep],
    work: Path,
    options: Options,
    say: Callable[[str], None],
) -> Answer:
    """Take the file of the first call that works through the steps; the answer with a table of how far it came.

    work  the folder of the check, with the files that it exported
    """
    working = [cell for cell in cells if cell.works and cell.bundle]
    if not (working and steps):
        return answer
    cell = min(working, key=lambda cell: CALL_ORDER.index(cell.exporter))
    path = work / "bundles" / cell.bundle[:2] / f"{cell.bundle}.zip"
    entry = ArchiveEntry(cell.bundle, "own", cell.case, cell.variant, options.rtol, options.atol)
    write_archive(work / "road.zip", [entry], {cell.bundle: path.read_bytes}, {})
    rows: list[tuple[Cell, ...]] = []
    for end, step in enumerate(steps, start=1):
        say(f"after the export: {step.text}")
        row, text = _run_steps(work, steps[:end], cell.bundle)
        facts, status = json.loads(row.get("facts") or "{}"), Status(row["status"])
        why = Message(short_cause(text), text) if text else None
        rows.append((Code(step.text), Mark(status), _change(facts, "nodes"), _change(facts, "bytes"), why))
        if status not in WORKS:
            is_run = status is not Status.NOT_RUN
            end_text = f"{step.text} breaks it ({status.value})" if is_run else f"{step.text} could not be run"
            outcome = AnswerOutcome.FAILS if is_run else AnswerOutcome.NOT_MEASURED
            answer = replace(answer, verdict=f"The export works; {end_text}."[:LONGEST], outcome=outcome)
            break
    table = Table(f"after the export, from the {cell.call}", ("step", "", "nodes", "bytes", "why"), tuple(rows))
    return replace(answer, tables=(answer.tables[0], table, *answer.tables[1:]))


def _run_steps(work: Path, steps: Sequence[RoadStep], bundle: str) -> tuple[Mapping[str, Any], str]:
    """The row of the bundle after these steps, and its text."""
    pins = [pin for step in steps for pin in step.release.requirements(step.asked)]
    wanted = {pin.partition("==")[0]: pin for pin in pins}  # of two releases of a package the later step's
    rows, release = work / f"road-{len(steps)}", steps[0].release
    command = ["uv", "run", "--no-project", "--quiet", "--python", str(interpreters.find_python(release.python))]
    command += [word for pin in wanted.values() for word in ("--with", pin)]
    command += ["python", str(work / "road.zip"), "-o", str(rows), "--runtime"]
    one, several = [release.runtime, "--provider", steps[0].asked], ["+".join(step.text for step in steps)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command + (several if len(steps) > 1 else one), capture_output=True, text=True, check=False, env=environment
    )
    found = read_journals(rows)
    for row in found.runs:
        if row.get("bundle") == bundle:
            return row, found.messages.get(row.get("message_id") or "", "")
    return {"status": Status.NOT_RUN.value}, (done.stderr or done.stdout).strip()


def _change(facts: Mapping[str, Any], name: str) -> str:
    """``12 → 9``."""
    return " → ".join(map(str, facts.get(name, ())))
