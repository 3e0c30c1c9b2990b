"""What a runtime takes: the newest opset and IR version of the probes that it ran, held against what a file has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from caniexport.answers.point import Point
from caniexport.answers.reading import Rows
from caniexport.bundles import probes
from caniexport.home import NEWEST
from caniexport.model.status import WORKS
from caniexport.store.elsewhere import Runtime

_CPU = "cpu"
_WORKS = tuple(status.value for status in WORKS)


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


def written_versions(rows: Rows, place: Point) -> FileVersions:
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
