"""The tables of the answers that a notebook shows: importing this makes them known."""

from __future__ import annotations

from caniexport.answers.answer import Answer, texts
from caniexport.answers.html_table import AnswerTable
from caniexport.answers.matrix import CaseTable
from caniexport.answers.shown import as_table
from caniexport.answers.signs import EXPORTER_SHORT


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
