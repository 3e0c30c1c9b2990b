"""The tables of the answers that a notebook shows: importing this makes them known."""

from __future__ import annotations

from caniexport.answers.answer import Answer, texts
from caniexport.answers.html_table import AnswerTable
from caniexport.answers.matrix import CaseTable
from caniexport.answers.shown import Answers, as_table
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.names import plural


@as_table.register(Answers)
def _(answer: Answers[object]) -> AnswerTable:
    tables = [as_table(item) for item in answer]
    rows = [row for table in tables for row in table.rows]
    return AnswerTable(tables[0].heading if len(tables) == 1 else plural(len(tables), "answer"), rows)


@as_table.register
def _(answer: CaseTable) -> AnswerTable:
    rows = [
        {
            "case": line.case,
            "variant": line.variant,
            "exporter": line.exporter and _short(line.exporter),
            "provider": line.provider,
            **{name: line.places[name].text for name in answer.columns},
        }
        for line in answer.lines
    ]
    return AnswerTable(f"{len(rows)} lines by {answer.by.value}", rows, answer.notes)


def _short(exporter: str) -> str:
    return EXPORTER_SHORT.get(exporter, exporter)


@as_table.register
def _(answer: Answer) -> AnswerTable:
    return AnswerTable(answer.verdict, texts(answer), answer.notes)
