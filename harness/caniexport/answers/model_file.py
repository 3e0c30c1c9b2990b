"""A user's ONNX file: the point that it comes from, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers import onnx_ops
from caniexport.answers.inventory import Inventory
from caniexport.answers.point import Point
from caniexport.answers.runtime_limits import FileVersions, refusal_by_version
from caniexport.model.errors import UnknownName
from caniexport.names import plural
from caniexport.store.onnx_graph import Graph


@dataclass(frozen=True)
class ModelFile:
    """``point`` is where the file says that it comes from: torch where it was measured, exporter, opset, as
    :func:`caniexport.answers.point.parse` gives them; ``versions`` its opset and IR version; ``notes`` what is to be
    said of the file.
    """

    name: str
    point: Mapping[str, str]
    graph: Graph
    notes: tuple[str, ...]
    versions: FileVersions

    def refused_on(self, known: Inventory, places: Iterable[Point]) -> tuple[str, ...]:
        """What the runtimes of places say of the file as it lies there, as far as they refuse it by its versions."""
        runtimes = (place.runtime or known.own_runtime(place.torch, place.profile) for place in places)
        refusals = (refusal_by_version(known.views, runtime, self.versions) for runtime in runtimes if runtime)
        lead = f"The file itself has {self.versions.text}"
        return tuple(f"{lead}: {said}, and refuses it." for said in dict.fromkeys(filter(None, refusals)))


def read_model(path: Path, measured: Iterable[str]) -> ModelFile:
    """A file, and its place among the ``measured`` releases of torch.

    Raises :class:`caniexport.answers.onnx_ops.BadModel` for a file that is no model.
    """
    return place_model(onnx_ops.read(path), path.name, measured)


def place_model(found: onnx_ops.ModelOps, name: str, measured: Iterable[str]) -> ModelFile:
    """The same of a file that has been read."""
    point = {"torch": _find_release(found, measured), "exporter": found.exporter, "opset": str(found.opset or "")}
    return ModelFile(
        name,
        {axis: text for axis, text in point.items() if text},
        found.graph,
        tuple(_write_notes(found, name)),
        FileVersions(found.opset, found.ir_version),
    )


def _find_release(found: onnx_ops.ModelOps, measured: Iterable[str]) -> str:
    """The measured release that the file names; empty where it names none, or one that was not measured."""
    if not found.exporter or not found.written_by:
        return ""
    try:
        series = ".".join(versions.public(found.written_by).split(".")[:2])
        return versions.resolve(series, measured)
    except UnknownName:
        return ""


def _write_notes(found: onnx_ops.ModelOps, name: str) -> Iterable[str]:
    by = " ".join(filter(None, (found.producer, found.written_by)))
    exporter = f" with {found.exporter}" if found.exporter else ""
    written = f", written by {by}{exporter}" if by else ""
    count = plural(len(found.graph.nodes), "node")
    yield f"{name}: opset {found.opset}, {count} of {plural(len(found.onnx), 'ONNX operator')}{written}"
    yield "what no case shows, and how export is called, cannot be seen in a file: `caniexport check` measures a model"
    if found.missing:
        missing = ", ".join(found.missing[:3])
        yield f"{name}: external data is missing beside it ({missing}); its operators are read all the same"
