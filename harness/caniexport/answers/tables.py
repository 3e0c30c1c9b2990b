"""The tables of the answers that a notebook shows: importing this makes them known."""

from __future__ import annotations

from dataclasses import asdict

from caniexport import versions
from caniexport.answers.decide_fixes import decide_workarounds
from caniexport.answers.html_table import AnswerTable
from caniexport.answers.matrix import Table
from caniexport.answers.outcomes import short_cause
from caniexport.answers.reasons import Why
from caniexport.answers.shown import Answers, as_table
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.standings import Workarounds
from caniexport.answers.supported import CaseSupport
from caniexport.answers.torch_operators import OperatorPlace
from caniexport.model.status import Status
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
def _(answer: Workarounds) -> AnswerTable:
    rows = [
        {
            "case": item.case,
            "fix": item.variant,
            "torch": item.torch,
            "exporter": _short(item.exporter),
            "opset": item.opset,
            "word": item.word,
            "statement": item.statement,
            "obsolete since": item.obsolete_since,
            "note": item.note,
            "is wrong or partial": "yes" if item.caution else "",
        }
        for item in (*answer.standings, *answer.cautions)
    ]
    return AnswerTable(decide_workarounds(answer), rows, answer.notes)


@as_table.register
def _(answer: OperatorPlace) -> AnswerTable:
    rows = [{**asdict(line), "exporter": _short(line.exporter), "status": Status(line.status)} for line in answer.lines]
    return AnswerTable(answer.decision, rows)


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


@as_table.register
def _(answer: Table) -> AnswerTable:
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
