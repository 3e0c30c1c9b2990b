"""What a run adds to the outcome of a cell to make it a row: where, when and with what it was measured."""

from __future__ import annotations

import datetime
from typing import Any, Dict, Iterator, Sequence, Tuple

from caniexport.model.corpus import LoadedCase
from caniexport.model.plan import Cell
from caniexport.model.rows import CELLS, MEASURING_VERSION
from caniexport.worker import envinfo
from caniexport.worker.codehash import hash_measuring_code
from caniexport.worker.supervisor import Supervisor


class CellRows:
    """Measures the rows of one run in one environment."""

    def __init__(
        self,
        environment: Dict[str, Any],
        cases: Dict[str, LoadedCase],
        run_id: str,
        supervisor: Supervisor,
        is_apart: bool = False,
    ) -> None:
        packages = envinfo.read_installed()
        self._cases = cases
        self._supervisor = supervisor
        self._gpu = environment["gpu"]
        self._common = dict(
            dict.fromkeys(column.name for column in CELLS),
            run_id=run_id,
            env_id=environment["env_id"],
            torch=environment["torch"],
            python=environment["python"],
            onnx=envinfo.strip_local_part(packages.get("onnx")),
            onnxscript=envinfo.strip_local_part(packages.get("onnxscript")),
            measuring=MEASURING_VERSION,
            code=hash_measuring_code(),
            apart=is_apart,
            runtime_version=envinfo.strip_local_part(packages.get("onnxruntime") or packages.get("onnxruntime-gpu")),
        )

    def measure(self, cells: Sequence[Cell], together: bool) -> Iterator[Tuple[Dict[str, Any], Dict[str, str]]]:
        """Yield the row of each cell and the texts that it refers to, as it is measured."""
        # outcomes first: asked once more after the last, they see the process of these cells to its end
        for outcome, cell in zip(self._supervisor.run(cells, together), cells):
            row = dict(
                self._common,
                measured_at=utc_now(),
                corpus=self._cases[cell.case].cls.corpus,
                case=cell.case,
                variant=cell.variant,
                case_hash=cell.case_hash,
                exporter=cell.exporter,
                opset=cell.opset,
                provider=cell.provider,
                device="cpu" if cell.provider == "cpu" else self._gpu,
            )
            row.update(outcome.row)
            yield row, outcome.messages


def utc_now() -> str:
    """This moment as rows have it: ISO 8601 with milliseconds and Z."""
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
