"""A scan from a path to findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers.select import load, require_exporter
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.scan import files, pins
from caniexport.scan.files import Skipped, SourceFile
from caniexport.scan.forms import learn
from caniexport.scan.judge import Judge, Seen, SiteFinding
from caniexport.scan.project import Meant, meant
from caniexport.scan.ranked import Ranking
from caniexport.scan.site import Site, SiteKind
from caniexport.scan.sites import find
from caniexport.settings import ProjectSettings, read_settings
from caniexport.store import Dataset


@dataclass(frozen=True)
class SourceScan:
    """The answer. ``releases`` were looked at, ``said`` is why; ``exporter`` and ``opset`` are those asked for or
    named by most of the tree's export calls, ``None`` for each release's own. ``files`` counts the files that have to
    do with torch.
    """

    path: str
    releases: tuple[str, ...]
    said: str
    exporter: str | None
    opset: int | None
    files: int
    findings: tuple[SiteFinding, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


def scan(
    dataset: Dataset, path: Path, torch: Sequence[str] = (), exporter: str | None = None, opset: int | None = None
) -> SourceScan:
    """What the source tree at ``path`` has that measurements speak to.

    ``torch`` are releases, series or ranges; what is not given the project's own files say,
    ``[tool.caniexport]`` first. Raises :class:`UnknownName` for a path that is not there and a name nobody knows.
    """
    rows = load(dataset)
    if not rows.torch:
        raise UnknownName("nothing has been measured yet: `caniexport measure` does")
    own = read_settings(path)
    used = [key for key, given in (("exporter", exporter), ("opset", opset)) if not given]
    exporter, opset = exporter or own.exporter or None, opset or int(own.opset or 0) or None
    read = list(files.read(path))
    sources = [item for item in read if isinstance(item, SourceFile)]
    ranking: Ranking = dataset.beside.setdefault("scan ranking", Ranking(learn(rows.catalogue.values())))
    found, unseen = find(sources, ranking)
    asked = _releases(torch, own, path, rows.torch)
    if exporter:
        exporter = require_exporter(exporter, named=True)
    problems = (f"{problem}: not looked at for the torch that the project asks for" for problem in asked.problems)

    def offered(name: str | None, number: int) -> bool:
        given = ((torch, name or rows.default_exporters.get(torch, Exporter.TRACE.value)) for torch in asked.torch)
        return any(number in rows.offers.get(key, ()) for key in given)

    told = filter(None, [own.told(*used)])
    project = meant(found, Meant(exporter, opset, (*problems, *told)), offered)
    exporter, opset = project.exporter, project.opset
    seen: Seen = dataset.beside.setdefault("scan", Seen(rows))
    judge = Judge(seen, asked.torch, exporter, opset)
    unpinned = Judge(seen, asked.torch, exporter, None)
    known_arguments = judge.known_arguments()
    judged = [
        # a pinned opset is held against each release's own; an argument is taken or refused at any
        (unpinned if site.kind in (SiteKind.OPSET, SiteKind.ARGUMENT) else judge).judge(site)
        for site in found
        if site.kind is not SiteKind.ARGUMENT or site.name in known_arguments
    ]
    return SourceScan(
        str(path),
        asked.torch,
        asked.said,
        exporter,
        opset,
        len(sources) - len(unseen),
        tuple(finding for finding in judged if _says(finding)),
        (*(item for item in read if isinstance(item, Skipped)), *unseen),
        project.notes,
    )


def _releases(torch: Sequence[str], own: ProjectSettings, path: Path, measured: Sequence[str]) -> pins.Pins:
    if not torch and not own.torch:
        return pins.read(path, measured)
    named = [item for text in torch or (own.torch,) for item in versions.resolve_each(text, measured)]
    return pins.Pins(tuple(versions.ordered(named)), "asked for" if torch else own.told("torch"))


def _says(finding: SiteFinding) -> bool:
    """Whether it is a finding: an export call is none, nor is an argument that every release takes."""
    site: Site = finding.site
    if site.kind is SiteKind.EXPORT:
        return False
    return site.kind is not SiteKind.ARGUMENT or finding.word.value in ("harmful", "broken")
