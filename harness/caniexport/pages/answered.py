"""An answer on a page: its tables by one template, and as files to save."""

from __future__ import annotations

from enum import Enum

from markupsafe import Markup

from caniexport.answers.answer import Answer, Mark, words
from caniexport.corpus.verdicts import Workaround
from caniexport.model.status import Status
from caniexport.pages.render import render
from caniexport.pages.sheet import File
from caniexport.render.looks import look
from caniexport.render.plain import as_csv


def answered(answer: Answer) -> Markup:
    """The answer as HTML."""
    return render("answer.html", answer=answer)


def files_of(name: str, answer: Answer) -> tuple[File, ...]:
    """Its tables as one CSV file; none where it has no row."""
    has_rows = any(table.rows for table in answer.tables)
    return (File(f"{name}.csv", lambda: as_csv(answer)),) if has_rows else ()


def css(word: Enum) -> str:
    """The class of a word's badge."""
    kind = "s" if isinstance(word, Status) else "w" if isinstance(word, Workaround) else "word"
    return f"{kind}-{str(word.value).replace('_', '-').replace(' ', '-')}"


def marked(mark: Mark) -> str:
    """The sign of a word and the text beside it."""
    return " ".join(filter(None, (look(mark.word).sign, words(mark))))
