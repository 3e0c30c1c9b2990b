"""A check from a user's words to the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.answers.filters import Filters
from caniexport.answers.runtimes import runtimes
from caniexport.check import run
from caniexport.check.answer import Checked, ModelNotes, answer
from caniexport.check.kept import kept_answer
from caniexport.check.run import prepare
from caniexport.check.subject import Options, UnusableModel, subject
from caniexport.home import Home
from caniexport.match.errors import ErrorIndex
from caniexport.model.corpus import LoadedCase
from caniexport.model.status import WORKS, Stage, Status
from caniexport.store import Dataset

if TYPE_CHECKING:
    _Cases = Mapping[str, LoadedCase]

_WRONG, _RAISED = "WrongFactory: ", "FactoryRaised: "


def check(
    target: str,
    request: run.CheckRequest,
    options: Options,
    *,
    into: Path,
    home: Home,
    corpus: Dataset,
    cwd: Path,
    say: Callable[[str], None],
) -> Checked:
    """Measure ``target`` and answer. Everything that is written goes below ``into``.

    Raises :class:`~caniexport.model.errors.UnknownName` for a name that is not there,
    :class:`~caniexport.check.subject.UnusableModel` for what cannot be checked on any release,
    :class:`~caniexport.model.errors.CorpusError` for a case file that cannot be used.
    """
    for text in request.packages:
        run.requirement(text)
    chosen = run.chosen(request)
    run.require_opsets(request, chosen)
    asked = subject(target, cwd, options)
    place = prepare(into, home, asked.files, request.packages)
    cases = run.cases(place)
    problems: dict[str, str] = {}
    left: dict[str, str] = {}
    highest = _highest_opsets(corpus)
    run.forget_changed(request, place, chosen, cases)
    with ThreadPoolExecutor(1) as pool:
        ahead = _Ahead(pool, corpus)
        for release in chosen:
            measured = run.measure_release(release, request, place, cases, say, ahead.hear, highest)
            if measured.problem:
                problems[release.torch] = measured.problem
            if measured.left:
                left[release.torch] = measured.left
            _refuse_wrong(place, cases, release.torch)
    newest = (run.notes_of(place, release.torch) for release in chosen)
    notes = ModelNotes.read(next(filter(None, newest), {}))
    wanted = Filters(
        cases=tuple(cases),
        torch=tuple(release.torch for release in reversed(chosen)),
        exporters=request.exporters,
        opsets=tuple(map(str, request.opsets)),
    )
    mine = _dataset(place)
    found = kept_answer(
        place.local,
        (asked.label, mine.fingerprint(), corpus.fingerprint(), wanted, problems, notes, left),
        lambda: answer(asked.label, mine, corpus, wanted, problems, notes, left),
    )
    _refuse_raised(place, cases, found)
    more = [f"torch {torch}: no more time for {what} (--seconds gives more)" for torch, what in left.items()]
    if request.keep_files and place.bundles.is_dir():
        more.append(f"the exported files are in {place.bundles}")
    return replace(found, notes=(*found.notes, *run.left_out(request, chosen), *more))


class _Ahead:
    """Reads the errors of the corpus while a model that fails is still being measured."""

    def __init__(self, pool: Executor, corpus: Dataset) -> None:
        self._pool, self._corpus = pool, corpus
        self._reads = False

    def hear(self, row: Mapping[str, Any]) -> None:
        """Begin where a row is the first that fails."""
        if not self._reads and Status(row["status"]) not in WORKS:
            self._reads = True
            self._pool.submit(ErrorIndex.of, self._corpus)


def _highest_opsets(corpus: Dataset) -> dict[str, int]:
    """By version of onnxruntime the newest opset that was measured to be taken."""
    own = [line for line in runtimes(corpus) if (line.runtime, line.provider) == ("onnxruntime", "cpu")]
    return {line.version: line.max_opset for line in own if line.max_opset is not None}


def _dataset(place: run.CheckPlace) -> Dataset:
    return Dataset.open(None, place.local)


def _refuse_wrong(place: run.CheckPlace, cases: _Cases, torch: str) -> None:
    """What a factory returned is wrong on every release: the first that says so ends the check."""
    for text in _eager_texts(place, cases, torch):
        if text.startswith(_WRONG):
            raise UnusableModel(text.splitlines()[0].removeprefix(_WRONG))


def _refuse_raised(place: run.CheckPlace, cases: _Cases, found: Checked) -> None:
    """A factory that raises on some releases is a finding there; one that raises on all is wrong use."""
    said = {torch: _eager_texts(place, cases, torch) for torch in found.releases}
    if said and all(texts and all(text.startswith(_RAISED) for text in texts) for texts in said.values()):
        text = next(iter(said[found.releases[-1]]))
        reason = text.removeprefix(_RAISED).replace("\ncaused by ", ": ").splitlines()[0]
        raise UnusableModel(f"{reason} (torch {found.releases[-1]})")


def _eager_texts(place: run.CheckPlace, cases: _Cases, torch: str) -> list[str]:
    dataset = _dataset(place)
    where = {"case": tuple(cases), "torch": (torch,), "stage": (Stage.EAGER.value,)}
    ids = {message for (message,) in dataset.select(("message_id",), where)}
    return list(dataset.messages(ids).values())
