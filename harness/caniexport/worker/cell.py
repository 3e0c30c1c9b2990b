"""One cell, from eager to done. Everything here happens in a process of its own (:mod:`caniexport.worker.server`)."""

from __future__ import annotations

import errno
import json
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from caniexport.model import runtimes
from caniexport.model.case import PLAIN, Variant
from caniexport.model.messages import describe, describe_exception, message_id, tidy, words
from caniexport.model.plan import Cell
from caniexport.model.status import Checker, Exporter, Stage, Status
from caniexport.worker import compare, exporters, onnx_file, subject
from caniexport.worker.failures import Outcome, status_of
from caniexport.worker.sharing import shared


class _Stop(Exception):
    """The cell ends here, with this stage, status and explanation."""

    def __init__(self, stage: Stage, status: Status, described: Tuple[str, str, str]) -> None:
        super().__init__(described[2])
        self.stage = stage
        self.status = status
        self.described = described


class Eager(NamedTuple):
    """Inputs, and the values the export is held against, per input set."""

    inputs: List[Tuple[Any, ...]]
    truth: List[List[Any]]
    example_outputs: Any
    difference: float


#: what eager gave (or why it stopped) by case and variant: the same for every exporter and opset
EagerResults = Dict[Tuple[str, str], Union[Eager, _Stop]]


def measure(
    cell: Cell,
    variants: Dict[str, Variant],
    announce: Callable[[Stage], None],
    bundles: Optional[Path],
    known: Optional[EagerResults] = None,
    checks: bool = True,
) -> Outcome:
    """Measure one cell. ``announce`` is told each stage before it begins, so that a crash knows where it was.

    ``known`` keeps eager results between cells of one process; ``checks`` is false where onnx's checker has crashed.
    Never raises: whatever happens in torch, the checker or the runtime is the row's content.
    """
    work = _Work(cell, variants, announce, bundles, {} if known is None else known, checks)
    try:
        work.go()
    except _Stop as stop:
        work.stop(stop)
    return Outcome(work.row, work.messages)


class _Work:
    """The steps of one cell, filling its row as they go."""

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
        self.known = known
        self.plain = variants.get(PLAIN, self.variant)
        self.announce = announce
        self.checks = checks
        self.bundles = bundles
        self.facts: Dict[str, Any] = {}
        self.messages: Dict[str, str] = {}
        self.borrowed: List[str] = []
        #: where the array of each input of the file comes from; or why the file cannot be fed
        self.sources: Dict[str, runtimes.Source] = {}
        self.unfed: Optional[ValueError] = None
        self.quanta: List[float] = []
        self.row: Dict[str, Any] = {"runtime": "onnxruntime"}

    def go(self) -> None:
        eager = self._eager()
        if self.variant.changes_values:
            self.facts["eager_difference"] = round(eager.difference, 6)
        with self._stage(Stage.EXPORT):
            content = self._export(eager)
        with self._stage(Stage.CHECK):
            bundle = self._check(content, eager)
        with self._stage(Stage.LOAD):
            session = runtimes.load(bundle.model, self.cell.provider, self.variant.session)
            self.row["seconds_load"] = session.seconds_load
        outputs = self._run(session, eager)
        with self._stage(Stage.COMPARE):
            self._compare(eager.truth, outputs)
        self._done()

    def stop(self, stop: _Stop) -> None:
        """End the row with a failure."""
        signature, identifier, text = stop.described
        self.messages[identifier] = text
        self.row.update(stage=stop.stage.value, status=stop.status.value, signature=signature, message_id=identifier)
        self._note_facts()

    @contextmanager
    def _stage(self, stage: Stage) -> Iterator[None]:
        """Announce a stage; whatever it raises ends the cell there."""
        self.announce(stage)
        try:
            yield
        except _Stop:
            raise
        except Exception as error:  # what torch, a case or a runtime raises is the measurement
            raise _Stop(stage, _status_of(stage, error), describe_exception(stage.value, error)) from error

    def _eager(self) -> Eager:
        key = (self.cell.case, self.cell.variant)
        if key not in self.known:
            try:
                with self._stage(Stage.EAGER):
                    self.known[key] = _eager(self.variant, self.plain, self.cell.case)
            except _Stop as stop:
                self.known[key] = stop
        result = self.known[key]
        if isinstance(result, _Stop):
            raise result
        return result

    def _export(self, eager: Eager) -> bytes:
        variant, case = self.variant, self.variant.case
        exporter = variant.exporter(self.cell.exporter)
        opset = variant.opset(self.cell.opset)
        module = subject.build(variant, self.cell.case)
        args = tuple(subject.tensors(item) for item in eager.inputs[0])
        if variant.prepare is not None:
            module = variant.prepare(module, args)
        names = tuple(exporters.argument_names(variant.forward, len(args))) if case.named else ()
        request = exporters.Request(
            module,
            args,
            exporter,
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
                used = exporters.default_opset() if opset is None else opset
                with variant.patch(used) if variant.patch is not None else _nothing(), shared(self._is_shared()):
                    started = time.perf_counter()
                    content = exporters.export(request)
                    self.row["seconds_export"] = time.perf_counter() - started
            finally:
                self._note_warnings(caught)
        return content

    def _is_shared(self) -> bool:
        """Whether dynamo may use a captured program again; a patch or a preparation may depend on the opset.

        The default call is dynamo's from 2.9 on: it captures the same program where the shapes are said the same way.
        """
        return self.variant.patch is None and self.variant.prepare is None

    def _check(self, content: bytes, eager: Eager) -> onnx_file.Bundle:
        import onnx

        model = onnx_file.parse(content)
        if self.variant.surgery is not None:
            model = self.variant.surgery(model)
        self._note_file(model)
        self.quanta = onnx_file.quanta(model)
        bundle = onnx_file.Bundle(onnx_file.normalised(model), self._inputs(model, eager), eager.truth)
        self.row["bundle"] = onnx_file.write_bundle(bundle, self.bundles)
        if self.variant.case.facts is not None:
            self.facts.update(_facts(self.variant.case.facts, model))
        if self.checks:
            self._note_checker(onnx, model)
        return bundle

    def _inputs(self, model: Any, eager: Eager) -> List[List[Any]]:
        """Each input set in the order of the file's inputs, for the bundle."""
        given = [(subject.named(self.variant, item), subject.positional(item)) for item in eager.inputs]
        try:
            self.sources = runtimes.sources(onnx_file.inputs(model), *given[0])
        except ValueError as error:
            # the file takes more than the module gives: the cell ends when it runs
            self.unfed = error
            return [positional for _, positional in given]
        return [list(runtimes.feeds(self.sources, *item).values()) for item in given]

    def _note_checker(self, onnx: Any, model: Any) -> None:
        """What onnx's checker says of the file. It ends no cell: whether the file runs is the runtime's word."""
        strict, plain = _check_error(onnx, model, full_check=True), None
        if strict is not None:
            plain = _check_error(onnx, model)
            _, identifier, text = describe_exception(Stage.CHECK.value, strict if plain is None else plain)
            self.messages[identifier] = text
            self.row["checker_id"] = identifier
        refuses = Checker.PLAIN if plain is not None else Checker.STRICT
        self.row["checker"] = (Checker.OK if strict is None else refuses).value

    def _run(self, session: runtimes.Session, eager: Eager) -> List[List[Any]]:
        outputs, seconds = [], 0.0
        for index, inputs in enumerate(eager.inputs):
            with self._stage(Stage.RUN):
                if self.unfed is not None:
                    raise self.unfed
                feeds = runtimes.feeds(self.sources, subject.named(self.variant, inputs), subject.positional(inputs))
                started = time.perf_counter()
                try:
                    outputs.append(session.run(feeds))
                except Exception as error:
                    raise _Stop(Stage.RUN, _status_of(Stage.RUN, error), _in_set(Stage.RUN, index, error)) from error
                seconds += time.perf_counter() - started
                self.borrowed += ["input set {}, {}".format(index, x) for x in compare.borrowed(outputs[-1], feeds)]
        self.row["seconds_run"] = seconds
        return outputs

    def _compare(self, truth: List[List[Any]], outputs: List[List[Any]]) -> None:
        variant = self.variant
        parts = [
            compare.located(
                index,
                compare.compare(
                    want,
                    got,
                    variant.rtol,
                    variant.atol,
                    "onnxruntime",
                    variant.compares_values,
                    variant.by_largest,
                    self.quanta,
                ),
            )
            for index, (want, got) in enumerate(zip(truth, outputs))
        ]
        result = compare.worst(parts)
        self.row.update(max_abs_error=result.max_abs, max_rel_error=result.max_rel, rtol=result.rtol, atol=result.atol)
        if result.problem:
            raise _Stop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Mismatch", result.problem))
        if self.borrowed:
            raise _Stop(Stage.COMPARE, Status.MISMATCH, describe("compare", "Borrowed", "\n".join(self.borrowed)))

    def _done(self) -> None:
        reasons = self._not_as_asked()
        status = Status.DEGRADED if reasons else Status.PASS
        self.row.update(stage=Stage.DONE.value, status=status.value)
        if reasons:
            signature, identifier, text = describe("done", "Degraded", "; ".join(reasons))
            self.messages[identifier] = text
            self.row.update(signature=signature, message_id=identifier)
        self._note_facts()

    def _not_as_asked(self) -> List[str]:
        """Why a cell that works is not what was asked for."""
        reasons = []
        opset, exporter = self.variant.opset(self.cell.opset), self.variant.exporter(self.cell.exporter)
        if opset is not None and self.row["opset_effective"] != opset:
            reasons.append("opset {} asked for, the file has {}".format(opset, self.row["opset_effective"]))
        if exporter != Exporter.DEFAULT.value and self.row["exporter_effective"] != exporter:
            reasons.append("exporter {} asked for, {} wrote the file".format(exporter, self.row["exporter_effective"]))
        return reasons

    def _note_file(self, model: Any) -> None:
        facts = onnx_file.read(model)
        asked = self.variant.exporter(self.cell.exporter)
        self.row.update(
            opset_effective=facts.opset,
            ir_version=facts.ir_version,
            node_count=facts.node_count,
            ops=facts.ops,
            exporter_effective=onnx_file.written_by(model, asked),
        )

    def _note_warnings(self, caught: Sequence[Any]) -> None:
        lines: List[str] = []
        for item in caught:
            line = "{}: {}".format(item.category.__name__, str(item.message).strip())
            if line not in lines and not issubclass(item.category, (DeprecationWarning, FutureWarning)):
                lines.append(line)
        if lines:
            text = tidy("\n".join(lines))
            identifier = message_id(text)
            self.messages[identifier] = text
            self.row["warning_id"] = identifier

    def _note_facts(self) -> None:
        if self.facts:
            self.row["facts"] = json.dumps(self.facts, sort_keys=True)


def _eager(variant: Variant, plain: Variant, case_id: str) -> Eager:
    """Run the module on every input set; a fix is first held against the failing form (or the case's reference).

    A fix with inputs of its own is held against what the failing form gives for those.
    """
    inputs = subject.arrays(variant, case_id)
    raw = [_forward(variant, case_id, item) for item in inputs]
    outputs = [subject.flatten(item) for item in raw]
    if variant.case.reference is not None:
        truth = _reference(plain, case_id, inputs)
    elif variant.fix is None:
        truth = outputs
    else:
        truth = [subject.flatten(_forward(plain, case_id, item)) for item in inputs]
    difference = 0.0 if variant.fix is None else _equivalence(variant, truth, outputs)
    return Eager(inputs, outputs if variant.changes_values else truth, raw[0], difference)


def _equivalence(variant: Variant, truth: List[List[Any]], outputs: List[List[Any]]) -> float:
    """The largest difference between a fix and the failing form; more than the tolerance ends the cell."""
    case = variant.case
    parts = [
        compare.located(index, compare.compare(want, got, case.rtol, case.atol, "the fix"))
        for index, (want, got) in enumerate(zip(truth, outputs))
    ]
    result = compare.worst(parts)
    if result.problem and not variant.changes_values:
        raise _Stop(Stage.EAGER, Status.MISMATCH, describe("eager", "NotEquivalent", result.problem))
    return result.max_abs


def _forward(variant: Variant, case_id: str, inputs: Sequence[Any]) -> Any:
    import torch

    module = subject.build(variant, case_id)
    torch.manual_seed(0)
    with torch.no_grad():
        return module(*[subject.tensors(item) for item in inputs])


def _reference(plain: Variant, case_id: str, inputs: Sequence[Tuple[Any, ...]]) -> List[List[Any]]:
    import torch

    truth = plain.case.reference
    assert truth is not None
    found = []
    with torch.no_grad():
        for item in inputs:
            module = subject.build(plain, case_id)
            found.append(subject.flatten(truth(module, *[subject.tensors(part) for part in item])))
    return found


def _check_error(onnx: Any, model: Any, **strictness: bool) -> Optional[Exception]:
    """What the checker raises for a file; ``None`` where it takes it."""
    try:
        onnx.checker.check_model(model, **strictness)
    except TypeError as error:
        # before onnx 1.6 the checker had no full check
        return _check_error(onnx, model) if strictness else error
    except Exception as error:  # what it says is noted
        return error
    return None


def _facts(of_case: Callable[[Any], Dict[str, Any]], model: Any) -> Dict[str, Any]:
    """What a case notes of its file, as JSON values; where the case's own code fails at that, the error."""
    try:
        found: Dict[str, Any] = json.loads(json.dumps(of_case(model), allow_nan=False))
        return dict(found)
    except Exception as error:  # the case's own failure is no status of torch
        return {"facts_error": "{}: {}".format(type(error).__name__, words(error))}


def _status_of(stage: Stage, error: BaseException) -> Status:
    status = status_of(error, is_export=stage is Stage.EXPORT)
    if status is not Status.FAIL:
        return status
    if isinstance(error, runtimes.WrongProvider):
        return Status.UNSUPPORTED
    is_ours = isinstance(error, runtimes.UncertainInputs) or _is_full_disk(error)
    return Status.INVALID if is_ours else Status.FAIL


def _is_full_disk(error: Optional[BaseException]) -> bool:
    """Whether this machine had no space left, which says nothing of torch or a runtime."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def _in_set(stage: Stage, index: int, error: BaseException) -> Tuple[str, str, str]:
    signature, _, text = describe_exception(stage.value, error)
    text = "input set {}: {}".format(index, text)
    return signature, message_id(text), text


@contextmanager
def _nothing() -> Iterator[None]:
    yield
