"""The front page: one line for a case, an operator, a pasted error or words, and what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from markupsafe import Markup

from caniexport.answers.answer import Answer
from caniexport.answers.case import answer_case
from caniexport.answers.filters import DEFAULT_OPSET, Filters
from caniexport.answers.op import answer_op
from caniexport.answers.operators import NO_FILTER
from caniexport.answers.samples import Samples
from caniexport.answers.search import (
    FullText,
    InputKind,
    SearchInput,
    answer_hits,
    find_hits,
    is_error,
    read_input,
    split_filters,
)
from caniexport.answers.table import By, TableLines
from caniexport.answers.why import answer_error
from caniexport.model.case import PLAIN
from caniexport.pages.answered import render_answer
from caniexport.pages.form import APP, Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.setting import NAMES, Setting
from caniexport.pages.unfound import find_nearest_names
from caniexport.pages.views import alerts, matrix, upgrade, workarounds

_LEAD = "PyTorch operators and models to ONNX: what exports, runs and gives the right values, on every torch release."
_LABEL = "A case, an operator, or your error"
_EXAMPLE = "grid_sample, torch.cross torch=2.8 opset=18, or paste the end of a traceback"
_EXAMPLES = ("cross torch=2.8 opset=18", "grid_sample", "TracerWarning: Converting a tensor to a Python boolean")
#: characters of a pasted text that are read: the address holds them
_LONGEST = 8000
#: the pages that answer the usual questions: each with its title, and what it says
_QUESTIONS = (
    ("upgrade", upgrade.TITLE, "What breaks between two releases, what is fixed, and which axis did it."),
    ("workarounds", workarounds.TITLE, "Which to keep and which to remove at your release, and since when."),
    ("matrix", matrix.TITLE, "Cases against releases or opsets, each cell with its evidence."),
    ("alerts", alerts.TITLE, "Each release against the one before it, one alert for each cause."),
)
#: characters of what was searched for in the title of a tab
_IN_A_TAB = 60


def with_typed_filters(asked: Mapping[str, str]) -> Mapping[str, str]:
    """The parameters of an address with the filters that stand in its search (``torch=2.8``) as parameters."""
    query = asked.get("q", "")
    filters, rest = split_filters(query, NAMES) if not is_error(query) else ({}, query)
    return {**asked, "q": rest, **filters} if filters else asked


def page(form: Form, kept: Kept) -> Page:
    """What is found of what is asked for, or what stands there before."""
    query = "" if form.whole else form.words("q", _LABEL, _EXAMPLE, width=990, longest=_LONGEST).strip()
    if not form.whole:
        form.choose_setting(kept.of(form.mine.profile).inventory)
    body = _found(form, kept, query) if query else _start(form, kept.of(form.mine.profile))
    return form.page(APP, _LEAD, body, about=(query[:_IN_A_TAB],), folds=bool(query), searches=True)


def _start(form: Form, kept: Kept) -> Markup:
    asked = replace(form.mine.filters(), variants=(PLAIN,))
    themes = kept.answer(matrix.ask, asked, By.TORCH, TableLines.THEMES, form.mine.one("runtime"))
    examples = () if form.whole else _EXAMPLES
    size = kept.inventory.cases_text
    return render("front.html", examples=examples, questions=_QUESTIONS, size=size) + render_answer(themes)


def _point(mine: Setting) -> dict[str, str]:
    """The reader's own release, exporter, opset and runtime, that a pasted error is answered at."""
    point = {name: mine.one(name) for name in ("torch", "exporter", "opset", "runtime")}
    return {name: value for name, value in point.items() if value and value not in ("default", DEFAULT_OPSET)}


def _found(form: Form, kept: Kept, query: str) -> Markup:
    """What the text was read as, and what is known of it."""
    kept = kept.of(form.mine.profile)
    read = read_input(kept, query, ())
    given = {"read": read, "questions": _QUESTIONS}
    if read.kind is InputKind.ERROR:
        answer = answer_error(kept, read.text, _point(form.mine))
        return render_answer(answer) + render("found_error.html", read=read)
    if read.kind is InputKind.WORDS:
        hits = find_hits(kept.answer(FullText), read.text)
        near = () if hits else find_nearest_names(kept, read.text)
        return render("found_words.html", **given, answer=render_answer(answer_hits(hits)) if hits else "", near=near)
    return render(
        "found_name.html",
        **given,
        answers=[render_answer(answer) for answer in _of_name(kept, read, form.mine.one("runtime"))],
    )


def _of_name(kept: Kept, read: SearchInput, runtime: str) -> Iterator[Answer]:
    """The answer about a case; that about an operator, and the table of its cases."""
    if read.kind is InputKind.CASE:
        yield kept.answer(answer_case, read.text)
        return
    if Samples.of(kept).called(read.text):
        yield kept.answer(answer_op, read.text, NO_FILTER)
    if read.cases:
        asked = Filters(cases=read.cases, variants=(PLAIN,))
        yield kept.answer(matrix.ask, asked, By.TORCH, TableLines.CASES, runtime)
