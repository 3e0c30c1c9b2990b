"""A user's ONNX file: the point where it was written, and notes about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from caniexport import versions
from caniexport.answers import onnx_ops
from caniexport.answers.inventory import Inventory
from caniexport.answers.point import Point
from caniexport.answers.runtime_limits import FileVersions, find_refusal
from caniexport.model.errors import UnknownName
from caniexport.names import plural
from caniexport.store.onnx_graph import Graph


@dataclass(frozen=True)
class ModelFile:
    """An ONNX file of a user.

    ``point`` is where the file was written, as :func:`caniexport.answers.point.parse_point` gives it:
    torch where it was measured, exporter, opset. ``versions`` are its opset and IR version, ``notes`` are for the user.
    """

    name: str
    point: Mapping[str, str]
    graph: Graph
    notes: tuple[str, ...]
    versions: FileVersions

    def list_refusals(self, known: Inventory, points: Iterable[Point]) -> tuple[str, ...]:
        """Return a note for each runtime of the points that refuses the file because of its versions."""
        runtimes = (point.runtime or known.own_runtime(point.torch, point.profile) for point in points)
        refusals = (find_refusal(known.views, runtime, self.versions) for runtime in runtimes if runtime)
        lead = f"The file itself has {self.versions.text}"
        return tuple(f"{lead}: {refusal}, and refuses it." for refusal in dict.fromkeys(filter(None, refusals)))


def read_model(path: Path, measured: Iterable[str]) -> ModelFile:
    """Read a file; its release of torch is one of the ``measured`` ones.

    Raises :class:`caniexport.answers.onnx_ops.BadModel` for a file that is no model.
    """
    return make_model_file(onnx_ops.read(path), path.name, measured)


def make_model_file(found: onnx_ops.ModelOps, name: str, measured: Iterable[str]) -> ModelFile:
    """Return the model file of operators that :mod:`caniexport.answers.onnx_ops` has read."""
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
        yield f"{name}: external data is missing in its folder ({missing}); its operators are read all the same"
