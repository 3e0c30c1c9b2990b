"""Answers about places of a project, as annotations of a pull request and as SARIF, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from caniexport import __version__
from caniexport.answers.annotations import annotation
from caniexport.answers.answer import Answer, Mark, Place, words
from caniexport.answers.signs import WORKAROUND
from caniexport.corpus.verdicts import Workaround

#: what a verdict is to a reviewer, as GitHub says it; what is not measured is none
_LEVELS = {
    Workaround.HARMFUL: "error",
    Workaround.BROKEN: "warning",
    Workaround.OBSOLETE: "warning",
    Workaround.NEEDED: "notice",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Finding(NamedTuple):
    """A row with a verdict at a place."""

    place: Place
    verdict: Workaround
    title: str
    message: str


def findings(answer: Answer) -> Iterator[Finding]:
    """The rows that have both a place and a verdict."""
    for table in answer.tables:
        for row in table.rows:
            place = next((cell for cell in row if isinstance(cell, Place)), None)
            mark = next((cell for cell in row if isinstance(cell, Mark) and isinstance(cell.word, Workaround)), None)
            if place and mark and isinstance(mark.word, Workaround):
                texts = zip(table.columns, map(words, row), strict=True)
                told = [f"{column}: {text}" for column, text in texts if text and column != "place"]
                yield Finding(place, mark.word, f"{mark.word.value}: {words(row[1])}", ", ".join(told))


def github(answer: Answer) -> str:
    """A line for each finding, then one with the verdict."""
    lines = [
        annotation(_LEVELS[item.verdict], item.title, item.message, item.place.path, item.place.line)
        for item in findings(answer)
        if item.verdict in _LEVELS
    ]
    return "\n".join([*lines, annotation("notice", "caniexport", answer.verdict)]) + "\n"


def sarif(answer: Answer) -> str:
    """The same as SARIF 2.1.0: a rule for each verdict, a result for each finding."""
    rules = [
        {"id": word.value, "shortDescription": {"text": f"workaround {word.value}: {WORKAROUND[word].meaning}"}}
        for word in _LEVELS
    ]
    run = {
        "tool": {"driver": {"name": "caniexport", "semanticVersion": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_make_result(item) for item in findings(answer) if item.verdict in _LEVELS],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _make_result(item: Finding) -> dict[str, object]:
    place = {"artifactLocation": {"uri": quote(item.place.path)}, "region": {"startLine": item.place.line}}
    return {
        "ruleId": item.verdict.value,
        "ruleIndex": list(_LEVELS).index(item.verdict),
        "level": _LEVELS[item.verdict].replace("notice", "note"),
        "message": {"text": f"{item.title} ({item.message})"},
        "locations": [{"physicalLocation": place}],
    }
