"""What a scan comes to, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import Workaround
from caniexport.scan.judge import SiteFinding
from caniexport.scan.scan import SourceScan
from caniexport.scan.site import Sureness

#: of a workaround with this word: one, and several
_SAID = {
    Workaround.NEEDED: ("is still needed", "are still needed"),
    Workaround.OBSOLETE: ("can go", "can go"),
    Workaround.BROKEN: ("does not help", "do not help"),
    Workaround.HARMFUL: ("does harm", "do harm"),
}


def workarounds(found: SourceScan) -> list[SiteFinding]:
    """The findings that are workarounds: no settings of export calls, no other gates, nothing that may be ordinary."""
    return [item for item in found.findings if not (item.is_setting or item.is_lesser or item.is_elsewhere)]


def decide(found: SourceScan) -> str:
    """``9 workarounds were found: 2 are still needed; 3 cannot be judged (…). Held against torch 2.8.0, …``."""
    told = workarounds(found)
    if not told:
        return f"No workaround for an export was found, at {point(found)}."
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
