"""The pages of every host by the names in their addresses: the app, the plain first reply, the static copy."""

from __future__ import annotations

from collections.abc import Mapping

from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.views import case

#: by the name in the address, in the order of the navigation
_VIEWS = {"case": ("Cases", case.page)}


def page(name: str, asked: Mapping[str, str], kept: Kept, *, whole: bool = False) -> Page:
    """The page of an address: its name and its parameters. ``whole``: nobody can ask it for more."""
    return _VIEWS[name][1](Form(asked, whole=whole), kept)
