"""Measure one cell: eager, export, check, load, run, compare. :mod:`caniexport.worker.server` starts its process."""

from __future__ import annotations

import errno
import json
import os
import resource
import time
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from caniexport.model import runtimes
from caniexport.model.case import PLAIN, Variant
from caniexport.model.messages import clean_text, describe, describe_exception, make_message_id, read_text
from caniexport.model.plan import Cell
from caniexport.model.status import Checker, Exporter, Stage, Status
from caniexport.worker import compare, exporters, onnx_file, subject
from caniexport.worker.failures import Outcome, classify_error, failed_outcome
from caniexport.worker.sharing import share_steps


class _CellStop(Exception):
    """Ends a cell at a stage with a status; ``described`` has signature, message id and text."""

    def __init__(self, stage: Stage, status: Status, described: Tuple[str, str, str]) -> None:
        super().__init__(described[2])
        self.outcome = failed_outcome(stage, status, described)


class Eager(NamedTuple):
    """Eager results of a variant: inputs and expected outputs of each input set."""

    inputs: List[Tuple[Any, ...]]
    truth: List[List[Any]]
    example_outputs: Any
    difference: float
    seconds: float


#: eager results, or the failure, by case and variant: the same for every exporter and opset
EagerResults = Dict[Tuple[str, str], Union[Eager, _CellStop]]


def measure_cell(
    cell: Cell,
    variants: Dict[str, Variant],
    announce: Callable[[Stage], None],
    bundles: Optional[Path],
    known: Optional[EagerResults] = None,
    checks: bool = True,
) -> Outcome:
    """Measure one cell and return its outcome. Never raises for what torch, the checker or the runtime does.

    announce  is called with each stage before it begins
    known     keeps eager results between cells of one process
    checks    false where onnx's checker has crashed before
    """
    run = _CellRun(cell, variants, announce, bundles, {} if known is None else known, checks)
    try:
        run.measure()
    except _CellStop as stop:
        run.row.update(stop.outcome.row)
        run.messages.update(stop.outcome.messages)
    run.row["load"] = os.getloadavg()[0]
    if run.facts:
        run.row["facts"] = json.dumps(run.facts, sort_keys=True)
    return Outcome(run.row, run.messages)


class _CellRun:
    """Measures one cell, step by step, into ``row``."""

    def __init__(
        self,
        cell: Cell,
        variants: Dict[str, Variant],
        announce: Callable[[Stage], None],
        bundles: Optional[Path],
        known: EagerResults,
        checks: bool,
    ) -> None:
        self.cell = cell
        self.variant = variants[cell.variant]
        self.case = self.variant.case
        self.exporter = self.variant.exporter(cell.exporter)
        self.opset = self.variant.opset(cell.opset)
        self.known = known
        self.plain = variants.get(PLAIN, self.variant)
        self.announce = announce
        self.checks = checks
        self.bundles = bundles
        self.facts: Dict[str, Any] = {}
        self.messages: Dict[str, str] = {}
        self.borrowed: List[str] = []
        #: the arrays of the file's inputs for each input set, or the reason why there are none
        self.feeds: Sequence[Dict[str, Any]] = ()
        self.unfed: Optional[ValueError] = None
        self.quanta: List[float] = []
        self.row: Dict[str, Any] = {"runtime": "onnxruntime"}

    def measure(self) -> None:
        eager = self._find_eager()
        self.row["seconds_eager"] = eager.seconds
        if self.variant.changes_values:
            self.facts["eager_difference"] = round(eager.difference, 6)
        with self._stage(Stage.EXPORT):
            content = self._export(eager)
        with self._stage(Stage.CHECK):
            bundle = self._check(content, eager)
        with self._stage(Stage.LOAD):
            session = runtimes.load(bundle.model, self.cell.provider, self.variant.session)
            self.row["seconds_load"] = session.seconds_load
        outputs = self._run(session)
        with self._stage(Stage.COMPARE):
            self._compare(eager.truth, outputs)
        self._finish()

    @contextmanager
    def _stage(self, stage: Stage) -> Iterator[None]:
        """Announce a stage; whatever it raises ends the cell there."""
        self.announce(stage)
        try:
            yield
        except _CellStop:
            raise
        except Exception as error:  # what torch, a case or a runtime raises is the measurement
            raise _CellStop(stage, _classify_error(stage, error), describe_exception(stage.value, error)) from error

    def _find_eager(self) -> Eager:
        key = (self.cell.case, self.cell.variant)
        if key not in self.known:
            try:
                with self._stage(Stage.EAGER):
                    self.known[key] = _run_eager(self.variant, self.plain, self.cell.case)
            except _CellStop as stop:
                self.known[key] = stop
        result = self.known[key]
        if isinstance(result, _CellStop):
            raise result
        return result

    def _export(self, eager: Eager) -> bytes:
        variant, case, opset = self.variant, self.case, self.opset
        module = subject.build_module(variant, self.cell.case)
        args = tuple(subject.to_tensors(item) for item in eager.inputs[0])
        if variant.prepare is not None:
            module = variant.prepare(module, args)
        names = tuple(exporters.find_argument_names(variant.forward, len(args))) if case.named else ()
        request = exporters.ExportRequest(
            module,
            args,
            self.exporter,
            opset,
            names,
            case.output_names,
            variant.dynamic,
            variant.options(),
            eager.example_outputs,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                used = exporters.find_default_opset() if opset is None else opset
                patch = nullcontext() if variant.patch is None else variant.patch(used)
                # a patch or a preparation may depend on the opset
                is_shared = variant.patch is None and variant.prepare is None and variant.route is None
                with patch, share_steps(is_shared):
                    held, started = _read_peak(), time.perf_counter()
                    content = (variant.route or exporters.export)(request)
                    self.row.update(
                        seconds_export=time.perf_counter() - started,
                        memory_mb=_read_peak() - held,
                        file_bytes=len(content),
                    )
            finally:
                self._note_warnings(caught)
        return content

    def _check(self, content: bytes, eager: Eager) -> onnx_file.Bundle:
        import onnx

        model = onnx_file.parse_model(content)
        if self.variant.surgery is not None:
            model = self.variant.surgery(model)
        self.row.update(onnx_file.read_facts(model), exporter_effective=onnx_file.find_exporter(model, self.exporter))
        self.quanta = onnx_file.find_quanta(model)
        bundle = onnx_file.Bundle(onnx_file.normalize(model), self._order_inputs(model, eager), eager.truth)
        self.row["bundle"] = onnx_file.write_bundle(bundle, self.bundles)
        if self.case.facts is not None:
            self.facts.update(_read_case_facts(self.case.facts, model))
        if self.checks:
            self._note_checker(onnx, model)
        return bundle

    def _order_inputs(self, model: Any, eager: Eager) -> List[List[Any]]:
        """Return each input set in the order of the file's inputs, for the bundle."""
        given = [(subject.arrays_by_name(self.variant, item), subject.arrays_in_order(item)) for item in eager.inputs]
        try:
            sources = runtimes.choose_sources(onnx_file.find_inputs(model), *given[0])
        except ValueError as error:
            # the file has more inputs than the module: the cell fails at stage run
            self.unfed = error
            return [positional for _, positional in given]
        self.feeds = [runtimes.make_feeds(sources, *item) for item in given]
        return [list(feeds.values()) for feeds in self.feeds]

    def _note_checker(self, onnx: Any, model: Any) -> None:
        """Note the result of onnx's checker. A refusal does not end the cell: the runtime may still run the file."""
        strict, plain = _find_checker_error(onnx, model, full_check=True), None
        if strict is not None:
            plain = _find_checker_error(onnx, model)
            _, identifier, text = describe_exception(Stage.CHECK.value, strict if plain is None else plain)
            self.messages[identifier] = text
            self.row["checker_id"] = identifier
        refuses = Checker.PLAIN if plain is not None else Checker.STRICT
        self.row["checker"] = (Checker.OK if strict is None else refuses).value

    def _run(self, session: runtimes.Session) -> List[List[Any]]:
        outputs, seconds = [], 0.0
        if self.unfed is not None:
            with self._stage(Stage.RUN):
                raise self.unfed
        for index, feeds in enumerate(self.feeds):
            with self._stage(Stage.RUN):
                started = time.perf_counter()
                try:
                    outputs.append(session.run(feeds))
                except Exception as error:
                    raise _CellStop(
                        Stage.RUN, _classify_error(Stage.RUN, error), _describe_in_set(Stage.RUN, index, error)
                    ) from error
                seconds += time.perf_counter() - started
                self.borrowed += [
                    "input set {}, {}".format(index, x) for x in compare.find_borrowed_outputs(outputs[-1], feeds)
                ]
        self.row["seconds_run"] = seconds
        return outputs

    def _compare(self, truth: List[List[Any]], outputs: List[List[Any]]) -> None:
        variant = self.variant
        result = compare.compare_sets(
            zip(truth, outputs),
            variant.rtol,
            variant.atol,
            "onnxruntime",
            values=variant.compares_values,
            by_largest=variant.by_largest,
            quanta=self.quanta,
        )
        self.row.update(max_abs_error=result.max_abs, max_rel_error=result.max_rel, rtol=result.rtol, atol=result.atol)
        if result.problem:
            raise _CellStop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Mismatch", result.problem))
        if self.borrowed:
            raise _CellStop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Borrowed", "\n".join(self.borrowed)))

    def _finish(self) -> None:
        """Complete the row of a cell that works; it is degraded where the file is not what was asked for."""
        reasons = []
        opset, exporter = self.row["opset_effective"], self.row["exporter_effective"]
        if self.opset not in (None, opset):
            reasons.append("opset {} asked for, the file has {}".format(self.opset, opset))
        if self.exporter not in (Exporter.DEFAULT.value, exporter):
            reasons.append("exporter {} asked for, {} wrote the file".format(self.exporter, exporter))
        status = Status.DEGRADED if reasons else Status.PASS
        self.row.update(stage=Stage.DONE.value, status=status.value)
        if reasons:
            signature, identifier, text = describe("done", "Degraded", "; ".join(reasons))
            self.messages[identifier] = text
            self.row.update(signature=signature, message_id=identifier)

    def _note_warnings(self, caught: Sequence[Any]) -> None:
        lines: List[str] = []
        for item in caught:
            line = "{}: {}".format(item.category.__name__, str(item.message).strip())
            if line not in lines and not issubclass(item.category, (DeprecationWarning, FutureWarning)):
                lines.append(line)
        if lines:
            text = clean_text("\n".join(lines))
            identifier = make_message_id(text)
            self.messages[identifier] = text
            self.row["warning_id"] = identifier


def _run_eager(variant: Variant, plain: Variant, case_id: str) -> Eager:
    """Run the module on every input set; compare a workaround with the case's reference, else with ``plain``."""
    inputs = subject.make_arrays(variant, case_id)
    timed = [_run_forward(variant, case_id, item) for item in inputs]
    raw = [output for output, _ in timed]
    outputs = [subject.flatten_output(item) for item in raw]
    if variant.case.reference is not None:
        truth = _run_reference(plain, case_id, inputs)
    elif variant.fix is None:
        truth = outputs
    else:
        truth = [subject.flatten_output(_run_forward(plain, case_id, item)[0]) for item in inputs]
    difference = 0.0 if variant.fix is None else _measure_difference(variant, truth, outputs)
    seconds = sum(seconds for _, seconds in timed)
    return Eager(inputs, outputs if variant.changes_values else truth, raw[0], difference, seconds)


def _measure_difference(variant: Variant, truth: List[List[Any]], outputs: List[List[Any]]) -> float:
    """Return the largest difference between a workaround and ``plain``. Raises beyond the tolerance."""
    result = compare.compare_sets(zip(truth, outputs), variant.rtol, variant.atol, "the fix")
    if result.problem and not variant.changes_values:
        raise _CellStop(Stage.EAGER, Status.MISMATCH, describe("eager", "NotEquivalent", result.problem))
    return result.max_abs


def _run_forward(variant: Variant, case_id: str, inputs: Sequence[Any]) -> Tuple[Any, float]:
    """The output of a fresh module, and the seconds of its call."""
    import torch

    module = subject.build_module(variant, case_id)
    tensors = [subject.to_tensors(item) for item in inputs]
    torch.manual_seed(0)
    with torch.no_grad():
        started = time.perf_counter()
        output = module(*tensors)
        return output, time.perf_counter() - started


def _read_peak() -> float:
    """The largest size that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run_reference(plain: Variant, case_id: str, inputs: Sequence[Tuple[Any, ...]]) -> List[List[Any]]:
    import torch

    truth = plain.case.reference
    assert truth is not None
    found = []
    with torch.no_grad():
        for item in inputs:
            module = subject.build_module(plain, case_id)
            found.append(subject.flatten_output(truth(module, *[subject.to_tensors(part) for part in item])))
    return found


def _find_checker_error(onnx: Any, model: Any, **strictness: bool) -> Optional[Exception]:
    """Return the exception that the checker raises for a file, ``None`` for a valid file."""
    try:
        onnx.checker.check_model(model, **strictness)
    except TypeError as error:
        # before onnx 1.6 the checker had no full check
        return _find_checker_error(onnx, model) if strictness else error
    except Exception as error:
        return error
    return None


def _read_case_facts(of_case: Callable[[Any], Dict[str, Any]], model: Any) -> Dict[str, Any]:
    """Return the facts that a case reads from its file, as JSON values; ``facts_error`` where its code fails."""
    try:
        found: Dict[str, Any] = json.loads(json.dumps(of_case(model), allow_nan=False))
        return dict(found)
    except Exception as error:  # the case's own failure is no status of torch
        return {"facts_error": "{}: {}".format(type(error).__name__, read_text(error))}


def _classify_error(stage: Stage, error: BaseException) -> Status:
    status = classify_error(error, is_export=stage is Stage.EXPORT)
    if status is not Status.FAIL:
        return status
    if isinstance(error, runtimes.WrongProvider):
        return Status.UNSUPPORTED
    is_ours = isinstance(error, runtimes.UncertainInputs) or _is_full_disk(error)
    return Status.INVALID if is_ours else Status.FAIL


def _is_full_disk(error: Optional[BaseException]) -> bool:
    """Return whether a full disk of this machine caused the error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe_in_set(stage: Stage, index: int, error: BaseException) -> Tuple[str, str, str]:
    signature, _, text = describe_exception(stage.value, error)
    text = "input set {}: {}".format(index, text)
    return signature, make_message_id(text), text
