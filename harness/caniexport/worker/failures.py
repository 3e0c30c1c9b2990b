"""Classify how a cell or a replay ends: by an exception, or by the end of its process."""

from __future__ import annotations

import re
import signal
from typing import Any, Dict, NamedTuple, Optional, Tuple

from caniexport.model.messages import read_text
from caniexport.model.status import Stage, Status

#: texts of exporters that refuse an opset
OPSET_REFUSED = re.compile(
    r"[Uu]nsupported (ONNX )?opset|Unsupported onnx_opset_version|opset_version.{0,40}(not supported|unsupported)"
)
#: texts of torch's and the runtimes' exceptions for a failed allocation
_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|bad_alloc|out of memory|failed to allocate memory", re.IGNORECASE
)
#: kind of the ending of a process killed for an invalid message
FOREIGN = "ForeignReply"
_SIGNALS = {-member.value: member.name for member in signal.Signals}


class CannotBuild(Exception):
    """Why the packages of an environment cannot make what is to be measured. The cell is skipped with this reason."""


class Outcome(NamedTuple):
    """Columns that a cell or a replay adds to its row, and the texts of these columns by id."""

    row: Dict[str, Any]
    messages: Dict[str, str]


def failed_outcome(stage: Stage, status: Status, described: Tuple[str, str, str], **columns: Any) -> Outcome:
    """Return the outcome of a failure; ``described`` comes from :func:`caniexport.model.messages.describe`."""
    signature, identifier, text = described
    row = {"stage": stage.value, "status": status.value, "signature": signature, "message_id": identifier}
    return Outcome(dict(row, **columns), {identifier: text})


class Ending(NamedTuple):
    """How a process ended: the status, and the kind that a signature has in place of an exception's type.

    code    its exit code, or the negative number of a signal; ``None`` if unknown
    output  the end of its output
    """

    status: Status
    kind: str
    code: Optional[int] = None
    output: str = ""


def classify_error(error: BaseException, is_export: bool = False) -> Status:
    """Return the status of an exception; ``is_export`` if an exporter raised it."""
    text = read_text(error)
    if isinstance(error, CannotBuild):
        return Status.SKIP
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(text):
        return Status.OOM
    if is_export and OPSET_REFUSED.search(text):
        return Status.UNSUPPORTED
    return Status.FAIL


def classify_ending(code: Optional[int], killed: Optional[Status], output: str = "") -> Ending:
    """Return how a process ended; ``killed`` is the reason why its parent killed it, if it did."""
    if killed is Status.TIMEOUT:
        return Ending(killed, "Timeout", code, output)
    if killed is Status.OOM:
        return Ending(killed, "OutOfMemory", code, output)
    if killed is Status.CRASH:
        return Ending(killed, FOREIGN, code, output)
    if code is None or is_kill(code):
        # the machine's memory ran out, or somebody killed the process
        return Ending(Status.INVALID, "Killed", code, output)
    return Ending(Status.CRASH, _SIGNALS.get(code, "Exit"), code, output)


def is_kill(code: int) -> bool:
    """Return whether the code is that of a SIGKILL."""
    return _SIGNALS.get(code) == "SIGKILL"


def describe_code(code: int) -> str:
    """Return a description of an exit code."""
    if code < 0:
        return "killed by {}".format(_SIGNALS.get(code, "signal {}".format(-code)))
    return "the process exited with code {} before the cell was finished".format(code)
