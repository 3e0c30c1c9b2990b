"""What is known to fail of a model that is in memory: it is exported here, and held against the corpus."""

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
from caniexport.corpus.verdicts import works
from caniexport.match.errors import SURE, ErrorIndex, match_error
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.store import Dataset

#: known failures that are told of one error
_MOST = 3
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class KnownFailures:
    """What is known of a model at a point.

    ``cases`` are the known failures that touch it, or that fail as its export does; ``may_touch`` names those that
    may, ``unseen`` operators of which nothing is known, ``written_by`` the exporter of its file where the point has
    another one; ``may_be_wrong`` names cases that give wrong values and whose operators it has. ``error`` is what its
    export raised here, empty where it wrote a file. ``place`` is the point, ``notes`` say what was assumed.
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
        """Whether a known failure touches it; ``None`` where nobody knows, which is no word for the model."""
        if self.cases or self.word is TouchVerdict.NOTHING_WORKS:
            return True
        is_clear = self.word in (TouchVerdict.WORKS, TouchVerdict.NOT_TOUCHED) and not (
            self.unseen or self.written_by or self.may_be_wrong
        )
        return False if is_clear else None

    @property
    def reason(self) -> str:
        """One line: the word, the cases with their links, the error."""
        said = [f"{self.word.value} at {self.place}", self.error, *(case.reason for case in self.cases)]
        said += [f"may touch it: {', '.join(self.may_touch)}"] if self.may_touch else []
        said += [f"its values may be wrong, as in {', '.join(self.may_be_wrong)}"] if self.may_be_wrong else []
        said += [f"nothing is known of {', '.join(self.unseen)}"] if self.unseen else []
        said += [f"its file is by {self.written_by}, which does not show all of it"] if self.written_by else []
        return "; ".join(filter(None, said))


def known_failures(
    dataset: Dataset, model: object, args: Sequence[Any], installed: Mapping[str, str], asked: Mapping[str, str]
) -> KnownFailures:
    """What is known of a module with its arguments, or of an ONNX file, at the packages ``installed``.

    ``asked`` names exporter and opset, and with ``torch`` another release to go to. Raises :class:`UnknownName` for a
    name that nobody knows, and whatever torch raises where it is missing; what an export raises is an answer.
    """
    if asked.get("exporter"):
        require_exporter(asked["exporter"])
    if isinstance(model, str | Path):
        return _of_file(dataset, read_model(Path(model), Points(dataset).releases), {}, asked)
    with tempfile.TemporaryDirectory(prefix="caniexport-") as folder:
        path = Path(folder) / "model.onnx"
        try:
            _export(model, tuple(args), path, asked)
        except Exception as error:
            return _of_error(dataset, error, installed, asked)
        return _of_file(dataset, read_model(path, Points(dataset).releases), installed, asked)


def _export(model: object, args: tuple[Any, ...], path: Path, asked: Mapping[str, str]) -> None:
    """The export call of a user, with exporter and opset as far as they are named; what torch warns of is not theirs to
    read, nor an error where their tests make one of every warning.
    """
    import torch

    options: dict[str, Any] = {"opset_version": int(asked["opset"])} if asked.get("opset") else {}
    if asked.get("exporter") and "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = exporter_name(asked["exporter"]) == Exporter.DYNAMO.value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, str(path), **options)


def _of_error(
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
    """The first line of the innermost cause, without colours: what wraps it says no more than that it failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _COLOUR.sub("", f"{type(error).__name__}: {error}".splitlines()[0])


def _of_file(
    dataset: Dataset, file: ModelFile, installed: Mapping[str, str], asked: Mapping[str, str]
) -> KnownFailures:
    points, named = Points(dataset), {axis: value for axis, value in asked.items() if axis != "torch"}
    try:
        # what wrote the file is in it, whatever is asked of the target
        source, notes = points.find({**named, **file.point, **installed})
        target, more = points.find({**named, "torch": asked["torch"]}) if asked.get("torch") else (source, [])
    except UnknownName as unknown:
        return KnownFailures(TouchVerdict.NOT_KNOWN, "the versions here", (), (), "", (str(unknown),))
    standing = make_touch_judge(dataset, file, source, [target]).at(target)
    equal = [name.partition("/")[0] for name, status in standing.equal.items() if not works(status)]
    breaks = dict.fromkeys([*equal, *(touch.case for touch in standing.touches)])
    packages = installed if target == source else {}
    point = {**packages, "torch": target.torch, "exporter": target.exporter, "opset": str(target.opset or "")}
    cases = tuple(known_case(dataset, case, point) for case in breaks)
    word = TouchVerdict.TOUCHED if cases and standing.word is not TouchVerdict.FAILS else standing.word
    may = tuple(touch.case for touch in standing.may_touch)
    said = tuple(filter(None, (standing.refused, *file.notes, *notes, *more)))
    left = standing.unseen, standing.written_by, tuple(touch.case for touch in standing.may_be_wrong)
    return KnownFailures(word, target.text, cases, may, "", tuple(dict.fromkeys(said)), *left)
