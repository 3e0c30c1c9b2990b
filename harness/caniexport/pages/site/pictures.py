"""Pictures of exported graphs in the static copy: of each form and exporter of a case the newest release's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caniexport.model.errors import StoreError
from caniexport.pages.graph import Drawing, draw_graph
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.store.onnx_graph import Graph
from caniexport.store.views import Views

FOLDER = "graph"
#: the files of a case that work, by the exporters that write different graphs, the original's first; of each the newest
#: release and highest opset first
_FILES = """SELECT variant, exporter, torch, opset, bundle FROM cells JOIN version USING (torch)
    WHERE "case" = $1 AND profile = $2 AND provider = 'cpu' AND works(status)
        AND exporter IN ('torchscript-trace', 'dynamo') AND bundle IS NOT NULL AND opset IS NOT NULL
    ORDER BY variant <> 'plain', variant, exporter DESC, n DESC, opset DESC"""


class _File(NamedTuple):
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
        for file in map(_File._make, Views.of(self._kept).fetch(_FILES, [case, self._kept.profile])):
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
