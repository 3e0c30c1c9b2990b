"""Answers about lines of a project, as annotations of a pull request and as SARIF, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from caniexport import __version__
from caniexport.answers.annotations import annotation
from caniexport.answers.answer import Answer, Mark, Place, cell_text
from caniexport.answers.signs import WORKAROUND
from caniexport.corpus.verdicts import Workaround

#: GitHub's level of a verdict; none for what is not measured
_LEVELS = {
    Workaround.HARMFUL: "error",
    Workaround.BROKEN: "warning",
    Workaround.OBSOLETE: "warning",
    Workaround.NEEDED: "notice",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Finding(NamedTuple):
    """A verdict on a line of a file."""

    place: Place
    verdict: Workaround
    title: str
    message: str


def list_findings(answer: Answer) -> Iterator[Finding]:
    """Yield the rows that have both a line of a file and a verdict."""
    for table in answer.tables:
        for row in table.rows:
            place = next((cell for cell in row if isinstance(cell, Place)), None)
            mark = next((cell for cell in row if isinstance(cell, Mark) and isinstance(cell.word, Workaround)), None)
            if place and mark and isinstance(mark.word, Workaround):
                texts = zip(table.columns, map(cell_text, row), strict=True)
                parts = [f"{column}: {text}" for column, text in texts if text and column != "place"]
                yield Finding(place, mark.word, f"{mark.word.value}: {cell_text(row[1])}", ", ".join(parts))


def as_github(answer: Answer) -> str:
    """Return an annotation for each finding, then one with the verdict."""
    lines = [
        annotation(_LEVELS[item.verdict], item.title, item.message, item.place.path, item.place.line)
        for item in list_findings(answer)
        if item.verdict in _LEVELS
    ]
    return "\n".join([*lines, annotation("notice", "caniexport", answer.verdict)]) + "\n"


def as_sarif(answer: Answer) -> str:
    """Return the findings as SARIF 2.1.0: a rule for each verdict, a result for each finding."""
    rules = [
        {"id": word.value, "shortDescription": {"text": f"workaround {word.value}: {WORKAROUND[word].meaning}"}}
        for word in _LEVELS
    ]
    run = {
        "tool": {"driver": {"name": "caniexport", "semanticVersion": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_make_result(item) for item in list_findings(answer) if item.verdict in _LEVELS],
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
