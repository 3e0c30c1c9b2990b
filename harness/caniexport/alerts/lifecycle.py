"""What became of alerts: open, acknowledged, resolved, in a small file that people review.

The file is TOML and is written by ``caniexport alerts --save``; a person edits ``state`` and ``note``::

    [[alert]]
    id = "3f2a91c04b7e"
    kind = "regressed"
    cause = "export: UnsupportedOperatorError: ..."
    state = "acknowledged"
    since = 2026-11-22
    note = "https://github.com/pytorch/pytorch/issues/1"
    cells = ["cross-no-symbolic/plain torch 2.9.1 dynamo cpu opset 9-14"]
    good = ["run-7"]

An alert is resolved when all of its cells have been measured twice and were good; ``good`` names these measurements.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from caniexport import names
from caniexport.alerts.diff import CellPlace, measured_as
from caniexport.alerts.group import Alert, AlertKind, Member, opset_spans
from caniexport.answers.reading import Rows
from caniexport.corpus.verdicts import works
from caniexport.home import read_list
from caniexport.model.errors import CaniexportError, CorpusError

#: good runs after which an alert is resolved
GOOD_RUNS = 2
_KEYS = ("id", "kind", "cause", "state", "since", "note", "cells", "good")


class AlertStage(StrEnum):
    """Where an alert stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class KnownAlert:
    """One entry of the file."""

    id: str
    kind: AlertKind
    cause: str
    state: AlertStage
    since: date
    cells: tuple[str, ...]
    note: str = ""
    good: tuple[str, ...] = ()


@dataclass(frozen=True)
class Carried:
    """The file as it now reads, and which alerts of this comparison are ``new``: not in it, grown, or come back."""

    known: tuple[KnownAlert, ...]
    new: frozenset[str]


def read(path: Path) -> list[KnownAlert]:
    """The entries of a file; none where it is not there. Raises :class:`CorpusError` naming what is wrong."""
    if not path.exists():
        return []
    try:
        data = tomllib.loads(read_list(path))
        return [_known(item) for item in data.get("alert", [])]
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, CaniexportError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of alerts ({error})") from error


def _known(item: Mapping[str, Any]) -> KnownAlert:
    for key in item:
        names.require("key", key, _KEYS)
    missing = [key for key in ("id", "kind", "cause", "state", "since") if key not in item]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    kind = AlertKind(names.require("kind", str(item["kind"]), list(AlertKind)))
    state = AlertStage(names.require("state", str(item["state"]), list(AlertStage)))
    lists = {key: tuple(map(str, item.get(key, ()))) for key in ("cells", "good")}
    since = item["since"] if isinstance(item["since"], date) else date.fromisoformat(str(item["since"]))
    return KnownAlert(str(item["id"]), kind, str(item["cause"]), state, since, note=str(item.get("note", "")), **lists)


def text(known: Iterable[KnownAlert]) -> str:
    """The file's text; the same entries give the same bytes."""
    said = ["# What became of alerts (docs/commands.md). `caniexport alerts --save` writes it; edit state and note.\n"]
    for item in sorted(known, key=lambda item: (item.since, item.id)):
        said.append("[[alert]]")
        said += [f"{key} = {json.dumps(str(getattr(item, key)))}" for key in ("id", "kind", "cause", "state")]
        said.append(f"since = {item.since.isoformat()}")
        said += [f"note = {json.dumps(item.note)}"]
        said.append("cells = [" + "".join(f"\n    {json.dumps(cell)}," for cell in item.cells) + "\n]")
        said.append(f"good = {json.dumps(list(item.good))}\n")
    return "\n".join(said)


def carry(known: Sequence[KnownAlert], alerts: Iterable[Alert], rows: Rows, today: date) -> Carried:
    """What the file becomes after a comparison whose newer side is ``rows``.

    An alert that is known stays as it is, also when it is seen again; cells that it did not have, and its coming back
    after it was resolved, make it open and new. One that is not seen is looked up in ``rows``: good in two runs makes
    it resolved, and the same rows count once.
    """
    by_id = {item.id: item for item in known}
    new = set()
    for alert in alerts:
        cells, old = _cells_of(alert.members), by_id.get(alert.id)
        before = set(_expanded(old.cells)) if old and old.state is not AlertStage.RESOLVED else set()
        if not cells <= before:
            entry = old or KnownAlert(alert.id, alert.kind, alert.cause, AlertStage.OPEN, today, ())
            by_id[alert.id] = replace(entry, state=AlertStage.OPEN, cells=_lines(cells | before), good=())
            new.add(alert.id)
    seen = {alert.id for alert in alerts}
    carried = [item if item.id in seen else _aged(item, rows) for item in by_id.values()]
    return Carried(tuple(carried), frozenset(new))


def _aged(item: KnownAlert, rows: Rows) -> KnownAlert:
    """An alert that was not seen this time: whether its cells are good now."""
    if item.state is AlertStage.RESOLVED:
        return item
    good = _good(item, rows)
    if good is None:
        return item
    if not good:
        return replace(item, good=())
    runs = tuple(dict.fromkeys((*item.good, _measured_by(item, rows))))
    return replace(item, good=runs, state=AlertStage.RESOLVED if len(runs) >= GOOD_RUNS else item.state)


def _good(item: KnownAlert, rows: Rows) -> bool | None:
    """Whether every cell of an alert works; ``None`` where none of them was measured."""
    wanted = set(_expanded(item.cells))
    cases = {case for case, _, _ in wanted}
    named = measured_as(rows)
    states = [
        works(cell.status)
        for cell in rows.cells(case=cases)
        if cell.torch in named
        and (cell.case, cell.variant, CellPlace(named[cell.torch], cell.exporter, cell.opset, cell.provider)) in wanted
    ]
    known = [state for state in states if state is not None]
    return all(known) if known else None


def _measured_by(item: KnownAlert, rows: Rows) -> str:
    """A name for the runs that measured an alert's cases: another one once they have been measured again."""
    wanted = list(_expanded(item.cells))
    releases = {torch for torch, name in measured_as(rows).items() if name in {place.torch for _, _, place in wanted}}
    where = {"case": {case for case, _, _ in wanted}, "torch": releases}
    runs = sorted(str(run) for run, _ in rows.grouped(("run_id",), {"cells": "count(*)"}, where))
    return hashlib.sha256("\n".join(runs).encode()).hexdigest()[:12]


_Cell = tuple[str, str, CellPlace]


def _cells_of(members: Iterable[Member]) -> set[_Cell]:
    return {(member.case, member.variant, member.place) for member in members}


def _lines(cells: Iterable[_Cell]) -> tuple[str, ...]:
    """The cells of an alert as the file has them, opsets as spans."""
    found: dict[str, set[str]] = {}
    for case, variant, place in cells:
        line = f"{case}/{variant} torch {place.torch} {place.exporter} {place.provider or '-'}"
        found.setdefault(line, set()).add("default" if place.opset is None else str(place.opset))
    return tuple(sorted(f"{line} opset {opset_spans(opsets).replace(' ', '')}" for line, opsets in found.items()))


def _expanded(cells: Iterable[str]) -> Iterable[_Cell]:
    for text_ in cells:
        words = text_.split()
        if len(words) != 7:
            raise CorpusError(
                f"an alert's cell {text_!r} is not of the form `CASE/VARIANT torch X EXPORTER PROVIDER opset N`"
            )
        case, _, variant = words[0].partition("/")
        provider = None if words[4] == "-" else words[4]
        for part in words[6].split(","):
            if part == "default":
                yield case, variant, CellPlace(words[2], words[3], None, provider)
                continue
            low, _, high = part.partition("-")
            for opset in range(int(low), int(high or low) + 1):
                yield case, variant, CellPlace(words[2], words[3], opset, provider)
