"""An error's text answered for a person: the decision, the cases that fail alike, what helps at the point."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from caniexport.answers.signs import EXPORTER_SHORT, STATUS, WORKAROUND, word
from caniexport.cli.output import labelled

if TYPE_CHECKING:
    from caniexport.cli.output import Console
    from caniexport.match.error_answer import AnsweredLead, ErrorAnswer
    from caniexport.match.judged import FixAt

#: fixes of a case that are listed, and cases that are named without more
_MOST_FIXES, _MOST_OTHERS = 4, 6


def show_error(answer: ErrorAnswer, console: Console) -> None:
    """Print what is known of a pasted error."""
    console.print(answer.decision, style="bold")
    if answer.reason:
        labelled("read", answer.reason, console)
    for number, lead in enumerate(answer.leads):
        _lead(lead, console, with_code=number == 0)
    if answer.others:
        console.print(f"\nAlso: {', '.join(answer.others[:_MOST_OTHERS])}")
    if answer.leads and answer.tables:
        found = "; ".join(
            f"{EXPORTER_SHORT.get(table.exporter, table.exporter)} {table.declared or 'none'}"
            for table in answer.tables
        )
        console.print(f"Rules that torch {answer.tables[0].torch} itself lists for {answer.tables[0].op}: {found}")
    if answer.operator and answer.operator.told not in answer.decision:
        console.print(answer.operator.told)
    if answer.operator:
        labelled("releases", f"caniexport op {answer.operator.op}", console)
    for note in answer.notes:
        console.print(f"- {note}")


def _lead(answered: AnsweredLead, console: Console, *, with_code: bool) -> None:
    lead, at = answered.lead, answered.at
    console.print(f"\n{at.entry.case}: {lead.why}", style="bold")
    if at.entry.title:
        console.print(f"  {at.entry.title}")
    outcome = "not measured" if at.status is None else f"{STATUS[at.status].sign} {word(at.status)}"
    labelled("there", f"{outcome} at {at.place}", console)
    if lead.torch or lead.runtime:
        seen = lead.runtime or f"torch {lead.torch}, {EXPORTER_SHORT.get(lead.exporter, lead.exporter)}"
        labelled("seen on", seen, console)
    if answered.other:
        labelled("works", f"by {answered.other}, on the same release", console)
    if answered.later:
        labelled("works", f"from torch {answered.later} on, with the same exporter and opset", console)
    for fix in at.fixes[:_MOST_FIXES]:
        labelled("fix", f"{WORKAROUND[fix.word].sign} {_fix(fix)}", console)
    if with_code and at.helping and at.helping[0].code:
        console.print(textwrap.indent(at.helping[0].code.rstrip(), "      "), soft_wrap=True)
    labelled("more", f"caniexport why {at.entry.case}", console)


def _fix(fix: FixAt) -> str:
    careful = " (known to be wrong or partial)" if fix.caution else ""
    return f"{fix.variant}: {fix.word.value}{careful}; {fix.told}"
