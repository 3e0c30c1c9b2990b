"""An answer on a page: its tables by one template, and as files to save."""

from __future__ import annotations

from markupsafe import Markup

from caniexport.answers.answer import Answer
from caniexport.pages.render import render
from caniexport.pages.sheet import File
from caniexport.render.plain import as_csv

#: rows of a table that a page draws; its file has all
_DRAWN = 1000


def answered(answer: Answer) -> Markup:
    """The answer as HTML."""
    return render("answer.html", answer=answer, drawn=_DRAWN)


def files_of(name: str, answer: Answer) -> tuple[File, ...]:
    """Its tables as one CSV file; none where it has no row."""
    has_rows = any(table.rows for table in answer.tables)
    return (File(f"{name}.csv", lambda: as_csv(answer)),) if has_rows else ()
