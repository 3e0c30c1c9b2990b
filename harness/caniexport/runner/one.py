"""One bundle on a runtime, from its file to done. Never raises: whatever happens is the row's content."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from caniexport.model.messages import (
    clean_text,
    describe,
    describe_exception,
    make_message_id,
    make_signature,
    read_text,
)
from caniexport.model.status import Stage, Status
from caniexport.runner import tensors
from caniexport.runner.adapters.base import Adapter, AdapterSession, Given, Refused
from caniexport.runner.archive import Archive, ArchiveEntry, BundleFiles, UnusableBundle
from caniexport.runner.wire import Malformed
from caniexport.worker import compare
from caniexport.worker.failures import Outcome, classify_error, failed_outcome

Announce = Callable[[Stage], None]


class _ReplayStop(Exception):
    def __init__(self, stage: Stage, status: Status, described: Tuple[str, str, str]) -> None:
        super().__init__(described[2])
        self.outcome = failed_outcome(stage, status, described)


class BundleResult(NamedTuple):
    """A bundle's outcome, and its outputs: by input set, the arrays in the order of the file's outputs.

    The outputs are ``None`` where the provider asked for gave none.
    """

    outcome: Outcome
    outputs: Optional[List[List[Any]]]


def run_bundle(adapter: Adapter, archive: Archive, entry: ArchiveEntry, announce: Announce) -> BundleResult:
    """Run one bundle and return its outcome. An error of the runtime is an outcome and is not raised.

    ``announce`` is called with each stage before it begins.
    """
    row: Dict[str, Any] = {}
    outputs: List[List[Any]] = []
    try:
        outcome = _run_stages(adapter, archive, entry, announce, row, outputs)
    except _ReplayStop as stop:
        outcome = stop.outcome
    return BundleResult(outcome._replace(row=dict(row, **outcome.row)), outputs or None)


def _run_stages(
    adapter: Adapter,
    archive: Archive,
    entry: ArchiveEntry,
    announce: Announce,
    row: Dict[str, Any],
    outputs: List[List[Any]],
) -> Outcome:
    """Fill ``row`` and ``outputs`` as far as it comes: whatever ends the bundle is raised as :class:`_ReplayStop`."""
    bundle = _read_bundle(archive, entry)
    inputs, expected = _read_tensors(bundle) if adapter.computes else (_read_inputs(bundle), [])
    at = _Stages(adapter, announce)
    started = time.perf_counter()
    with at.stage(Stage.LOAD):
        session = adapter.load(Given(bundle.model, entry.options, inputs), at.announce)
    row["seconds_load"] = _round_seconds(time.perf_counter() - started)
    if session.facts:
        row["facts"] = dict(session.facts)
    if adapter.computes:
        found, borrowed = _run_inputs(session, inputs, at, row)
        if session.placement:
            row["placement"] = json.dumps(session.placement, sort_keys=True)
        if session.absent:
            raise _ReplayStop(Stage.PLACE, Status.UNSUPPORTED, describe("place", "Absent", session.absent))
        outputs.extend(found)
        _compare(adapter, entry, expected, outputs, at, row)
        if borrowed:
            raise _ReplayStop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Borrowed", "\n".join(borrowed)))
    if session.degraded:
        return failed_outcome(Stage.DONE, Status.DEGRADED, describe("done", "Degraded", session.degraded))
    return Outcome({"stage": Stage.DONE.value, "status": Status.PASS.value}, {})


class _Stages:
    """Where the bundle is; an adapter that goes on to a further stage says so."""

    def __init__(self, adapter: Adapter, announce: Announce) -> None:
        self._adapter = adapter
        self._announce = announce
        self._stage = Stage.LOAD

    def announce(self, stage: Stage) -> None:
        self._stage = stage
        self._announce(stage)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Whatever is raised within ends the bundle there."""
        self.announce(stage)
        try:
            yield
        except _ReplayStop:
            raise
        except Exception as error:  # what a runtime raises is the measurement
            raise _ReplayStop(self._stage, _classify(error), self._described(error)) from error

    def in_set(self, index: int, error: BaseException) -> _ReplayStop:
        """What ended the run of an input set."""
        sign, _, text = self._described(error)
        text = "input set {}: {}".format(index, text)
        return _ReplayStop(self._stage, _classify(error), (sign, make_message_id(text), text))

    def _described(self, error: BaseException) -> Tuple[str, str, str]:
        sign, identifier, text = describe_exception(self._stage.value, error)
        # of the whole text: what is kept of a long one may have lost it
        reason = self._adapter.reason(read_text(error))
        if reason:
            sign = make_signature(self._stage.value, type(error).__name__, clean_text(reason))
        return sign, identifier, text


def _classify(error: BaseException) -> Status:
    return Status.UNSUPPORTED if isinstance(error, Refused) else classify_error(error)


def _read_bundle(archive: Archive, entry: ArchiveEntry) -> BundleFiles:
    try:
        return archive.read(entry.bundle)
    except UnusableBundle as error:
        raise _ReplayStop(Stage.LOAD, Status.INVALID, describe("load", "UnusableBundle", str(error))) from error


def _read_tensors(bundle: BundleFiles) -> Tuple[List[List[Any]], List[List[Any]]]:
    """Arrays of every input set and of its expected outputs; what cannot be read says nothing about the runtime."""
    try:
        inputs = [[tensors.read_tensor(data) for data in files] for files in bundle.inputs]
        return inputs, [[tensors.read_tensor(data) for data in files] for files in bundle.outputs]
    except tensors.NoNumpyType as error:
        raise _ReplayStop(Stage.RUN, Status.SKIP, describe("run", "NoNumpyType", str(error))) from error
    except Malformed as error:
        if not tensors.has_only_tensors(bundle.model):
            text = "a sequence or an optional value is no tensor"
            raise _ReplayStop(Stage.RUN, Status.SKIP, describe("run", "NoNumpyType", text)) from error
        raise _ReplayStop(Stage.LOAD, Status.INVALID, describe("load", "Malformed", str(error))) from error


def _read_inputs(bundle: BundleFiles) -> List[List[Any]]:
    """The inputs for a runtime that only reads models: it reads those too whose tensors numpy cannot hold."""
    return [[_read_array(data) for data in files] for files in bundle.inputs]


def _read_array(data: bytes) -> Optional[Any]:
    try:
        return tensors.read_tensor(data)
    except (tensors.NoNumpyType, Malformed):
        return None


def _run_inputs(
    session: AdapterSession, inputs: List[List[Any]], at: _Stages, row: Dict[str, Any]
) -> Tuple[List[List[Any]], List[str]]:
    """The outputs of every input set, and which of them are not the caller's to keep."""
    found: List[List[Any]] = []
    borrowed: List[str] = []
    seconds = 0.0
    for index, arrays in enumerate(inputs):
        with at.stage(Stage.RUN):
            feeds = _make_feeds(session.input_names, arrays)
            started = time.perf_counter()
            try:
                given = list(session.run(feeds))
            except Exception as error:
                raise at.in_set(index, error) from error
            seconds += time.perf_counter() - started
            borrowed += ["input set {}, {}".format(index, line) for line in compare.find_borrowed_outputs(given, feeds)]
            # copies: a runtime may write the memory of what it gave again with the next input set
            found.append([value.copy() if isinstance(value, np.ndarray) else value for value in given])
    row["seconds_run"] = _round_seconds(seconds)
    return found, borrowed


def _make_feeds(names: Any, arrays: List[Any]) -> Dict[str, Any]:
    """A bundle's arrays are in the order of the file's inputs."""
    if len(names) > len(arrays):
        raise ValueError(
            "the file takes {} input(s) ({}), the module {}".format(len(names), ", ".join(names), len(arrays))
        )
    return dict(zip(names, arrays))


def _compare(
    adapter: Adapter,
    entry: ArchiveEntry,
    expected: List[List[Any]],
    outputs: List[List[Any]],
    at: _Stages,
    row: Dict[str, Any],
) -> None:
    with at.stage(Stage.COMPARE):
        result = measure_difference(entry, expected, outputs, adapter.name, adapter.may_change)
        if result is None:
            return
        row.update(max_abs_error=result.max_abs, max_rel_error=result.max_rel)
        if result.problem:
            raise _ReplayStop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Mismatch", result.problem))


def measure_difference(
    entry: ArchiveEntry, expected: List[List[Any]], outputs: List[List[Any]], who: str, may_change: float = 0.0
) -> Optional[compare.Difference]:
    """Return how far outputs are from those expected, over all input sets; ``None`` where there is no set.

    ``expected`` and ``outputs`` are arrays by input set and output. ``who`` names the side that is judged. The
    tolerances are the entry's own, else those of the output's type; ``may_change`` widens them by this share of each
    output's largest value.
    """
    sets = [_encode_texts(want, got) for want, got in zip(expected, outputs)]
    if not sets:
        return None
    steps = [may_change * max(map(_find_largest, arrays)) for arrays in zip(*expected)] if may_change else []
    return compare.compare_sets(sets, entry.rtol, entry.atol, who, quanta=steps)


def _find_largest(array: Any) -> float:
    """The largest finite magnitude of an array of floats; 0 where it has none."""
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind in "fc" else np.zeros(0)
    return float(finite.max()) if finite.size else 0.0


def _encode_texts(expected: List[Any], actual: List[Any]) -> Tuple[List[Any], List[Any]]:
    """Outputs of text as numbers, 0 where both sides have the same text and 1 where the runtime's is another one."""
    left, right = list(expected), list(actual)
    for place, (want, got) in enumerate(zip(expected, actual)):
        got = np.asarray(got)
        if want.dtype.kind != "O" or got.dtype.kind not in "OSU":
            continue
        left[place] = np.zeros(want.shape, "int64")
        same_shape = want.shape == got.shape
        right[place] = (want != got).astype("int64") if same_shape else np.zeros(got.shape, "int64")
    return left, right


def _round_seconds(value: float) -> float:
    """Two digits: all that a single run of a millisecond is worth, and a column that stays small."""
    return float("{:.2g}".format(value))
