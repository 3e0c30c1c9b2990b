"""The script of a cell of a whole model: the plain script of models with its entry, form and call written into it."""

from __future__ import annotations

import pprint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caniexport.model.architectures import ArchitectureCase
from caniexport.model.status import Status

if TYPE_CHECKING:
    from caniexport.model.case import Variant
    from caniexport.reproduce.write import ShownCell

_PLAIN = Path(__file__).with_name("plain_model.py").read_text(encoding="utf-8")


def write_model_script(case: type[ArchitectureCase], variant: Variant, shown: ShownCell) -> str:
    """The text of the script below its docstring."""
    entry = case.architecture
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
    cell = {"variant": variant.name, "exporter": shown.exporter, "opset": shown.opset}
    status = Status.PASS.value if shown.status == Status.DEGRADED.value else shown.status
    text = _PLAIN.partition('"""\n\n')[2]
    for name, value in (("MODEL", model), ("CELL", cell), ("MEASURED", f"{status} at {shown.stage}")):
        empty = '""' if name == "MEASURED" else "{}"
        written = pprint.pformat(value, width=110, sort_dicts=False)
        text = text.replace(f"{name} = {empty}\n", f"{name} = {written}\n", 1)
    return text
