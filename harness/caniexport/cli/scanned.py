"""A scan on the screen: of each finding the decision first, then its places, the measured case and a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.signs import EXPORTER_SHORT, WORKAROUND
from caniexport.cli.output import styled
from caniexport.corpus.verdicts import Workaround

if TYPE_CHECKING:
    from caniexport.cli.output import Console
    from caniexport.scan.judge import SiteFinding
    from caniexport.scan.scan import SourceScan
    from caniexport.scan.site import Site

#: evidence, places and lines of a fix's code that are shown
_MOST, _PLACES, _LINES = 4, 5, 12
_DECISION = {
    Workaround.NEEDED: "is still needed",
    Workaround.OBSOLETE: "may go",
    Workaround.BROKEN: "does not help",
    Workaround.HARMFUL: "does harm",
    Workaround.UNKNOWN: "depends on the model",
}


def show_scan(found: SourceScan, console: Console) -> None:
    """Print the decision, the findings, and what was assumed or left out."""
    span = " to ".join(dict.fromkeys((found.releases[0], found.releases[-1])))
    console.print(
        f"{found.path}: {found.files} files that have to do with torch; torch {span}, {found.said}", soft_wrap=True
    )
    spoken = [item for item in found.findings if item.spoken]
    if spoken:
        console.print(_summary(spoken, _point(found)), soft_wrap=True)
    for same in _grouped(spoken):
        _finding(same, console)
    _silent([item for item in found.findings if not item.spoken], len(found.findings), console)
    if not found.findings:
        console.print("No version gate and no known workaround was found.")
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    for item in found.skipped:
        console.print(f"- not looked at: {item.path}: {item.reason}", soft_wrap=True)


def _point(found: SourceScan) -> str:
    exporter = EXPORTER_SHORT.get(found.exporter or "", "each release's own exporter")
    opset = f"opset {found.opset}" if found.opset else "its own opset"
    return f"torch {found.releases[-1]}, {exporter}, {opset}"


def _summary(spoken: Sequence[SiteFinding], point: str) -> str:
    """``At torch 2.8.0, trace, its own opset: 1 is still needed, 3 may go.``"""
    counts = Counter(item.word for item in spoken)
    told = ", ".join(f"{counts[word]} {_counted(word, counts[word])}" for word in WORKAROUND if counts[word])
    return f"At {point}: {told}."


def _counted(word: Workaround, count: int) -> str:
    plural = {"is still needed": "are still needed", "does not help": "do not help", "does harm": "do harm"}
    text = _DECISION[word]
    if word is Workaround.UNKNOWN:
        return text if count == 1 else "depend on the model"
    return text if count == 1 else plural.get(text, text)


def _grouped(spoken: Sequence[SiteFinding]) -> list[list[SiteFinding]]:
    """Findings of which the same is said, together, the first's order."""
    found: dict[tuple[object, ...], list[SiteFinding]] = {}
    for item in spoken:
        site = item.site
        key = (item.word, item.statement, site.kind, site.fixes or site.name, item.evidence)
        found.setdefault(key, []).append(item)
    return list(found.values())


def _finding(same: Sequence[SiteFinding], console: Console) -> None:
    finding = same[0]
    site, sign = finding.site, WORKAROUND[finding.word]
    console.print()
    head = styled(f"{sign.sign} {finding.word.value:8} ", sign)
    console.print(head, f"{site.path}:{site.line}  {site.kind.value} {_named(site)}", sep="", soft_wrap=True)
    console.print(f"  {finding.statement}", soft_wrap=True)
    console.print(f"    {site.text}", soft_wrap=True)
    seen = [f"seen by {site.told}"] if site.told else []
    seen += [f"well known as {site.of}"] if site.of else []
    if seen:
        console.print(f"    {'; '.join(seen)}", soft_wrap=True)
    _places("also at", [item.site.path + f":{item.site.line}" for item in same[1:]], console)
    for item in finding.evidence[:_MOST]:
        console.print(f"    {item.case}/{item.variant}: {item.text}", soft_wrap=True)
    if len(finding.evidence) > _MOST:
        console.print(f"    and {len(finding.evidence) - _MOST} more (--json has all)")
    _remedy(finding, console)


def _named(site: Site) -> str:
    """What a site is: its name, and how sure that is where it is not the same as something measured."""
    from caniexport.scan.site import Sureness

    return f"{site.name}, the operator; which case of it is not plain" if site.sure is Sureness.OPERATOR else site.name


def _remedy(finding: SiteFinding, console: Console) -> None:
    remedy = finding.remedy
    if remedy is None:
        return
    console.print(f"    measured to work there: {remedy.case}/{remedy.variant}: {remedy.note}", soft_wrap=True)
    lines = remedy.code.splitlines()
    for line in lines[:_LINES]:
        console.print(f"      {line}", soft_wrap=True, markup=False, highlight=False)
    if len(lines) > _LINES:
        console.print(f"      … (caniexport why {remedy.case} has all)")


def _places(what: str, places: Sequence[str], console: Console) -> None:
    if places:
        more = f" and {len(places) - _PLACES} more places" if len(places) > _PLACES else ""
        console.print(f"    {what} {', '.join(places[:_PLACES])}{more}", soft_wrap=True)


def _silent(silent: Sequence[SiteFinding], whole: int, console: Console) -> None:
    """What no measured case applies to; gates on other things, and what is for another runtime, in one line each."""
    if not silent:
        return
    console.print(f"\nNo measured case applies to {len(silent)} of {whole}:")
    told: dict[str, list[SiteFinding]] = {}
    for finding in silent:
        told.setdefault(_heap(finding), []).append(finding)
    for finding in told.pop("", []):
        _line(finding, console)
    for heap, found in told.items():
        _heaped(heap, found, console)


def _heap(finding: SiteFinding) -> str:
    """What a finding is told together with; empty for a line of its own."""
    site = finding.site
    if site.runtime:
        return f"written for {site.runtime}, not judged as ONNX"
    if site.kind.value == "version-gate" and not site.told:
        return "comparisons with torch's version that do not concern an export"
    return ""


def _heaped(heap: str, found: Iterable[SiteFinding], console: Console) -> None:
    places = [f"{item.site.path}:{item.site.line}" for item in found]
    more = f" and {len(places) - _PLACES} more (--json has all)" if len(places) > _PLACES else ""
    console.print(f"  {len(places)} {heap}: {', '.join(places[:_PLACES])}{more}", soft_wrap=True)


def _line(finding: SiteFinding, console: Console) -> None:
    from caniexport.scan.judge import NOTHING

    site = finding.site
    more = finding.statement.removeprefix(NOTHING).lstrip(":; ")
    name = f" {site.name}" if site.name else ""
    console.print(f"  {site.path}:{site.line}  {site.kind.value}{name}" + (f": {more}" if more else ""), soft_wrap=True)
