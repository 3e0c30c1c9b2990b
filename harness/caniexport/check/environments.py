"""The environment of a release in a user's folder: made once by tox, judged once by the canaries, then only used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from caniexport.check.session import CheckSession, WorkPlace
from caniexport.home import Home
from caniexport.machine import interpreters
from caniexport.machine.disk import Budget
from caniexport.machine.turns import turn
from caniexport.measure.tox_calls import code_folder, environment_failure, make_environment, table_with
from caniexport.model import plan
from caniexport.model.canaries import is_canary, surprises
from caniexport.model.corpus import LoadedCase
from caniexport.model.releases import Release
from caniexport.model.rows import MEASURING_VERSION
from caniexport.model.status import EXPORTERS, Exporter
from caniexport.worker.codehash import code_hash

#: says what an environment was made for, and what its canaries came out with
_READY = "caniexport-ready.json"
_PROVIDER = "cpu"


@dataclass(frozen=True)
class Environment:
    """An environment that measures: its release with the Python and pins that it has, and where to work in it."""

    release: Release
    place: WorkPlace


def fitting(release: Release) -> Release | None:
    """The release with a Python that this machine has; ``None`` where it has none for it."""
    return interpreters.fitting(release)


class NoEnvironment(Exception):
    """The environment cannot be made, or cannot be trusted; the words say why."""


def environment(release: Release, home: Home, say: Callable[[str], None], budget: Budget | None) -> Environment:
    """The environment of a release, made where it is not there yet. Raises :class:`NoEnvironment`."""
    if interpreters.find(release.python) is None:
        why = f"uv could not download it ({interpreters.why_none(release.python)})"
        raise NoEnvironment(f"needs Python {release.python}: none found, {why}")
    name = f"torch{release.torch}-{_PROVIDER}"
    folder = home.environments
    table = folder / f"{name}-releases.py"
    place = WorkPlace(folder / name / "bin" / "python", release.torch, home, table, code_folder(home))
    with turn(folder, name, say):
        if _read_ready(folder / name) != _wanted(release):
            if budget is not None:
                budget.make_room(say)
            _make(release, home, name, place, say)
    return Environment(release, place)


def _wanted(release: Release) -> Mapping[str, Any]:
    return {"spec": release.spec, "measuring": MEASURING_VERSION, "code": code_hash()}


def _read_ready(folder: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads((folder / _READY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _make(release: Release, home: Home, name: str, place: WorkPlace, say: Callable[[str], None]) -> None:
    say(f"torch {release.torch}: installing its environment, once")
    log = home.local / "logs" / f"{name}.log"
    with table_with(release, home.root) as table:
        if make_environment(home, name, log):
            raise NoEnvironment(f"could not be installed: {environment_failure(log)}")
        table.replace(place.table)
    say(f"torch {release.torch}: trying its environment with cases of known outcome, once")
    surprise = next(surprises(_canary_rows(release, home, place)), "")
    if surprise:
        raise NoEnvironment(f"cannot be trusted: {surprise}")
    (home.environments / name / _READY).write_text(json.dumps(_wanted(release)), encoding="utf-8")


def _canary_rows(release: Release, home: Home, place: WorkPlace) -> Iterator[Mapping[str, Any]]:
    corpus = {name: item for name, item in home.read_cases().items() if is_canary(name)}
    with CheckSession(replace(place, dynamo=bool(release.dynamo)), "canaries") as session:
        for cells in plan.groups(_canaries(corpus, release)).values():
            yield from (row for row, _ in session.measure(cells))


def _canaries(corpus: dict[str, LoadedCase], release: Release) -> Sequence[plan.Cell]:
    """Of each exporter one opset that it surely takes."""
    sure = {None, *release.with_sure((release.torchscript[0],), EXPORTERS)}
    found = []
    for cell in plan.cells(corpus, release, _PROVIDER):
        takes = cell.exporter != Exporter.DYNAMO.value or cell.opset != release.torchscript[0]
        found += [cell] if cell.opset in sure and takes else []
    return found
