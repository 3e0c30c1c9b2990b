"""Pictures of exported graphs in the static copy: of each form and exporter of a case the newest release's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.model.case import PLAIN
from caniexport.model.errors import StoreError
from caniexport.model.status import WORKS, Exporter
from caniexport.pages.graph import Drawing, draw_graph
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.store.onnx_graph import Graph

FOLDER = "graph"
#: exporters whose files are drawn; the others write the same graphs
_EXPORTERS = (Exporter.TRACE.value, Exporter.DYNAMO.value)
_COLUMNS = ("case", "variant", "exporter", "torch", "opset", "bundle")


@dataclass(frozen=True)
class _File:
    """An exported file that works: what it is of, and the hash of its bundle."""

    variant: str
    exporter: str
    torch: str
    opset: int
    bundle: str


class Pictures:
    """Draws the graphs of cases into the folder of a copy; equal pictures are one file."""

    def __init__(self, kept: Kept, folder: Path) -> None:
        self._kept = kept
        self._folder = folder / FOLDER
        self._known = {row["bundle"]: row["graph"] for row in kept.records("graphs")}
        self._files = _newest_first(kept)

    def of(self, case: str, up: str) -> str:
        """The figures of a case as HTML, empty where no graph of it is kept. ``up`` leads to the copy's root."""
        shown: dict[str, tuple[Drawing, list[_File]]] = {}
        for file, graph in self._one_for_each_form(case):
            made = draw_graph(graph)
            shown.setdefault(self._write(made.svg), (made, []))[1].append(file)
        figures = [(f"{up}{FOLDER}/{name}", *found) for name, found in shown.items()]
        return render("figures.html", figures=figures) if figures else ""

    def _one_for_each_form(self, case: str) -> Iterator[tuple[_File, Graph]]:
        taken = set()
        for file in self._files.get(case, ()):
            if (file.variant, file.exporter) not in taken:
                graph = self._graph(file.bundle)
                if graph is not None:
                    taken.add((file.variant, file.exporter))
                    yield file, graph

    def _graph(self, bundle: str) -> Graph | None:
        text = self._known.get(bundle)
        if text is None:
            return self._kept.graph_here(bundle)
        try:
            return Graph.from_json(text)
        except StoreError:
            return None

    def _write(self, svg: str) -> str:
        name = f"{hashlib.sha256(svg.encode()).hexdigest()[:16]}.svg"
        self._folder.mkdir(exist_ok=True)
        path = self._folder / name
        if not path.exists():
            path.write_text(svg, encoding="utf-8")
        return name


def _newest_first(kept: Kept) -> dict[str, list[_File]]:
    """By case: its files that work, the failing form's first; the newest release and highest opset first of each."""
    where = {"exporter": _EXPORTERS, "provider": ("cpu",), "status": tuple(status.value for status in WORKS)}
    found: dict[str, list[_File]] = {}
    for case, variant, exporter, torch, opset, bundle in kept.select(_COLUMNS, where):
        if bundle is not None and opset is not None:
            found.setdefault(case, []).append(_File(variant or PLAIN, exporter, torch, opset, bundle))
    ranked = {torch: versions.parse(torch) for torch in kept.inventory.torch}
    for files in found.values():
        files.sort(key=lambda file: (ranked[file.torch], file.opset), reverse=True)
        files.sort(key=lambda file: (file.variant != PLAIN, file.variant, _EXPORTERS.index(file.exporter)))
    return found
