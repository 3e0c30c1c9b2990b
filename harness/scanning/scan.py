"""A scan from a path to findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import names, versions
from harness.answers.select import exporter_name, load
from harness.scanning import files, pins
from harness.scanning.files import Skipped, Source
from harness.scanning.judge import Finding, Judge, Seen
from harness.scanning.shapes import shapes
from harness.scanning.sites import Kind, Site, find
from harness.worker.errors import UnknownName
from harness.worker.status import Exporter

if TYPE_CHECKING:
    from harness.store import Dataset


@dataclass(frozen=True)
class Scan:
    """The answer. ``releases`` were looked at, ``said`` is why; ``exporter`` and ``opset`` are those asked for or
    pinned throughout the tree, ``None`` for each release's own. ``files`` counts the files that have to do with torch.
    """

    path: str
    releases: tuple[str, ...]
    said: str
    exporter: str | None
    opset: int | None
    files: int
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]


def scan(
    dataset: Dataset, path: Path, torch: Sequence[str] = (), exporter: str | None = None, opset: int | None = None
) -> Scan:
    """What the source tree at ``path`` has that measurements speak to.

    ``torch`` are releases or series; where none is given the project's own files say which. Raises
    :class:`UnknownName` for a path that is not there and a name nobody knows.
    """
    rows = load(dataset)
    if not rows.torch:
        raise UnknownName("nothing has been measured yet: `caniexport measure` does")
    read = list(files.read(path))
    sources = [item for item in read if isinstance(item, Source)]
    found, unseen = find(sources, shapes(rows.catalogue.values()))
    if torch:
        chosen = tuple(versions.ordered(versions.resolve(text, rows.torch) for text in torch))
        asked = pins.Pins(chosen, "asked for")
    else:
        asked = pins.read(path, rows.torch)
    if exporter:
        known = [member.value for member in Exporter if member is not Exporter.DEFAULT]
        exporter = names.require("exporter", exporter_name(exporter), known)
    notes = [f"{problem}: not looked at for the torch that the project asks for" for problem in asked.problems]
    if exporter is None and any(site.kind is Kind.DYNAMO for site in found):
        exporter = Exporter.TRACE.value
        notes.append("dynamo=False is in the tree, so the TorchScript exporter is meant (--exporter takes another)")
    pinned = {int(site.name) for site in found if site.kind is Kind.OPSET}
    if opset is None and len(pinned) == 1:
        (opset,) = pinned
        notes.append(f"opset {opset} is the only one pinned in the tree, so it is meant (--opset takes another)")
    seen: Seen = dataset.beside.setdefault("scan", Seen(rows))
    judge = Judge(seen, asked.torch, exporter, opset)
    own = Judge(seen, asked.torch, exporter, None)
    known_arguments = judge.known_arguments()
    judged = [
        # a pinned opset is held against each release's own
        (own if site.kind is Kind.OPSET else judge).judge(site)
        for site in found
        if site.kind is not Kind.ARGUMENT or site.name in known_arguments
    ]
    return Scan(
        str(path),
        asked.torch,
        asked.said,
        exporter,
        opset,
        len(sources) - len(unseen),
        tuple(finding for finding in judged if _says(finding)),
        (*(item for item in read if isinstance(item, Skipped)), *unseen),
        tuple(notes),
    )


def _says(finding: Finding) -> bool:
    """An argument that every release takes is no finding; everything else is shown, also what nothing speaks to."""
    site: Site = finding.site
    return site.kind is not Kind.ARGUMENT or finding.word.value in ("harmful", "broken")
