"""The newest opset and IR version that a runtime takes, measured with probes, compared with those of a file."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport.answers.point import Point
from caniexport.bundles import probes
from caniexport.store.elsewhere import Runtime
from caniexport.store.views import Views


@dataclass(frozen=True)
class FileVersions:
    """The opset of the ai.onnx domain and the IR version of a file; ``None`` where one is not known."""

    opset: int | None = None
    ir: int | None = None

    @property
    def text(self) -> str:
        """``opset 20 and IR version 10``."""
        named = (("opset", self.opset), ("IR version", self.ir))
        return " and ".join(f"{name} {number}" for name, number in named if number is not None)


def find_refusal(views: Views, runtime: Runtime, file: FileVersions) -> str:
    """Return why a runtime refuses a file: ``onnxruntime 1.15.1 takes opset 19 and IR version 9 at most``.

    Empty for a file that it takes. Probes of the CPU count for a provider without probes.
    """
    query = """SELECT "case", max(CAST(string_split(variant, '_')[-1] AS INTEGER)) FROM (
        FROM replays WHERE corpus = $1 AND (runtime, runtime_version) = ($2, $3) AND provider IN ($4, 'cpu')
            AND works(status) QUALIFY rank() OVER (ORDER BY provider <> $4) = 1) GROUP BY ALL"""
    ran = dict(views.fetch(query, [probes.CORPUS, *runtime]))
    most = FileVersions(ran.get(probes.OPSET), ran.get(probes.IR))
    pairs = ((file.opset, most.opset), (file.ir, most.ir))
    if not any(mine is not None and taken is not None and mine > taken for mine, taken in pairs):
        return ""
    return f"{runtime.name} {runtime.version} takes {most.text} at most"


def read_written_versions(views: Views, point: Point) -> FileVersions:
    """Return the opset of a point, and the IR version of most files that were written there."""
    rows = views.fetch(
        """SELECT ir_version FROM cells WHERE (profile, torch, exporter) = ($1, $2, $3)
            AND opset IS NOT DISTINCT FROM $4 AND ir_version IS NOT NULL GROUP BY ALL ORDER BY count(*) DESC, 1 DESC""",
        [point.profile, point.torch, point.exporter, point.opset],
    )
    return FileVersions(point.opset, rows[0][0] if rows else None)
