"""How each status and word looks on a page: its sign and name, the class of its colour, what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from caniexport.answers import signs
from caniexport.answers.answer import Mark, Share, cell_text
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status
from caniexport.render.looks import find_sign


class Look(NamedTuple):
    """A badge and its meaning."""

    name: str
    css: str
    meaning: str = ""

    @property
    def sign(self) -> str:
        """The sign alone."""
        return self.name.partition(" ")[0]

    @property
    def word(self) -> str:
        """The name without its sign."""
        return self.name.partition(" ")[2]


#: providers by the name a user says, where it is another
PROVIDER = {"none": "parsed only"}
#: what a sign's own words leave open on a page
_MEANING = {
    Status.PASS: "exports, runs, and gives the values that torch gives",
    Status.DEGRADED: "works, but with another opset, exporter or provider than asked for",
    Status.UNSUPPORTED: "the exporter or the runtime refuses this opset or provider",
    Status.FAIL: "fails with an error",
    Status.TIMEOUT: "did not end in time, twice (the second time with the limit doubled)",
    Status.OOM: "needs more memory than a cell may use, twice",
    Status.CRASH: "kills the process",
    Status.UNSTABLE: "its outcome changes when it is measured again; it counts as not working",
    Status.MISMATCH: "exports and runs without an error, and gives wrong values",
    Status.SKIP: "left out on purpose",
    Status.NOT_RUN: "nothing is known: neither a pass nor a failure",
    Status.INVALID: "the measurement itself failed; this says nothing about torch",
}
STATUS: Mapping[Status, Look] = {
    status: Look(f"{sign.sign} {signs.status_word(status)}", f"s-{status.value.replace('_', '-')}", _MEANING[status])
    for status, sign in signs.STATUS.items()
}
WORD: Mapping[Workaround, Look] = {
    word: Look(f"{sign.sign} {word.value}", f"w-{word.value}", sign.meaning) for word, sign in signs.WORKAROUND.items()
}
#: outcomes of a claim, and the words why one is not reproduced
CLAIM: Mapping[str, Look] = {
    **{name: Look(f"{sign.sign} {name}", f"c-{name}", sign.meaning) for name, sign in signs.CLAIM.items()},
    **{name: Look(name, "c-not-reproduced", meaning) for name, meaning in signs.WHY_NOT.items()},
}


def statuses(only: Iterable[Status] = tuple(Status)) -> dict[Status | None, Look]:
    """The looks of these statuses, best first, and the mark of a file that works and that onnx's checker refuses."""
    taken = set(only)
    found: dict[Status | None, Look] = {status: STATUS[status] for status in Status if status in taken}
    if Status.PASS in taken:
        found[None] = Look(signs.REFUSED, "s-pass", "works, but onnx's checker rejects the file")
    return found


def css(word: Enum) -> str:
    """The class of a word's badge."""
    kind = "s" if isinstance(word, Status) else "w" if isinstance(word, Workaround) else "word"
    return f"{kind}-{str(word.value).replace('_', '-').replace(' ', '-')}"


def marked(mark: Mark) -> str:
    """The sign of an outcome, and its text."""
    named = signs.status_word(mark.word) if isinstance(mark.word, Status) and not mark.text else cell_text(mark)
    return " ".join(filter(None, (find_sign(mark.word).sign, named)))


def signed(mark: Mark) -> str:
    """The sign of an outcome, and its text if it has one."""
    return " ".join(filter(None, (find_sign(mark.word).sign, mark.text)))


def describe(mark: Mark) -> str:
    """Where each status of a place was seen, for who points at it."""
    return "; ".join(f"{signs.status_word(Status(status))}: {where}" for status, where in mark.at.items())


def share(cell: Share) -> str:
    """The class of a share: filled in tenths as far as it works."""
    if not cell.measured:
        return STATUS[Status.NOT_RUN].css
    if cell.works in (0, cell.measured):
        return STATUS[Status.PASS if cell.works else Status.FAIL].css
    return f"s-mixed share-{min(9, max(1, round(10 * cell.works / cell.measured)))}"
