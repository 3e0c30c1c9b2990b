"""What a scan comes to: in one sentence, as annotations of a pull request, and as SARIF, for code scanning.

Each is a pure function to text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from caniexport import __version__, names
from caniexport.answers.annotations import annotation
from caniexport.answers.signs import EXPORTER_SHORT, WORKAROUND
from caniexport.corpus.verdicts import Workaround
from caniexport.scan.judge import SiteFinding
from caniexport.scan.scan import SourceScan
from caniexport.scan.site import Sureness

#: of a workaround with this word: one, and several
_SAID = {
    Workaround.HARMFUL: ("does harm", "do harm"),
    Workaround.BROKEN: ("does not help", "do not help"),
    Workaround.NEEDED: ("is still needed", "are still needed"),
    Workaround.OBSOLETE: ("can go", "can go"),
}
#: of what export calls are given: words that come before all else, the worst first
_AT_FAULT = (Workaround.HARMFUL, Workaround.BROKEN)
#: arguments that are told by name
_MOST = 4
#: what a finding is to a reviewer, as GitHub says it; what depends on the model is none
_LEVELS = {
    Workaround.HARMFUL: "error",
    Workaround.BROKEN: "warning",
    Workaround.OBSOLETE: "warning",
    Workaround.NEEDED: "notice",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def workarounds(found: SourceScan) -> list[SiteFinding]:
    """The findings that are workarounds: no settings of export calls, no other gates, nothing that may be ordinary."""
    return [item for item in found.findings if not (item.is_setting or item.is_lesser or item.is_elsewhere)]


def decide(found: SourceScan) -> str:
    """``9 workarounds were found: 2 are still needed; 3 cannot be judged (…). Held against torch 2.8.0, …``.

    What does harm in the export calls themselves is the first sentence.
    """
    told, at_fault = workarounds(found), "".join(f"{said}. " for said in _settings_at_fault(found))
    if not told:
        return f"{at_fault}No workaround for an export was found, at {point(found)}."
    return f"{at_fault}{_counted(found, told)}"


def _settings_at_fault(found: SourceScan) -> Iterator[str]:
    """``1 argument of an export call does harm: enable_onnx_checker``, for each word that is bad."""
    for word in _AT_FAULT:
        bad = [item.site.argument for item in found.findings if item.is_setting and item.word is word]
        if bad:
            whole = "1 argument of an export call" if len(bad) == 1 else f"{len(bad)} arguments of export calls"
            yield f"{whole} {_SAID[word][len(bad) > 1]}: {names.some(list(dict.fromkeys(bad)), _MOST)}"


def _counted(found: SourceScan, told: Sequence[SiteFinding]) -> str:
    counts = Counter(item.word for item in told if item.word in _SAID)
    known = [f"{counts[word]} {_SAID[word][counts[word] > 1]}" for word in _SAID if counts[word]]
    rest = [item for item in told if item.word not in _SAID]
    whole = "1 workaround was found" if len(told) == 1 else f"{len(told)} workarounds were found"
    said = [f"{whole}: {', '.join(known)}" if known else whole]
    if rest:
        said.append(f"{len(rest)} cannot be judged ({_reasons(rest)})")
    return f"{'; '.join(said)}. Held against {point(found)}."


def point(found: SourceScan) -> str:
    """``torch 2.5.1 to 2.8.0, trace, opset 17``: what the workarounds are held against."""
    span = " to ".join(dict.fromkeys((found.releases[0], found.releases[-1])))
    exporter = EXPORTER_SHORT.get(found.exporter or "", "each release's own exporter")
    return f"torch {span}, {exporter}, {f'opset {found.opset}' if found.opset else 'its own opset'}"


def _reasons(rest: Sequence[SiteFinding]) -> str:
    counts = Counter(map(why_not, rest))
    runtimes = ", ".join(sorted({item.site.runtime for item in rest} - {""}))
    told = {_ELSEWHERE: f"{_ELSEWHERE}: {runtimes}"}
    return ", ".join(f"{count} {told.get(reason, reason)}" for reason, count in counts.most_common())


_ELSEWHERE = "written for another runtime"


def why_not(item: SiteFinding) -> str:
    """Why a workaround has no word."""
    if item.site.runtime:
        return _ELSEWHERE
    if item.site.sure is Sureness.OPERATOR and item.evidence:
        return "whose operator has cases that end differently"
    if item.spoken:
        return "whose function may export without it, or not"
    return "whose case was not measured there" if item.evidence else "that no measured case is about"


def github(found: SourceScan) -> str:
    """A line for each finding that a measured case speaks to, then one that sums them up."""
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
    return [item for item in found.findings if item.spoken and item.word in _LEVELS and not item.is_lesser]


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
