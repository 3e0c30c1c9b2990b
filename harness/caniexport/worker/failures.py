"""How a cell or a replay ends: one outcome, and one classification of exceptions and of processes that ended."""

from __future__ import annotations

import re
import signal
from typing import Any, Dict, NamedTuple, Optional, Tuple

from caniexport.model.messages import words
from caniexport.model.status import Stage, Status

#: the words by which an exporter refuses an opset
OPSET_REFUSED = re.compile(
    r"[Uu]nsupported (ONNX )?opset|Unsupported onnx_opset_version|opset_version.{0,40}(not supported|unsupported)"
)
#: the words of exceptions by which torch and the runtimes say that an allocation was refused
_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|bad_alloc|out of memory|failed to allocate memory", re.IGNORECASE
)
#: the kind of an ending of a process that its parent ended for what it sent
FOREIGN = "ForeignReply"
_SIGNALS = {-member.value: member.name for member in signal.Signals}


class Outcome(NamedTuple):
    """What a cell or a replay adds to its row, and the texts its row refers to by id."""

    row: Dict[str, Any]
    messages: Dict[str, str]


def fail(stage: Stage, status: Status, described: Tuple[str, str, str], **columns: Any) -> Outcome:
    """Return the outcome of what ends here; ``described`` as :func:`caniexport.model.messages.describe` gives it."""
    signature, identifier, text = described
    row = {"stage": stage.value, "status": status.value, "signature": signature, "message_id": identifier}
    return Outcome(dict(row, **columns), {identifier: text})


class Ending(NamedTuple):
    """How a process ended: the status, and the word that stands for an exception's type in a signature.

    code    its exit code, the negative number of a signal; ``None`` where nobody knows
    output  the last that it printed
    """

    status: Status
    kind: str
    code: Optional[int] = None
    output: str = ""


def status_of(error: BaseException, is_export: bool = False) -> Status:
    """Return the status of an exception; ``is_export`` where an exporter raised it."""
    text = words(error)
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(text):
        return Status.OOM
    if is_export and OPSET_REFUSED.search(text):
        return Status.UNSUPPORTED
    return Status.FAIL


def ending_of(code: Optional[int], killed: Optional[Status], output: str = "") -> Ending:
    """Return how a process ended that its parent ``killed`` (late, large, sent nonsense), or that ended by itself."""
    if killed is Status.TIMEOUT:
        return Ending(killed, "Timeout", code, output)
    if killed is Status.OOM:
        return Ending(killed, "OutOfMemory", code, output)
    if killed is Status.CRASH:
        return Ending(killed, FOREIGN, code, output)
    if code is None or is_kill(code):
        # no limit of ours: the machine's memory ran out, or somebody ended the process
        return Ending(Status.INVALID, "Killed", code, output)
    return Ending(Status.CRASH, _SIGNALS.get(code, "Exit"), code, output)


def is_kill(code: int) -> bool:
    """Return whether a process ended by SIGKILL, which no process sends itself."""
    return _SIGNALS.get(code) == "SIGKILL"


def describe_code(code: int) -> str:
    """Return an exit code as words."""
    if code < 0:
        return "killed by {}".format(_SIGNALS.get(code, "signal {}".format(-code)))
    return "the process exited with code {} before the cell was finished".format(code)
