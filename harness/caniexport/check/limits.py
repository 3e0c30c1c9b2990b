"""How a cell is read: what a check cannot judge, and what is wrong with a file that its cell's end does not tell."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import Any

from caniexport.model.messages import describe
from caniexport.model.status import WORKS, Stage, Status

#: the runtime's words for an input that has another size than the file says, and the first axis that has
_DIMENSIONS = re.compile(
    r"Got invalid dimensions for input: (?P<name>\S+) for the following indices\s+index: (?P<axis>\d+)"
)
#: how the tracer's warnings of values that it fixes begin, and what is then fixed
_CONVERTED = "Converting a tensor to a Python"
_BRANCH, _NUMBER = "an `if` on a value", "a number that is the value of a tensor"
_SIZE = "an `if` on a size"
_IGNORED = "the file does not have this input, and with these values of it eager gives others"

#: the runtime's words for a name that a file gives twice
_TWICE = "Duplicate definition of name ("
#: wrong values of one output, and what is said of those that random numbers decide
_OF_OUTPUT = re.compile(r"input set \d+, output (\d+): \d+ of \d+ values differ")
_DRAWN = "drawn at random: "
#: what a cell says that ends for how it was asked or fed, and why
_LIMITS = {
    _DRAWN: "each file runs, but what is drawn at random cannot be compared",
    _TWICE: "this check named the file's inputs, and one that is an output as it is then has its name twice",
    "does not require grad and does not have a grad_fn": (
        "this check calls a model without gradients, and it needs some (torch.enable_grad() in its forward gives them)"
    ),
    "the file takes ": "the file's inputs could not be told from one another, so that it was not run",
    "Actual: (tensor(float)) , expected: (tensor(double))": (
        "a Python number is an input of the file, in double precision, and could only be fed in single"
    ),
}


def limit(message: str) -> str:
    """Why a cell says nothing about the model; empty where it does."""
    return next((f"{why}: a limit of this check" for text, why in _LIMITS.items() if text in message), "")


def told_as_measured(row: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A row as it is kept, with its texts: one that ended for a limit of the check was left out, and did not fail.

    Nor did one whose only differences are in outputs that random numbers decide.
    """
    found, said = _told(row, texts)
    drawn = _facts(row.get("facts")).get("drawn", ())
    is_wrong = found["status"] == Status.MISMATCH.value
    return _without_drawn(found, said, drawn) if drawn and is_wrong else (found, said)


def _told(row: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A row with what its facts say of the file.

    A run that ended at inputs which nobody gave says nothing of others, whose values may be wrong; and a file
    without an input that the module's values depend on is wrong, whatever it was run on.
    """
    wrong = _facts(row.get("facts")).get("wrong")
    is_stopped = row["status"] == Status.FAIL.value and row["stage"] == Stage.RUN.value
    if is_stopped and wrong:
        return _as_wrong(row, texts, wrong)
    ignored = {name: number for name, number in ignored_inputs(row.get("facts")).items() if number is not None}
    if ignored and Status(row["status"]) in WORKS:
        lines = [f"input set {number}, {name}: {_IGNORED}" for name, number in ignored.items()]
        return _as_wrong(row, texts, "\n".join(lines))
    is_ours = row["status"] == Status.FAIL.value and _is_ours(row, texts.get(row.get("message_id") or "", ""))
    return {**row, "status": Status.SKIP.value} if is_ours else dict(row), dict(texts)


def _without_drawn(
    row: Mapping[str, Any], texts: Mapping[str, str], drawn: Container[int]
) -> tuple[dict[str, Any], dict[str, str]]:
    """A mismatch without the values of outputs that are ``drawn``; left out where nothing else is wrong."""
    lines = texts.get(row["message_id"], "").splitlines()
    places = {line: _OF_OUTPUT.search(line) for line in lines}
    others = [line for line, place in places.items() if not (place and int(place[1]) in drawn)]
    if any("input set " in line for line in others):
        return _as_wrong(row, texts, "\n".join(others))
    found, said = _as_wrong(row, texts, _DRAWN + "\n".join(lines))
    return {**found, "status": Status.SKIP.value}, said


def _is_ours(row: Mapping[str, Any], text: str) -> bool:
    """Whether a cell ended for a limit of the check; a name that is given twice may be one that nobody asked for."""
    twice = text.partition(_TWICE)[2].partition(")")[0]
    return bool(limit(text)) and (not twice or twice in _facts(row.get("facts")).get("twice", ()))


def _as_wrong(row: Mapping[str, Any], texts: Mapping[str, str], words: str) -> tuple[dict[str, Any], dict[str, str]]:
    signature, identifier, text = describe(Stage.COMPARE.value, "Mismatch", words)
    ended = {"stage": Stage.COMPARE.value, "status": Status.MISMATCH.value}
    return {**row, **ended, "signature": signature, "message_id": identifier}, {**texts, identifier: text}


def ignored_inputs(facts: str | None) -> dict[str, int | None]:
    """The inputs that a file does not have, by a row's facts: each with the number of a set of inputs that shows that
    the model's values depend on it, ``None`` where none does.
    """
    return dict(_facts(facts).get("ignores", {}))


def _facts(facts: str | None) -> dict[str, Any]:
    return dict(json.loads(facts or "{}"))


def fixed_by_tracing(warnings: str, reads: bool, varies: bool) -> str:
    """What a trace has as its first inputs had it, in words, by what the tracer warned of; empty for nothing.

    ``reads`` says that the model makes a number of Python's of a tensor's value: to the tracer a size is a tensor too.
    Sizes decide nothing where no axis ``varies``.
    """
    if f"{_CONVERTED} boolean" in warnings:
        return _BRANCH if reads else _SIZE if varies else ""
    return _NUMBER if reads and _CONVERTED in warnings else ""


def told_cause(message: str, axes: Mapping[str, Mapping[str, str]]) -> str:
    """What an error of the runtime is known to come of: an axis of ``axes``, which was asked to vary, and does not."""
    found = _DIMENSIONS.search(message)
    if found is None or found["axis"] not in axes.get(found["name"], {}):
        return ""
    return f"the file has {found['name']}:{found['axis']} of one size, although it was asked to vary"
