"""What a run adds to the outcome of a cell to make it a row: where, when and with what it was measured."""

from __future__ import annotations

import datetime
from typing import Any, Dict

from caniexport.model.messages import describe
from caniexport.model.plan import Cell
from caniexport.model.rows import CELLS, MEASURING_VERSION
from caniexport.model.status import Stage, Status
from caniexport.worker import envinfo
from caniexport.worker.codehash import hash_measuring_code
from caniexport.worker.failures import Outcome, failed_outcome

_COLUMNS = [column.name for column in CELLS]


class CellRows:
    """Makes the rows of one run in one environment."""

    def __init__(self, environment: Dict[str, Any], run_id: str, is_apart: bool = False) -> None:
        self._environment = environment
        self._packages = envinfo.read_installed()
        self._run_id = run_id
        self._is_apart = is_apart

    def row(self, cell: Cell, corpus: str, measured: Dict[str, Any]) -> Dict[str, Any]:
        """The row of a cell, with everything that was ``measured`` of it."""
        packages = self._packages
        row: Dict[str, Any] = dict.fromkeys(_COLUMNS)
        row.update(
            run_id=self._run_id,
            measured_at=utc_now(),
            env_id=self._environment["env_id"],
            torch=self._environment["torch"],
            python=self._environment["python"],
            onnx=envinfo.strip_local_part(packages.get("onnx")),
            onnxscript=envinfo.strip_local_part(packages.get("onnxscript")),
            corpus=corpus,
            case=cell.case,
            variant=cell.variant,
            case_hash=cell.case_hash,
            measuring=MEASURING_VERSION,
            code=hash_measuring_code(),
            apart=self._is_apart,
            exporter=cell.exporter,
            opset=cell.opset,
            runtime_version=envinfo.strip_local_part(packages.get("onnxruntime") or packages.get("onnxruntime-gpu")),
            provider=cell.provider,
            device="cpu" if cell.provider == "cpu" else self._environment["gpu"],
        )
        row.update(measured)
        return row


def make_import_failure(text: str, status: Status) -> Outcome:
    """A row for a cell of an environment in which torch does not even import."""
    described = describe("import", "ImportError", text)
    return failed_outcome(Stage.IMPORT, status, described, runtime="onnxruntime", attempts=1)


def utc_now() -> str:
    """This moment as rows have it: ISO 8601 with milliseconds and Z."""
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
