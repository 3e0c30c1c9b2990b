"""What stands instead of a table of which no row has the words that were looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from markupsafe import Markup

from caniexport import names
from caniexport.answers.inventory import Inventory
from caniexport.model.case import PLAIN
from caniexport.operators import spellings
from caniexport.pages.form import Form
from caniexport.pages.kept import Kept
from caniexport.pages.render import render

#: most nearest names
_SHOWN = 5
#: what may be a name of a case, fix, operator or theme
_NAME = re.compile(r"[\w:.-]{3,}")


def render_unknown(form: Form, kept: Kept, page: str, what: str, query: str) -> Markup:
    """That no such thing (``case``, ``fix``) has these words, with the nearest names as links."""
    near = find_nearest_names(kept, query)
    return render("unfound.html", what=what, query=query, page=page, near=near, asked=form.asked)


def find_nearest_names(kept: Kept, query: str) -> Sequence[str]:
    """The known names most like each name in the text, those that are the most like theirs first."""
    known = _known(Inventory.of(kept))
    near = [names.find_nearest(part, known) for part in _NAME.findall(query)]
    together = (name for nth in zip_longest(*near) for name in nth if name)
    return list(dict.fromkeys(together))[:_SHOWN]


def _known(known: Inventory) -> list[str]:
    named = [name for entry in known.catalogue.values() for name in (entry.case, entry.theme, entry.variant)]
    every = dict.fromkeys((*named, *spellings(known.ops)))
    return [name for name in every if name and name != PLAIN]
