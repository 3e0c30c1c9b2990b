"""A scan as annotations of a pull request and as SARIF, for code scanning. Each is a pure function to text."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from urllib.parse import quote

from caniexport import __version__
from caniexport.answers.annotations import annotation
from caniexport.answers.signs import WORKAROUND
from caniexport.corpus.verdicts import Workaround
from caniexport.scan.judge import SiteFinding
from caniexport.scan.scan import SourceScan

#: what a finding is to a reviewer, as GitHub says it; what depends on the model is none
_LEVELS = {
    Workaround.HARMFUL: "error",
    Workaround.BROKEN: "warning",
    Workaround.OBSOLETE: "warning",
    Workaround.NEEDED: "notice",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github(found: SourceScan) -> str:
    """A line for each finding with a measured case, then one that sums them up."""
    lines = [
        annotation(_LEVELS[item.word], _title(item), _message(item), _path(found, item), item.site.line)
        for item in _told(found)
    ]
    note = f"{len(lines)} findings that measured cases speak to; torch {found.releases[0]} to {found.releases[-1]}"
    return "\n".join([*lines, annotation("notice", "caniexport", f"{note}, {found.said}")]) + "\n"


def sarif(found: SourceScan) -> str:
    """The same as SARIF 2.1.0: a rule for each word, a result for each finding."""
    rules = [
        {"id": word.value, "shortDescription": {"text": f"workaround {word.value}: {WORKAROUND[word].meaning}"}}
        for word in _LEVELS
    ]
    driver = {"name": "caniexport", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, item) for item in _told(found)],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(found: SourceScan, item: SiteFinding) -> dict[str, object]:
    place = {
        "artifactLocation": {"uri": quote(_path(found, item))},
        "region": {"startLine": item.site.line, "snippet": {"text": item.site.text}},
    }
    return {
        "ruleId": item.word.value,
        "ruleIndex": list(_LEVELS).index(item.word),
        "level": _LEVELS[item.word].replace("notice", "note"),
        "message": {"text": f"{_title(item)}: {_message(item)}"},
        "locations": [{"physicalLocation": place}],
    }


def _told(found: SourceScan) -> list[SiteFinding]:
    return [item for item in found.findings if item.is_measured and item.word in _LEVELS]


def _title(item: SiteFinding) -> str:
    """``obsolete: version-gate torch < 2.1``."""
    return f"{item.word.value}: {item.site.kind.value} {item.site.name}".rstrip()


def _message(item: SiteFinding) -> str:
    """The sentence, the first case that shows it, and a fix that works."""
    said = [item.statement, *(f"{one.case}/{one.variant}: {one.text}" for one in item.evidence[:1])]
    said += [f"measured to work there: {item.remedy.case}/{item.remedy.variant}"] if item.remedy else []
    said += [f"caniexport why {one.case}" for one in item.evidence[:1]]
    return "\n".join(said)


def _path(found: SourceScan, item: SiteFinding) -> str:
    """A file as the project names it: below the tree that was scanned, or the one file that was."""
    tree = PurePosixPath(found.path.replace("\\", "/"))
    return str(tree if tree.name == item.site.path and tree.suffix == ".py" else tree / item.site.path)
