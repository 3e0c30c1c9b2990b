"""A scan from a path to findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers.select import load, require_exporter
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.torch_operators import operators_beside
from caniexport.corpus.verdicts import Workaround
from caniexport.model.errors import UnknownName
from caniexport.model.status import Exporter
from caniexport.scan import copies, files, pins
from caniexport.scan.files import Skipped, SourceFile
from caniexport.scan.judge import Judge, Seen, SiteFinding, of_each
from caniexport.scan.project import Meant, Offers, meant
from caniexport.scan.site import SiteKind
from caniexport.scan.sites import find
from caniexport.settings import ProjectSettings, read_settings
from caniexport.store import Dataset


@dataclass(frozen=True)
class SourceScan:
    """The answer. ``releases`` were looked at, ``said`` is why; ``exporter`` and ``opset`` are those asked for or
    named by most of the tree's export calls, ``None`` for each release's own; ``exporters`` has all where its calls use
    several, and each finding is held against each. ``files`` counts the files that have to do with torch.
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
    exporters: tuple[str, ...] = ()


def scan(
    dataset: Dataset, path: Path, torch: Sequence[str] = (), exporter: str | None = None, opset: int | None = None
) -> SourceScan:
    """Return what the source tree at ``path`` has that measurements speak to.

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
    found, unseen = find(sources, copies.learn(rows.catalogue.values()))
    asked = _releases(torch, own, path, rows.torch)
    if exporter:
        exporter = require_exporter(exporter, named=True)
    problems = (f"{problem}: not looked at for the torch that the project asks for" for problem in asked.problems)

    defaults = rows.default_exporters

    def used_in(name: str | None, torch: str) -> str:
        """The exporter of a call; where a release has no such exporter, its own."""
        own = defaults.get(torch, Exporter.TRACE.value)
        return name if name and (name == exporter or rows.offers.get((torch, name))) else own

    def offered(name: str | None, number: int) -> bool:
        return any(number in rows.offers.get((torch, used_in(name, torch)), ()) for torch in asked.torch)

    told = filter(None, [own.told(*used)])
    offers = Offers(offered, lambda name: [used_in(name, torch) for torch in asked.torch])
    project = meant(found, Meant(exporter, opset, (*problems, *told)), offers)
    seen: Seen = dataset.beside.setdefault("scan", Seen(rows, operators_beside(dataset)))

    def judge_of(name: str | None, number: int | None) -> Judge:
        return Judge(seen, asked.torch, name, number, is_asked=name is not None and name == exporter)

    unpinned = judge_of(project.exporter, None)
    judges = {
        EXPORTER_SHORT[way] if way else "each release's own exporter": judge_of(
            way, project.opset if project.opset and offered(way, project.opset) else None
        )
        for way in project.ways
    }
    by_most = judge_of(project.exporter, project.opset)
    if len(judges) == 1:
        judges = {"": by_most}
    judged = [
        # a pinned opset is held against each release's own; an argument is taken or refused at any
        unpinned.judge(site)
        if site.kind in (SiteKind.OPSET, SiteKind.ARGUMENT)
        else by_most.judge(site)
        if site.kind is SiteKind.DYNAMO
        else of_each({way: judge.judge(site) for way, judge in judges.items()})
        for site in found
        if site.kind is not SiteKind.EXPORT
    ]
    return SourceScan(
        str(path),
        asked.torch,
        asked.said,
        project.exporter,
        project.opset,
        len(sources) - len(unseen),
        tuple(item for item in judged if item.site.kind is not SiteKind.ARGUMENT or item.word is Workaround.HARMFUL),
        (*(item for item in read if isinstance(item, Skipped)), *unseen),
        project.notes,
        tuple(filter(None, judges)),
    )


def _releases(torch: Sequence[str], own: ProjectSettings, path: Path, measured: Sequence[str]) -> pins.Pins:
    if not torch and not own.torch:
        return pins.read(path, measured)
    named = [item for text in torch or (own.torch,) for item in versions.resolve_each(text, measured)]
    return pins.Pins(tuple(versions.ordered(named)), "asked for" if torch else own.told("torch"))
