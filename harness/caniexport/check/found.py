"""What was found of a model: where it works, and each way in which it fails."""

from __future__ import annotations

from dataclasses import dataclass

from caniexport.answers.support import Support
from caniexport.check.inside import GIVEN
from caniexport.check.matching import Match
from caniexport.match.parse import LEAST_WORDS, split_words
from caniexport.model.status import Status

#: begins the line of an exception that another one was raised from
_CAUSE = "caused by "
#: stands where an exporter's line says where a model works, of one whose every cell is a limit of the check
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Where:
    """Cells of one release and exporter; ``opsets`` ascending, ``None`` for the release's own."""

    torch: str
    exporter: str
    opsets: tuple[int | None, ...]


@dataclass(frozen=True)
class Failure:
    """One way in which a model fails: all cells with the same stage and status, and the same operator or signature.

    ``operator`` is the one that the error names, empty for none; ``message`` the text at the newest of the places,
    ``warnings`` what the exporter warned of there; ``hint`` is what can be done without changing the model. ``differs``
    are the sets of inputs that the text names, in words; ``is_ours`` says that it is a limit of this check, and says
    nothing about the model. ``shown`` is the cell of which the text is, and at which the fixes are judged; its file
    does not have the inputs ``ignores``, on which the model's values depend. ``why`` is what the error is known to come
    of, empty where that is not known.
    """

    case: str
    variant: str
    stage: str
    status: Status
    operator: str
    message: str
    warnings: str
    where: tuple[Where, ...]
    matches: tuple[Match, ...]
    hint: str = ""
    differs: tuple[str, ...] = ()
    is_ours: bool = False
    shown: Where | None = None
    ignores: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_as_given(self) -> bool:
        """Whether inputs that the user gave show it."""
        return any(words.startswith(GIVEN) for words in self.differs)

    @property
    def is_as_made(self) -> bool:
        """Whether inputs alone show it that nobody gave: the check made them."""
        return bool(self.differs) and not self.is_as_given


@dataclass(frozen=True)
class Works:
    """Where one variant works, a line for each exporter."""

    case: str
    variant: str
    lines: tuple[Support, ...]


def first_words(message: str) -> str:
    """The first line of a message; with those behind it where it has too few words to tell anything."""
    told = ""
    for line in filter(str.strip, message.splitlines()):
        if line.startswith(_CAUSE) or len(split_words(told)) >= LEAST_WORDS:
            break
        told = f"{told} {line.strip()}".lstrip()
    return told


def last_cause(message: str) -> str:
    """``ValueError: bad sizes: 4``: the innermost cause, with the line behind it where it ends with a colon.

    Empty where no cause is told.
    """
    lines = [line for line in message.splitlines() if line.strip()]
    places = [place for place, line in enumerate(lines) if line.startswith(_CAUSE)]
    if not places:
        return ""
    first, *further = lines[places[-1] : places[-1] + 2]
    told = [first, further[0].lstrip("- ")] if first.endswith(":") and further else [first]
    return " ".join(told).removeprefix(_CAUSE)
