"""A scan on the screen: the decision in one sentence, then the places by file with the measured case and a fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from caniexport.answers.signs import WORKAROUND
from caniexport.cli.output import styled
from caniexport.corpus.verdicts import Workaround

if TYPE_CHECKING:
    from caniexport.cli.output import Console
    from caniexport.scan.judge import SiteFinding
    from caniexport.scan.scan import SourceScan
    from caniexport.scan.site import Site

#: evidence, places and lines of a fix's code that are shown
_MOST, _PLACES, _LINES = 2, 5, 12
_DECISION = {
    Workaround.NEEDED: "still needed",
    Workaround.OBSOLETE: "can go",
    Workaround.BROKEN: "does not help",
    Workaround.HARMFUL: "does harm",
    Workaround.UNKNOWN: "not judged",
}


_HEAPS = {
    "version-gate": "comparisons with torch's version whose sides no measured case tells apart",
    "export-branch": "branches on exporting without a measured case",
}
_DEAD = "comparisons with torch's version that are always or never true at these releases: one side can go"


def show_scan(found: SourceScan, console: Console, *, everything: bool = False) -> None:
    """Print the decision, the workarounds by file, the export calls' settings, and what was assumed or left out."""
    from caniexport.scan.decision import decide, workarounds

    console.print(decide(found), style="bold", soft_wrap=True)
    console.print(f"{found.path}: {found.files} files that have to do with torch; {found.said}", soft_wrap=True)
    shown: set[object] = set()
    for path, items in _by_file(workarounds(found)).items():
        console.print(f"\n{path}", style="bold", soft_wrap=True)
        for item in items:
            _finding(item, shown, console)
    _settings([item for item in found.findings if item.is_setting], console)
    _heaps(found, console, everything=everything)
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    for skipped in found.skipped:
        console.print(f"- not looked at: {skipped.path}: {skipped.reason}", soft_wrap=True)


def _by_file(items: Iterable[SiteFinding]) -> dict[str, list[SiteFinding]]:
    found: dict[str, list[SiteFinding]] = {}
    for item in items:
        found.setdefault(item.site.path, []).append(item)
    return found


def _finding(finding: SiteFinding, shown: set[object], console: Console) -> None:
    """A place, its decision and its line; the evidence where nothing before had the same."""
    site, sign = finding.site, WORKAROUND[finding.word]
    head = styled(f"{sign.sign} {_DECISION[finding.word]:13} ", sign)
    console.print(f"  {site.line:>5}  ", head, _named(site), sep="", soft_wrap=True)
    console.print(f"         {site.text}", soft_wrap=True, markup=False, highlight=False)
    key = (finding.word, finding.statement, site.kind, site.fixes or site.name, finding.evidence)
    if key in shown:
        return
    shown.add(key)
    console.print(f"         {finding.statement}", soft_wrap=True)
    for item in finding.evidence[:_MOST]:
        console.print(f"         {item.case}/{item.variant}: {item.text}", soft_wrap=True)
    if len(finding.evidence) > _MOST:
        console.print(f"         and {len(finding.evidence) - _MOST} more cases (--json has all)")
    _remedy(finding, console)


def _named(site: Site) -> str:
    """Return what a place is: the workaround that it is a copy of, or its own name."""
    named = "/".join(site.fixes[0]) if site.kind.value == "known-workaround" else site.name
    return f"{site.kind.value.replace('-', ' ')}: {named}"


def _remedy(finding: SiteFinding, console: Console) -> None:
    remedy = finding.remedy
    if remedy is None:
        return
    console.print(f"         measured to work there: {remedy.case}/{remedy.variant}: {remedy.note}", soft_wrap=True)
    lines = remedy.code.splitlines()
    for line in lines[:_LINES]:
        console.print(f"           {line}", soft_wrap=True, markup=False, highlight=False)
    if len(lines) > _LINES:
        console.print(f"           … (caniexport case {remedy.case} has all)")


def _settings(found: Sequence[SiteFinding], console: Console) -> None:
    """The arguments of export calls: equal ones in one line, with what the rows say of them."""
    if not found:
        return
    console.print("\nArguments of export calls", style="bold")
    told: dict[tuple[str, str], list[SiteFinding]] = {}
    for item in found:
        told.setdefault((item.site.name, item.statement), []).append(item)
    for (name, statement), items in told.items():
        head = styled(f"  {WORKAROUND[items[0].word].sign} {name}", WORKAROUND[items[0].word])
        console.print(head, f": {statement} ({_places(items)})", sep="", soft_wrap=True)


def _heaps(found: SourceScan, console: Console, *, everything: bool) -> None:
    """Print the number of branches without a measured case."""
    heaps: dict[str, list[SiteFinding]] = {}
    for item in found.findings:
        if item.is_undecided:
            is_dead = item.holds in ("always", "never") and len(found.releases) > 1
            heaps.setdefault(_DEAD if is_dead else _HEAPS[item.site.kind.value], []).append(item)
    if heaps:
        console.print("\nNot judged" + ("" if everything else " (--all lists them)"), style="bold")
    for heap, items in heaps.items():
        console.print(f"  {heap}: {len(items)} ({_places(items)})", soft_wrap=True)
        for item in items if everything else ():
            console.print(f"    {item.site.path}:{item.site.line}  {item.site.name}  {item.site.text}", soft_wrap=True)


def _places(items: Sequence[SiteFinding]) -> str:
    """``a.py:3, b.py:7 and 4 more``."""
    places = [f"{path}:{line}" for path, line in Counter((item.site.path, item.site.line) for item in items)]
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return ", ".join(places[:_PLACES]) + more
