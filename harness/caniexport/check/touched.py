"""Export a model that is in memory, and find the known failures of its operators."""

from __future__ import annotations

import inspect
import re
import tempfile
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caniexport.answers.filters import exporter_name, require_exporter
from caniexport.answers.known import KnownCase, known_case
from caniexport.answers.model import make_touch_judge
from caniexport.answers.model_file import ModelFile, read_model
from caniexport.answers.point import Points
from caniexport.answers.touching import TouchVerdict
from caniexport.answers.why import answer_error
from caniexport.corpus.verdicts import is_working
from caniexport.match.errors import SURE, ErrorIndex, match_error
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.store import Dataset

#: known failures listed for one error
_MOST = 3
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class KnownFailures:
    """The known failures of a model at a point.

    ``cases`` are the known failures that touch it, or that fail as its export does; ``may_touch`` are cases that may
    touch it, ``unseen`` operators that no case covers, ``written_by`` the exporter of its file if the point has
    another one; ``may_be_wrong`` are cases with its operators and wrong values. ``error`` is the error of its export
    here, or empty. ``place`` is the point, ``notes`` are the assumptions.
    """

    word: TouchVerdict
    place: str
    cases: tuple[KnownCase, ...]
    may_touch: tuple[str, ...]
    error: str
    notes: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    written_by: str = ""
    may_be_wrong: tuple[str, ...] = ()

    @property
    def is_touched(self) -> bool | None:
        """Whether a known failure touches it; ``None`` if it is unknown."""
        if self.cases or self.word is TouchVerdict.NOTHING_WORKS:
            return True
        is_clear = self.word in (TouchVerdict.WORKS, TouchVerdict.NOT_TOUCHED) and not (
            self.unseen or self.written_by or self.may_be_wrong
        )
        return False if is_clear else None

    @property
    def reason(self) -> str:
        """One line: the outcome, the cases with their links, the error."""
        parts = [f"{self.word.value} at {self.place}", self.error, *(case.reason for case in self.cases)]
        parts += [f"may touch it: {', '.join(self.may_touch)}"] if self.may_touch else []
        parts += [f"its values may be wrong, as in {', '.join(self.may_be_wrong)}"] if self.may_be_wrong else []
        parts += [f"no case covers {', '.join(self.unseen)}"] if self.unseen else []
        parts += (
            [f"its file is written by {self.written_by}, which does not show every operator"] if self.written_by else []
        )
        return "; ".join(filter(None, parts))


def known_failures(
    dataset: Dataset, model: object, args: Sequence[Any], installed: Mapping[str, str], asked: Mapping[str, str]
) -> KnownFailures:
    """Find the known failures of a module with its arguments, or of an ONNX file, with the packages ``installed``.

    ``asked`` has exporter and opset, and with ``torch`` another target release. Raises :class:`UnknownName` for an
    unknown name, and ImportError without torch; an error of the export is an answer.
    """
    if asked.get("exporter"):
        require_exporter(asked["exporter"])
    if isinstance(model, str | Path):
        return _judge_file(dataset, read_model(Path(model), Points(dataset).releases), {}, asked)
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        path = Path(folder) / "model.onnx"
        try:
            _export(model, tuple(args), path, asked)
        except Exception as error:
            return _explain_error(dataset, error, installed, asked)
        return _judge_file(dataset, read_model(path, Points(dataset).releases), installed, asked)


def _export(model: object, args: tuple[Any, ...], path: Path, asked: Mapping[str, str]) -> None:
    """Export with the exporter and opset that are named, without torch's warnings."""
    import torch

    options: dict[str, Any] = {"opset_version": int(asked["opset"])} if asked.get("opset") else {}
    if asked.get("exporter") and "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = exporter_name(asked["exporter"]) == Exporter.DYNAMO.value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, str(path), **options)


def _explain_error(
    dataset: Dataset, error: Exception, installed: Mapping[str, str], asked: Mapping[str, str]
) -> KnownFailures:
    text = "".join(traceback.format_exception(error))
    point = {**installed, **{axis: value for axis, value in asked.items() if axis != "torch"}}
    first = _first_line(error)
    try:
        place, _ = Points(dataset).find(point)
    except UnknownName as unknown:
        return KnownFailures(TouchVerdict.FAILS, "the versions here", (), (), first, (str(unknown),))
    there = dataset.of(place.profile)
    found = answer_error(there, text, {"torch": place.torch, **asked})
    sure = [lead.case for lead in match_error(ErrorIndex.of(there), text).leads[:_MOST] if lead.shares in SURE]
    cases = tuple(known_case(dataset, case, point) for case in sure)
    return KnownFailures(TouchVerdict.FAILS, place.text, cases, (), first, (found.verdict, *found.notes))


def _first_line(error: BaseException) -> str:
    """The first line of the innermost cause, without colors."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _COLOR.sub("", f"{type(error).__name__}: {error}".splitlines()[0])


def _judge_file(
    dataset: Dataset, file: ModelFile, installed: Mapping[str, str], asked: Mapping[str, str]
) -> KnownFailures:
    points, named = Points(dataset), {axis: value for axis, value in asked.items() if axis != "torch"}
    try:
        # the source is what wrote the file
        source, notes = points.find({**named, **file.point, **installed})
        target, more = points.find({**named, "torch": asked["torch"]}) if asked.get("torch") else (source, [])
    except UnknownName as unknown:
        return KnownFailures(TouchVerdict.NOT_KNOWN, "the versions here", (), (), "", (str(unknown),))
    judged = make_touch_judge(dataset, file, source, [target]).at(target)
    equal = [name.partition("/")[0] for name, status in judged.equal.items() if not is_working(status)]
    breaks = dict.fromkeys([*equal, *(touch.case for touch in judged.touches)])
    packages = installed if target == source else {}
    point = {**packages, "torch": target.torch, "exporter": target.exporter, "opset": str(target.opset or "")}
    cases = tuple(known_case(dataset, case, point) for case in breaks)
    word = TouchVerdict.TOUCHED if cases and judged.word is not TouchVerdict.FAILS else judged.word
    may = tuple(touch.case for touch in judged.may_touch)
    parts = tuple(filter(None, (judged.refused, *file.notes, *notes, *more)))
    left = judged.unseen, judged.written_by, tuple(touch.case for touch in judged.may_be_wrong)
    return KnownFailures(word, target.text, cases, may, "", tuple(dict.fromkeys(parts)), *left)
