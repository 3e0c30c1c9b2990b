"""The tables of the answers that a notebook shows: importing this makes them known."""

from __future__ import annotations

from caniexport import versions
from caniexport.answers.answer import Answer, texts
from caniexport.answers.html_table import AnswerTable
from caniexport.answers.outcomes import short_cause
from caniexport.answers.reasons import Why
from caniexport.answers.shown import Answers, as_table
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.supported import CaseSupport
from caniexport.names import plural


@as_table.register(Answers)
def _(answer: Answers[object]) -> AnswerTable:
    tables = [as_table(item) for item in answer]
    rows = [row for table in tables for row in table.rows]
    return AnswerTable(tables[0].heading if len(tables) == 1 else plural(len(tables), "answer"), rows)


@as_table.register
def _(answer: Why) -> AnswerTable:
    rows = [
        {
            "case": answer.entry.case,
            "variant": answer.entry.variant,
            "torch": group.torch,
            "exporter": _short(group.exporter),
            "opsets": versions.opset_text(group.opsets),
            "status": group.status,
            "stage": group.stage,
            "message": "" if group.message is None else short_cause(answer.messages[group.message]),
        }
        for group in answer.groups
    ]
    return AnswerTable(f"{answer.entry.case}: {answer.entry.title}", rows)


@as_table.register
def _(answer: CaseSupport) -> AnswerTable:
    rows = [
        {
            "case": answer.case,
            "exporter": _short(line.exporter),
            "newest": line.newest,
            "status": line.status,
            "works": line.text,
            "otherwise": tuple(status.value for status in line.otherwise),
        }
        for line in answer.support
    ]
    return AnswerTable(f"{answer.case}: {answer.title}", rows)


def _short(exporter: str) -> str:
    return EXPORTER_SHORT.get(exporter, exporter)


@as_table.register
def _(answer: Answer) -> AnswerTable:
    return AnswerTable(answer.verdict, texts(answer), answer.notes)
