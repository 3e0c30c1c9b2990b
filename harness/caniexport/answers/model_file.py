"""A user's ONNX file: the point that it comes from, and what is to be said of it.

And what a runtime takes: the newest opset and IR version of the probes that it ran, held against what a file has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers import onnx_ops
from caniexport.answers.points import MeasuredPoint
from caniexport.answers.reading import Rows
from caniexport.bundles import probes
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.model.status import WORKS
from caniexport.names import plural
from caniexport.store.elsewhere import Runtime
from caniexport.store.onnx_graph import Graph

_CPU = "cpu"
_WORKS = tuple(status.value for status in WORKS)


@dataclass(frozen=True)
class ModelFile:
    """``point`` is where the file says that it comes from: torch where it was measured, exporter, opset, as
    :func:`caniexport.answers.points.parse` gives them; ``versions`` its opset and IR version; ``notes`` what is to be
    said of the file.
    """

    name: str
    point: Mapping[str, str]
    graph: Graph
    notes: tuple[str, ...]
    versions: FileVersions

    def refused_on(self, rows: Rows, places: Iterable[MeasuredPoint]) -> tuple[str, ...]:
        """What the runtimes of places say of the file as it lies there, as far as they refuse it by its versions."""
        refusals = (refusal_by_version(rows, place.on, self.versions) for place in places)
        lead = f"The file itself has {self.versions.text}"
        return tuple(f"{lead}: {said}, and refuses it." for said in dict.fromkeys(filter(None, refusals)))


def read_model(path: Path, measured: Iterable[str]) -> ModelFile:
    """A file, and its place among the ``measured`` releases of torch.

    Raises :class:`caniexport.answers.onnx_ops.BadModel` for a file that is no model.
    """
    return place_model(onnx_ops.read(path), path.name, measured)


def place_model(found: onnx_ops.ModelOps, name: str, measured: Iterable[str]) -> ModelFile:
    """The same of a file that has been read."""
    point = {"torch": _release(found, measured), "exporter": found.exporter, "opset": str(found.opset or "")}
    return ModelFile(
        name,
        {axis: text for axis, text in point.items() if text},
        found.graph,
        tuple(_notes(found, name)),
        FileVersions(found.opset, found.ir_version),
    )


def _release(found: onnx_ops.ModelOps, measured: Iterable[str]) -> str:
    """The measured release that the file names; empty where it names none, or one that was not measured."""
    if not found.exporter or not found.written_by:
        return ""
    try:
        series = ".".join(versions.public(found.written_by).split(".")[:2])
        return versions.resolve(series, measured)
    except UnknownName:
        return ""


def _notes(found: onnx_ops.ModelOps, name: str) -> Iterable[str]:
    by = " ".join(filter(None, (found.producer, found.written_by)))
    exporter = f" with {found.exporter}" if found.exporter else ""
    written = f", written by {by}{exporter}" if by else ""
    count = plural(len(found.graph.nodes), "node")
    yield f"{name}: opset {found.opset}, {count} of {plural(len(found.onnx), 'ONNX operator')}{written}"
    yield "what no case shows, and how export is called, cannot be seen in a file: --measure measures the model itself"
    if found.missing:
        missing = ", ".join(found.missing[:3])
        yield f"{name}: external data is missing beside it ({missing}); its operators are read all the same"


@dataclass(frozen=True)
class FileVersions:
    """The opset of the ai.onnx domain and the IR version of a file; ``None`` where one is not known."""

    opset: int | None = None
    ir: int | None = None

    @property
    def text(self) -> str:
        """``opset 20 and IR version 10``."""
        told = (("opset", self.opset), ("IR version", self.ir))
        return " and ".join(f"{name} {number}" for name, number in told if number is not None)


def refusal_by_version(rows: Rows, runtime: Runtime, file: FileVersions) -> str:
    """``onnxruntime 1.15.1 takes opset 19 and IR version 9 at most``; empty for a file that it takes, as far as probes
    were run on it.
    """
    most = _most(rows, runtime)
    pairs = ((file.opset, most.opset), (file.ir, most.ir))
    if not any(mine is not None and taken is not None and mine > taken for mine, taken in pairs):
        return ""
    return f"{runtime.name} {runtime.version} takes {most.text} at most"


def written_versions(rows: Rows, place: MeasuredPoint) -> FileVersions:
    """The opset of a place, and the IR version that most of the files have that were written there."""
    where = {"torch": (place.torch,), "exporter": (place.exporter,), "opset": (place.opset,)}
    counted = rows.under(place.profile).grouped(("ir_version",), {"cells": "count(*)"}, where)
    known = [(cells, ir) for ir, cells in counted if ir is not None]
    return FileVersions(place.opset, max(known)[1] if known else None)


def _most(rows: Rows, runtime: Runtime) -> FileVersions:
    """The newest opset and IR version that a runtime takes: on a provider of which no probe was run, on the CPU."""
    found = _probed(rows.under(NEWEST))
    release = (runtime.name, runtime.version)
    return found.get((*release, runtime.provider)) or found.get((*release, _CPU)) or FileVersions()


def _probed(rows: Rows) -> Mapping[tuple[str, str, str], FileVersions]:
    """By runtime, version and provider: what it takes."""
    if _probed not in rows.beside:
        highest: dict[tuple[str, str, str], dict[str, int]] = {}
        for *place, case, variant in rows.probes(_WORKS):
            mine = highest.setdefault((place[0], place[1], place[2]), {})
            mine[case] = max(mine.get(case, 0), probes.number(variant))
        rows.beside[_probed] = {
            place: FileVersions(mine.get(probes.OPSET), mine.get(probes.IR)) for place, mine in highest.items()
        }
    kept: Mapping[tuple[str, str, str], FileVersions] = rows.beside[_probed]
    return kept
