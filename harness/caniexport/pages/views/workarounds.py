"""What to do with each workaround at the reader's release, by every call, and since when."""

from __future__ import annotations

from caniexport.answers.answer import Answer
from caniexport.answers.scope import Scope, resolve_name
from caniexport.answers.search import FullText, find_cases
from caniexport.answers.workaround import answer_workaround
from caniexport.model.errors import UnknownName
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.sheet import File
from caniexport.pages.undecided import render_undecided
from caniexport.pages.unfound import render_unknown
from caniexport.store.views import Views

TITLE = "Is this workaround still needed?"
_LEAD = "Keep a workaround where the original fails and the workaround works. Remove it where both work."
#: the parts of a reader's setting that the page takes
_PARTS = ("torch", "opset", "exporter", "profile")


def page(form: Form, kept: Kept) -> Page:
    """The workarounds of what is named, else of all."""
    query = form.words("q", "Search", "stack_rewrite, grid_sample, any words", width=420).strip()
    form.choose_setting(kept.inventory, _PARTS)
    files: tuple[File, ...] = ()
    if not_known := render_undecided(form, "workarounds", _PARTS):
        body = not_known
    elif (asked := _scope(kept, query)) is None:
        body = render_unknown(form, kept, "workarounds", "workaround", query)
    else:
        found = ask(form, kept, asked)
        body, files = render_answer(found), make_files("workarounds", found)
    return form.page(TITLE, _LEAD, body, about=(query,), folds=True, searches=True, files=files)


def _scope(kept: Kept, query: str) -> Scope | None:
    """What the words name, else the cases that have them; ``None`` where nothing does."""
    if not query:
        return Scope()
    try:
        return resolve_name(Views.of(kept), query)
    except UnknownName:
        cases = find_cases(kept, kept.answer(FullText), query)
        return Scope(frozenset(cases)) if cases else None


def ask(form: Form, kept: Kept, asked: Scope) -> Answer:
    """The answer at the reader's release, opset and exporters."""
    opsets = [text for text in form.mine.of("opset") if text.isdigit()]
    opset = int(opsets[-1]) if opsets else None
    return kept.answer(answer_workaround, asked, "".join(form.mine.of("torch")[-1:]), opset, form.mine.of("exporter"))
