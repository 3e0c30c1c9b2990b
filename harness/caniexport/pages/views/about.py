"""What the dataset holds, and how far it was audited."""

from __future__ import annotations

from caniexport.audit import saved
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render


def page(form: Form, kept: Kept) -> Page:
    """The numbers, and what the signs mean."""
    body = render(
        "about.html",
        known=kept.inventory,
        audit=kept.answer(saved.read_last_audit),
        is_readable=not kept.problems,
    )
    lead = "Every row was measured by an export in an environment of its own; nothing is copied from a document."
    return form.page("Data & method", lead, body)
