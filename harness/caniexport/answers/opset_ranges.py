"""Which opsets a release of torch takes, and which releases take an opset, as far as some case works there."""

from __future__ import annotations

from caniexport import versions
from caniexport.answers.reading import Rows
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.model.status import Exporter

_EXPORTERS = (Exporter.TRACE.value, Exporter.DYNAMO.value)


def tell_opsets(rows: Rows, torch: str) -> str:
    """``torch 2.6.0 takes opset 7-20 by trace, opset 18-23 by dynamo``; empty where nothing works there."""
    found = [_taken_by(rows, torch, exporter) for exporter in _EXPORTERS]
    return f"torch {torch} takes {', '.join(filter(None, found))}" if any(found) else ""


def tell_releases(rows: Rows, opset: int) -> str:
    """``opset 19 is taken from torch 2.1.2 on by trace, from torch 2.6.0 on by dynamo``; empty where none takes it."""
    found = [_taken_since(rows, opset, exporter) for exporter in _EXPORTERS]
    return f"opset {opset} is taken {', '.join(filter(None, found))}" if any(found) else ""


def _taken_by(rows: Rows, torch: str, exporter: str) -> str:
    offered = [at for at in rows.offers.get((torch, exporter), ()) if (torch, exporter, at) in rows.worked]
    return f"opset {versions.opset_text(offered)} by {EXPORTER_SHORT[exporter]}" if offered else ""


def _taken_since(rows: Rows, opset: int, exporter: str) -> str:
    taking = [torch for torch in rows.torch if (torch, exporter, opset) in rows.worked]
    return f"from torch {taking[0]} on by {EXPORTER_SHORT[exporter]}" if taking else ""
