"""The words of the pages, the commands and the dataset."""

from __future__ import annotations

from caniexport.pages.form import Form, Page
from caniexport.pages.glossary import TERMS
from caniexport.pages.kept import Kept
from caniexport.pages.render import render


def page(form: Form, _: Kept) -> Page:
    """Every term, and the names that stand for it."""
    lead = "The words of these pages, of the commands and of the dataset."
    return form.page("Glossary", lead, render("glossary.html", terms=TERMS))
