"""The front page: one line to search everything with, and what it finds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from caniexport.answers.select import DEFAULT_OPSET
from caniexport.match import search as searching
from caniexport.match.error_answer import ErrorAnswer
from caniexport.match.explain import explain_error
from caniexport.match.search import SearchHits
from caniexport.operators import operator_key, operator_keys
from caniexport.pages.form import APP, Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import EXPORTERS, Overview, case_names, overview
from caniexport.pages.render import render
from caniexport.pages.setting import Setting
from caniexport.pages.views import alerts, matrix, question, torch_op, upgrade, workarounds
from caniexport.pages.views.hits import SHOWN, tell_hit
from caniexport.pages.views.workarounds import decide_named_fix

_LEAD = "PyTorch operators and models to ONNX: what exports, runs and gives the right values, on every torch release."
#: the search of the front page, in the app and in the static copy
LABEL = "Ask in words, or paste your error"
EXAMPLE = "cross torch 2.8 opset 18, from 1.13 to 2.15, pooling table, an operator, or the error itself"
_EXAMPLES = ("cross torch 2.8 opset 18", "grid_sampler", "is not a registered function/op")
#: the pages that answer the usual questions: each with its title, what it says, and a question to ask it in words
_QUESTIONS = (
    (
        "upgrade",
        upgrade.TITLE,
        "What breaks between two releases, what is fixed, and which axis did it.",
        "1.13 to 2.15 opset 17 lstm",
    ),
    (
        "workarounds",
        workarounds.TITLE,
        "Every fix: needed, obsolete or harmful at your release, and since when.",
        "stack_rewrite torch 2.8 opset 18",
    ),
    (
        "matrix",
        matrix.TITLE,
        "Cases against releases or opsets, each cell with its evidence.",
        "pooling table 2.0 to 2.15",
    ),
    ("alerts", alerts.TITLE, "Each release against the one before it, one alert for each cause.", ""),
)
#: the opset that an error names as the one that was asked for
_OPSET = re.compile(r"opset[ _]version[ =:]*(?P<opset>\d+)")
#: signs of what was searched for in the title of a tab
_IN_A_TAB = 60
#: tables of themes beside each other where there is room, and the fewest rows that are worth a table of their own
_BESIDE_EACH_OTHER, _LEAST_THEMES = 2, 12


def page(form: Form, kept: Kept) -> Page:
    """What is found of what is asked for, or what stands there before."""
    query = "" if form.whole else form.question("q", LABEL, EXAMPLE, width=990)
    if not form.whole:
        form.choose_setting(kept.of(form.mine.profile).rows())
    found = searching.find(kept.of(form.mine.profile).answer(searching.index), query) if query else None
    body = answer(form, kept, query, found) if found else _start(form, kept.at(form.mine))
    return form.page(APP, _LEAD, body, about=(query[:_IN_A_TAB],), folds=bool(query), searches=True)


def _start(form: Form, kept: Kept) -> Markup:
    found = kept.answer(overview)
    examples = () if form.whole else _EXAMPLES
    return render(
        "front.html",
        found=found,
        examples=examples,
        questions=_QUESTIONS,
        exporters=EXPORTERS,
        tables=_tables(found),
    )


def _tables(found: Overview) -> list[list[str]]:
    """The themes by the table that they stand in."""
    themes = list(found.by_theme)
    length = max(_LEAST_THEMES, -(-len(themes) // _BESIDE_EACH_OTHER))
    return [themes[begin : begin + length] for begin in range(0, len(themes), length)]


def _point(mine: Setting) -> dict[str, str]:
    """The reader's own release, exporter and opset, that a pasted error is answered at."""
    point = {name: mine.one(name) for name in ("torch", "exporter", "opset")}
    return {name: value for name, value in point.items() if value and value not in ("default", DEFAULT_OPSET)}


def answer(form: Form, kept: Kept, query: str, found: SearchHits) -> Markup:
    """What was found, with what is known of it."""
    if found.question is not None:
        return question.answer(form, kept, found)
    kept = kept.at(form.mine)
    told = explain_error(kept, query, _point(form.mine)) if found.error else None
    shown = () if told is not None and told.is_whole else found.hits[:SHOWN]
    hits = [tell_hit(kept, hit, with_fixes=True) for hit in shown]
    named = _OPSET.search(query) if found.error and not form.mine.of("opset") else None
    ops = [op for op in found.ops if torch_op.has_page(kept, op)] if found.error else _operators(kept, query, found.ops)
    given = {"found": found, "ops": ops, "hits": hits, "query": query, "questions": _QUESTIONS, "answer": told}
    given["opset"] = named["opset"] if named and named["opset"] in map(str, kept.rows().opsets) else ""
    given |= {"cases": kept.answer(case_names), "places": _places(told)}
    given["told"] = "" if found.error else torch_op.tell(kept, query, form.mine)
    return render("found.html", fix="" if found.error else decide_named_fix(form, kept, query), **given)


def _places(told: ErrorAnswer | None) -> dict[str, dict[str, str]]:
    """By case: the place that an answer tells of it."""
    leads = [lead.at for lead in told.leads if lead.at.opset] if told else []
    return {at.entry.case: {"torch": at.torch, "exporter": at.exporter, "opset": str(at.opset)} for at in leads}


def _operators(kept: Kept, query: str, found: Sequence[str]) -> list[str]:
    """The operators of cases that were found, and those of torch that the query names."""
    keys = operator_keys(found)
    return [*found, *(op for op in torch_op.names(kept, query) if operator_key(op) not in keys)]
