"""A scan of a source tree in the terminal: what measurements speak to first, then the rest in a line each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from caniexport.scan.judge import SiteFinding
    from caniexport.scan.scan import SourceScan

_MOST = 4


def show(found: SourceScan, console: Console) -> None:
    """Print the findings, the files that were left out and what was assumed."""
    from caniexport.answers.signs import WORKAROUND

    span = " to ".join(dict.fromkeys((found.releases[0], found.releases[-1])))
    console.print(
        f"{found.path}: {found.files} files that have to do with torch; torch {span}, {found.said}", soft_wrap=True
    )
    spoken = [item for item in found.findings if item.spoken]
    silent = [item for item in found.findings if not item.spoken]
    for finding in spoken:
        _finding(finding, console)
    if silent:
        console.print(f"\nNothing measured here speaks to {len(silent)} of {len(found.findings)}:")
    for finding in silent:
        _line(finding, console)
    if not found.findings:
        console.print("No version gate and no known workaround was found.")
    counts = Counter(item.word for item in spoken)
    if counts:
        console.print("\n" + "; ".join(f"{counts[word]} {word.value}" for word in WORKAROUND if counts[word]))
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    for item in found.skipped:
        console.print(f"- not looked at: {item.path}: {item.reason}", soft_wrap=True)


def _finding(finding: SiteFinding, console: Console) -> None:
    from caniexport.answers.signs import WORKAROUND
    from caniexport.cli.output import styled

    site, sign = finding.site, WORKAROUND[finding.word]
    console.print()
    head = styled(f"{sign.sign} {finding.word.value:8} ", sign)
    console.print(head, f"{site.path}:{site.line}  {site.kind.value} {site.name}", sep="", soft_wrap=True)
    console.print(f"    {site.text}", soft_wrap=True)
    console.print(f"  {finding.statement}", soft_wrap=True)
    for item in finding.evidence[:_MOST]:
        console.print(f"    {item.case}/{item.variant}: {item.text}", soft_wrap=True)
    if len(finding.evidence) > _MOST:
        console.print(f"    and {len(finding.evidence) - _MOST} more (--json has all)")


def _line(finding: SiteFinding, console: Console) -> None:
    from caniexport.scan.judge import NOTHING

    site = finding.site
    more = finding.statement.removeprefix(NOTHING).lstrip(":; ")
    name = f" {site.name}" if site.name else ""
    console.print(f"  {site.path}:{site.line}  {site.kind.value}{name}" + (f": {more}" if more else ""), soft_wrap=True)
