"""What the exporters register for operators, against what was measured."""

from __future__ import annotations

from caniexport.answers.declared import Agreement, answer_declared
from caniexport.answers.samples import EXPORTERS
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render

_TITLE = "Registered against measured"
_LEAD = "The operators that each exporter registers, as each environment lists them. What is registered need not pass."


def page(form: Form, kept: Kept) -> Page:
    """The operators that the filters take."""
    if not kept.inventory.torch:
        form.take(*form.asked)
        return form.page(_TITLE, _LEAD, render("nothing.html", nothing="No torch release has been measured yet."))
    agreements = {item.name.lower().replace("_", "-"): item for item in Agreement}
    query = form.words("q", "Search", "operator or case")
    wanted = form.pills("is", "Show", list(agreements), shown={name: item.value for name, item in agreements.items()})
    form.choose_setting(kept.inventory, ("torch", "exporter"), EXPORTERS)
    exporters = tuple(name for name in form.mine.of("exporter") if name in EXPORTERS) or EXPORTERS
    chosen = tuple(agreements[name] for name in wanted) or tuple(Agreement)
    asked = (form.mine.one("torch"), exporters, (), chosen, query)
    found = kept.answer(answer_declared, *asked)
    return form.page(_TITLE, _LEAD, render_answer(found), folds=True, files=make_files("declared", found))
