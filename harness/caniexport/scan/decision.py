"""What a scan comes to, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from caniexport import names
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.corpus.verdicts import Workaround
from caniexport.scan.judge import CASES_WORK, FORWARD, SiteFinding, ends_of
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
    own = EXPORTER_SHORT.get(found.exporter or "", "each release's own exporter")
    exporter = " and ".join(found.exporters) or own
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
    if item.statement == FORWARD:
        return "whose function may export without it, or not"
    if item.statement.startswith(CASES_WORK):
        return "whose cases work, and other calls of its operator do not"
    if item.unmet:
        return "whose author names what no measured case of it has"
    ends = ends_of(item.evidence)
    if len(ends) > 1:
        of_operator = item.site.sure is Sureness.OPERATOR
        return "whose operator has cases that end differently" if of_operator else "whose cases end differently"
    if ends == {"fails"}:
        return "whose operator fails where no such fix was measured"
    if ends:
        return "whose case was measured at some of the releases only"
    return "whose case was not measured there" if item.evidence else "that no measured case is about"
