"""The process that has the runtime: it runs one bundle after the other, in the order asked for.

It writes lines to the pipe that was its standard output; what the runtime prints goes to standard error::

    ready {"version": …, "device": …}      or  unavailable {"stage": …, "text": …}
    at run
    row 17 {"row": {…}, "messages": {…}}

A failure after which the device cannot be used ends the process without a row, unless it was the first bundle's: the
supervisor runs it again as the first of a new one, and no later bundle is charged with it.

Where outputs are held against the CPU provider's, the row comes before that as ``so-far`` already: what then ends the
process is not charged to the provider.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, List

from caniexport.model.status import Stage, Status
from caniexport.runner import adapters, beside, one
from caniexport.runner.adapters.base import Unavailable
from caniexport.runner.archive import Archive
from caniexport.worker.process import limit_memory
from caniexport.worker.process_tree import die_with_parent

#: how a bundle ends that may have left the device unusable
_MAY_SPOIL = (Status.FAIL.value, Status.OOM.value)


class _Lines:
    """The pipe to the supervisor. The runtime cannot reach it: its standard output is standard error."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)

    def write(self, *words: Any) -> None:
        data = (" ".join(map(str, words)) + "\n").encode("utf-8")
        while data:
            data = data[os.write(self._descriptor, data) :]


def serve(arguments: List[str]) -> int:
    """``archive runtime provider memory_mb``; the places of the entries to run come on standard input, one a line."""
    path, runtime, provider, memory = arguments
    lines = _Lines()
    die_with_parent()
    places = [int(line) for line in sys.stdin]
    archive = Archive(Path(path))
    adapter = adapters.find(runtime, provider)
    try:
        running = adapter.start()
    except Unavailable as error:
        lines.write("unavailable", json.dumps({"stage": error.stage.value, "text": str(error)}))
        return 0
    if int(memory) and provider == "cpu":
        # a GPU's runtime reserves address space by the hundred gigabytes
        limit_memory(int(memory))
    lines.write("ready", json.dumps(running._asdict()))

    def announce(stage: Stage) -> None:
        if stage is not Stage.LOAD:
            lines.write("at", stage.value)

    cpu = adapter.beside()
    for place in places:
        entry = archive.entries[place]
        ran = one.run(adapter, archive, entry, announce)
        outcome = ran.outcome
        spoilt = outcome.row["status"] in _MAY_SPOIL and not adapter.still_works()
        if spoilt and place != places[0]:
            return 1
        if cpu is not None and beside.wanted(outcome):
            lines.write("so-far", place, json.dumps(outcome._asdict()))
            outcome = beside.compared(cpu, archive, entry, ran)
        lines.write("row", place, json.dumps(outcome._asdict()))
        if spoilt:
            return 1
    return 0
