"""What became of alerts: open, acknowledged, resolved, in a small file that people review.

``caniexport alerts --save`` writes the file; a person edits ``state`` and ``note``::

    [[alert]]
    id = "3f2a91c04b7e"
    kind = "regressed"
    cause = "export: UnsupportedOperatorError: ..."
    state = "acknowledged"
    since = "2026-11-22"
    note = "https://github.com/pytorch/pytorch/issues/1"
    good = ["2026-11-23 10:00:00"]
    cells = [["cross-no-symbolic", "plain", "2.9.1", "dynamo", "cpu", 9, 10]]    # the opsets last

An alert is resolved when all of its cells were measured twice and were good; ``good`` has these times.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from caniexport import names
from caniexport.alerts.alert import STOPS, Alert, AlertStage, CellPoint, Change
from caniexport.corpus.verdicts import Verdict
from caniexport.home import read_list
from caniexport.model.errors import CaniexportError, CorpusError

#: good measurements after which an alert is resolved
GOOD_RUNS = 2
_TEXTS = ("id", "kind", "cause", "state", "since", "note")
_DEFAULT = "default"
#: whether a cell works, and when it was measured
Measured = Mapping[CellPoint, tuple[bool, str]]


def read_states(path: Path) -> tuple[Alert, ...]:
    """The alerts of a file; none where it is not there. Raises :class:`CorpusError` naming what is wrong."""
    if not path.exists():
        return ()
    try:
        return tuple(_parse_alert(item) for item in tomllib.loads(read_list(path)).get("alert", []))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, CaniexportError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of alerts ({error})") from error


def _parse_alert(item: Mapping[str, Any]) -> Alert:
    for key in item:
        names.require("key", key, (*_TEXTS, "cells", "good"))
    missing = [key for key in _TEXTS if key not in item and key != "note"]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    kind = Verdict(names.require("kind", str(item["kind"]), list(STOPS)))
    stage = AlertStage(names.require("state", str(item["state"]), list(AlertStage)))
    changes = tuple(
        Change(kind, "", CellPoint(case, variant, torch, exporter, None if opset == _DEFAULT else int(opset), provider))
        for case, variant, torch, exporter, provider, *opsets in item.get("cells", ())
        for opset in opsets
    )
    name, cause, since, note = (str(item.get(key, "")) for key in ("id", "cause", "since", "note"))
    good = tuple(map(str, item.get("good", ())))
    return Alert(name, kind, cause, changes, "", stage, is_new=False, since=since, note=note, good=good)


def format_states(known: Iterable[Alert]) -> str:
    """The file's text; the same alerts give the same bytes."""
    lines = ["# What became of alerts (docs/commands.md). `caniexport alerts --save` writes it; edit state and note.\n"]
    for item in sorted(known, key=lambda item: (item.since, item.id)):
        opsets: dict[tuple[str, ...], list[int]] = {}
        for case, variant, torch, exporter, opset, provider in item.places:
            opsets.setdefault((case, variant, torch, exporter, provider), []).append(opset or 0)
        texts = (item.id, item.kind.value, item.cause, item.stage.value, item.since, item.note)
        lines.append("[[alert]]")
        lines += [f"{key} = {_to_toml(value)}" for key, value in zip(_TEXTS, texts, strict=True)]
        lines += [f"good = {_to_toml(item.good)}", "cells = ["]
        lines += [
            f"    {_to_toml([*line, *(n or _DEFAULT for n in sorted(at))])}," for line, at in sorted(opsets.items())
        ]
        lines.append("]\n")
    return "\n".join(lines)


def _to_toml(value: Any) -> str:
    """A text or a list as TOML writes it: as JSON does, but for characters that JSON writes as two."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def update_states(
    known: Iterable[Alert], found: Iterable[Alert], measured: Measured, today: str
) -> tuple[list[Alert], list[Alert]]:
    """The alerts that were found, each with where it stands, and the file as it reads now.

    An alert that is known stays as it is, also when it is seen again. Cells that it did not have, and its coming back
    after it was resolved, make it open and new. One that is not seen and whose cells are good in two measurements is
    resolved.
    """
    kept = {item.id: item for item in known}
    shown = []
    for alert in found:
        old = kept.get(alert.id)
        is_new = old is None or old.stage is AlertStage.RESOLVED or not alert.places <= old.places
        if old is None:
            kept[alert.id] = replace(alert, since=today)
        elif is_new:
            more = () if old.stage is AlertStage.RESOLVED else old.changes
            kept[alert.id] = replace(old, changes=(*alert.changes, *more), stage=AlertStage.OPEN, good=())
        entry = kept[alert.id]
        shown.append(replace(alert, stage=entry.stage, since=entry.since, note=entry.note, is_new=is_new))
    seen = {alert.id for alert in shown}
    return shown, [item if item.id in seen else _update_unseen(item, measured) for item in kept.values()]


def _update_unseen(item: Alert, measured: Measured) -> Alert:
    """An alert that was not seen this time: whether its cells are good now."""
    found = [measured[place] for place in item.places if place in measured]
    if item.stage is AlertStage.RESOLVED or not all(works for works, _ in found):
        return replace(item, good=() if item.stage is not AlertStage.RESOLVED else item.good)
    if not found or len(found) < len(item.places):
        return item
    good = tuple(dict.fromkeys((*item.good, max(when for _, when in found))))
    return replace(item, good=good, stage=AlertStage.RESOLVED if len(good) >= GOOD_RUNS else item.stage)
