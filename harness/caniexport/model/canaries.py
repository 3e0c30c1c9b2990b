"""What the canaries must come out with: cases of known outcome that go along with every measurement."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterable, Iterator, Mapping

from caniexport.model.status import WORKS, Exporter, Stage, Status

#: their corpus
CANARY = "canary"
#: the opset the dynamo exporter writes; every other is a conversion of its file
_DYNAMO_WRITES = 18
#: onnxruntime's words for a file whose opset, or whose version of the format, it does not know
_TOO_NEW = ("official released onnx opset", "Unsupported model IR version")
#: canary -> the statuses it must come out with wherever the exporter accepted the opset
EXPECTED: Dict[str, FrozenSet[str]] = {
    "canary-pass": frozenset(status.value for status in WORKS),
    "canary-fail": frozenset({Status.FAIL.value}),
    "canary-mismatch": frozenset({Status.MISMATCH.value}),
}

_Row = Mapping[str, Any]


def is_canary(case: str) -> bool:
    """Whether a case of this name is one of them, or an item of one."""
    return case.startswith(CANARY + "-")


def is_conclusive(row: _Row) -> bool:
    """Whether a row is a canary's, and one that shows whether the measurement can be trusted.

    It is not where the opset asked for is outside what the exporter takes, or above what the runtime loads. The
    dynamo exporter refuses no opset: below 18 it converts, or fails to; its first file above the runtime's range is
    refused at load. An opset may bring a version of the file format that an older runtime does not load.
    """
    too_new = row["stage"] == Stage.LOAD.value and any(words in (row["signature"] or "") for words in _TOO_NEW)
    too_old = row["exporter"] == Exporter.DYNAMO.value and row["opset"] is not None and row["opset"] < _DYNAMO_WRITES
    return row["corpus"] == CANARY and not (row["status"] == Status.UNSUPPORTED.value or too_new or too_old)


def find_surprises(rows: Iterable[_Row]) -> Iterator[str]:
    """A sentence for each row of a canary that came out as it must not."""
    for row in rows:
        expected = EXPECTED.get(row["case"] or "")
        if expected is not None and is_conclusive(row) and row["status"] not in expected:
            text = "{} came out as {} at stage {} ({})".format(
                row["case"], row["status"], row["stage"], _format_place(row)
            )
            why = (row["signature"] or "").split("|", 1)[-1].replace("|", ": ")
            yield text + (": " + why if why and row["status"] == Status.FAIL.value else "")


def _format_place(row: _Row) -> str:
    opset = "default opset" if row["opset"] is None else "opset {}".format(row["opset"])
    return "{}, {}, {}".format(row["exporter"], opset, row["provider"])
