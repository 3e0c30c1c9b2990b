"""Running the bundles of an archive in forked processes: one that kills or hangs its own gets its row, and the next
one goes on.

The parent never imports the runtime. What ended a process is confirmed by running that bundle once more, as the first
of a new one: memory that an earlier bundle has spoilt must not be charged to a later one. The new process then goes on
with the rest, so that a row of bundles that crash costs one start each.

A failure after which the device cannot be used ends the process without a row, unless it was the first bundle's. Where
outputs are held against the CPU provider's, the row comes before that already (``so_far``): what then ends the process
is not charged to the provider.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from caniexport.model.messages import describe
from caniexport.model.status import Stage, Status
from caniexport.runner import adapters, beside, one
from caniexport.runner.adapters.base import Running, Unavailable
from caniexport.runner.archive import Archive
from caniexport.worker.failures import Ending, Outcome, failed_outcome
from caniexport.worker.isolate import Child, Limits, Report, follow_children, run_in_child

#: how a bundle ends that may have left the device unusable
_MAY_SPOIL = (Status.FAIL.value, Status.OOM.value)
#: characters of an ending that its signature is made of
_REASON = 200


class ReplaySettings(NamedTuple):
    """What to run on, and the limits of one bundle.

    ``limits`` are seconds, and MiB beyond the size of the started runtime.
    """

    archive: Path
    runtime: str
    provider: str
    limits: Limits = Limits(60.0, 4096)

    @property
    def process_limits(self) -> Limits:
        """The limits of a process: without one of memory where the adapter takes none."""
        limits_memory = adapters.find_adapter(self.runtime, self.provider).limits_memory
        return self.limits if limits_memory else self.limits._replace(memory_mb=0)


class _Worker:
    """The places that one process after the other works through."""

    def __init__(self, settings: ReplaySettings, places: Sequence[int]) -> None:
        self._settings = settings
        self.left = list(places)
        self.again: Optional[Ending] = None
        self.so_far: Optional[Outcome] = None
        self._is_started = False

    def start(self) -> Child:
        """A process for what is left; one that was late once may be a busy machine's, and gets twice as long."""
        self._is_started = False
        limits, places = self._settings.process_limits, list(self.left)
        if self.again is not None and self.again.status is Status.TIMEOUT:
            limits = limits._replace(seconds=limits.seconds * 2)
        return Child(lambda report: _run_in_child(report, self._settings, places), limits)

    def take(self, child: Child, message: Dict[str, Any]) -> Iterator[Tuple[int, Outcome]]:
        """Give the outcome that a message brings. Raises :class:`Unavailable`."""
        self._is_started = True
        if "text" in message:
            raise Unavailable(Stage(message["stage"]), message["text"])
        if "so_far" in message:
            self.so_far = Outcome(**message["so_far"])
        elif "outcome" in message:
            self.again = self.so_far = None
            child.limits = self._settings.process_limits
            yield self.left.pop(0), Outcome(**message["outcome"])

    def end(self, child: Child) -> Iterator[Tuple[int, Outcome]]:
        """Give the outcome of the bundle at which a process has ended, where it is the second time.

        Raises :class:`Unavailable` where it did not come as far.
        """
        ending = child.ending
        assert ending is not None
        if not self.left:
            return
        if not self._is_started:
            raise _make_unavailable(child)
        is_second, so_far = self.again is not None, self.so_far
        # the first time it may be an earlier bundle's doing, a busy machine's or a kill from outside
        self.again, self.so_far = None if is_second else ending, None
        if is_second:
            kind, text = _describe_ending(ending, child.limits)
            stage = Stage(child.stage or Stage.LOAD.value)
            described = describe(stage.value, kind, text, text[:_REASON])
            outcome = (
                failed_outcome(stage, ending.status, described)
                if so_far is None
                else beside.note_end(so_far, ending, text)
            )
            yield self.left.pop(0), outcome


def start_runtime(settings: ReplaySettings) -> Running:
    """Start the runtime once, to see whether it does. Raises :class:`Unavailable`."""
    messages, child = run_in_child(lambda report: _run_in_child(report, settings, []), settings.process_limits)
    if not messages:
        raise _make_unavailable(child)
    found: Dict[str, Any] = messages[0]
    if "text" in found:
        raise Unavailable(Stage(found["stage"]), found["text"])
    return Running(**found)


def run_bundles(settings: ReplaySettings, places: Sequence[int], workers: int) -> Iterator[Tuple[int, Outcome]]:
    """Run entries of the archive in ``workers`` processes; yield the place of each and its outcome when it has ended.

    Raises :class:`Unavailable` where the runtime cannot be started.
    """
    # neighbours, which are alike in size, go to different ones
    lanes = {}
    children: List[Child] = []
    for worker in range(min(workers, len(places))):
        lane = _Worker(settings, places[worker::workers])
        children.append(lane.start())
        lanes[children[-1]] = lane
    try:
        for child, line in follow_children(children):
            lane = lanes[child]
            if line is not None:
                yield from lane.take(child, json.loads(line.decode("utf-8")))
                continue
            yield from lane.end(child)
            if lane.left:
                children.append(lane.start())
                lanes[children[-1]] = lane
    finally:
        for child in children:
            if child.ending is None:
                child.kill()


def _make_unavailable(child: Child) -> Unavailable:
    assert child.ending is not None
    text = _describe_ending(child.ending, child.limits._replace(seconds=child.limits.start_seconds))[1]
    return Unavailable(Stage.IMPORT, "the runtime does not start: {}".format(text))


def _describe_ending(ending: Ending, limits: Limits) -> Tuple[str, str]:
    """The words for how a process ended: those of a signature's kind, and the text."""
    if ending.status is Status.TIMEOUT:
        return ending.kind, "still running after {:g} s".format(limits.seconds)
    if ending.status is Status.OOM:
        return ending.kind, "more than {} MiB".format(limits.memory_mb)
    if ending.status is Status.INVALID:
        return ending.kind, "killed from outside"
    name = "exit code {}".format(ending.code) if ending.kind == "Exit" else ending.kind
    return name, "\n".join(filter(None, ["ended by " + name, ending.output]))


def _run_in_child(report: Report, settings: ReplaySettings, places: Sequence[int]) -> None:
    """Run bundles in this process, which has the runtime."""
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what it prints is kept where it dies
    archive = Archive(settings.archive)
    adapter = adapters.find_adapter(settings.runtime, settings.provider)
    try:
        running = adapter.start()
    except Unavailable as error:
        report.send({"stage": error.stage.value, "text": str(error)})
        return
    report.ready(running._asdict())
    cpu = adapter.beside()
    for place in places:
        report.begin(Stage.LOAD.value)
        entry = archive.entries[place]
        ran = one.run_bundle(adapter, archive, entry, lambda stage: report.begin(stage.value))
        outcome = ran.outcome
        is_spoilt = outcome.row["status"] in _MAY_SPOIL and not adapter.still_works()
        if is_spoilt and place != places[0]:
            return
        if cpu is not None and beside.is_comparable(outcome):
            report.send({"so_far": outcome._asdict()})
            outcome = beside.compare_with_cpu(cpu, archive, entry, ran, adapter.may_change)
        report.send({"outcome": outcome._asdict()})
        if is_spoilt:
            return
