"""The script of a cell of a whole model: the plain script of models with its entry, form and call written into it."""

from __future__ import annotations

import pprint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.architectures import ArchitectureCase
from caniexport.model.decoders import EXPORTABLE_MODULE
from caniexport.model.errors import StoreError
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.model.case import Variant

_PLAIN = Path(__file__).with_name("plain_model.py").read_text(encoding="utf-8")


def write_model_script(
    case: type[ArchitectureCase], variant: Variant, exporter: str, opset: int | None, ended: tuple[str, str]
) -> str:
    """The text of the script below its docstring; ``ended`` is the row's status and stage."""
    entry = case.architecture
    if variant.name == EXPORTABLE_MODULE:
        raise StoreError(f"{case.case_id()}: {variant.name} has no script; cases/models/decoding.py makes it")
    model: dict[str, Any] = {
        "case": case.case_id(),
        **{name: getattr(entry, name) for name in ("package", "name", "settings", "call", "rtol")},
        "inputs": [
            {
                name: (spec.dtype, spec.shape, spec.low, spec.high, spec.data)
                for name, spec in zip(entry.inputs, given, strict=True)
            }
            for given in variant.inputs
        ],
        "dynamic": dict(variant.dynamic),
    }
    cell = {"variant": variant.name, "exporter": exporter, "opset": opset}
    status, stage = ended
    status = Status.PASS.value if status == Status.DEGRADED.value else status
    text = _PLAIN.partition('"""\n\n')[2]
    for name, value in (("MODEL", model), ("CELL", cell), ("MEASURED", f"{status} at {stage}")):
        empty = '""' if name == "MEASURED" else "{}"
        written = pprint.pformat(value, width=110, sort_dicts=False)
        text = text.replace(f"{name} = {empty}\n", f"{name} = {written}\n", 1)
    return text
