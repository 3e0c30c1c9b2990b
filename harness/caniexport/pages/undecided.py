"""What stands instead of an answer that would be about something else than what was asked for."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup

from caniexport.pages.form import Form
from caniexport.pages.render import render


def render_undecided(form: Form, page: str, parts: Collection[str]) -> Markup:
    """What of these parameters was not measured, and the nearest that was, as links; empty where all was."""
    near = {name: found for name, found in form.missing.items() if name in parts}
    return render("undecided.html", page=page, near=near, asked=form.asked) if near else Markup()
