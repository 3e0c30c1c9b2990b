"""The front page: one line to search everything with, and what it finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from caniexport.answers.select import DEFAULT_OPSET
from caniexport.answers.support import Support
from caniexport.match import search as searching
from caniexport.match.errors import Lead
from caniexport.match.explain import explain_error
from caniexport.model.case import PLAIN
from caniexport.model.status import Exporter
from caniexport.operators import operator_key, operator_keys
from caniexport.pages.form import APP, Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import EXPORTERS, Overview, careful_fixes, overview
from caniexport.pages.render import render
from caniexport.pages.setting import Setting
from caniexport.pages.views import torch_op

_LEAD = "PyTorch operators and models to ONNX: what exports, runs and gives the right values, on every torch release."
_EXAMPLES = ("grid_sampler", "aten::cross", "pooling", "is not a registered function/op")
_QUESTIONS = (
    (
        "upgrade",
        "Which torch may I move to?",
        "What breaks between two releases, what is fixed, and which axis did it.",
    ),
    (
        "workarounds",
        "Is this workaround still needed?",
        "Every fix: needed, obsolete or harmful at your release, and since when.",
    ),
    ("matrix", "Show me the table", "Cases against releases or opsets, each cell with its evidence."),
    ("alerts", "What did a release break?", "Each release against the one before it, one alert for each cause."),
)
#: hits that are told whole; the others are in the matrix
_SHOWN = 12
#: signs of what was searched for in the title of a tab
_IN_A_TAB = 60
#: exporters whose answer stands beside a hit
BESIDE = (Exporter.TRACE.value, Exporter.DYNAMO.value)
#: tables of themes beside each other where there is room, and the fewest rows that are worth a table of their own
_BESIDE_EACH_OTHER, _LEAST_THEMES = 2, 12


#: torch, exporter and opset of a cell
Place = tuple[str, str, int | None]


@dataclass(frozen=True)
class ToldHit:
    """A case that was found: where it works, the fixes that work where the error was seen, those known to be wrong."""

    hit: Lead
    supports: Sequence[Support]
    working: Sequence[str] = ()
    careful: Sequence[str] = ()

    @property
    def where(self) -> dict[str, str]:
        """The cell in which the error was seen, as an address has it; empty where the case was found by words."""
        opset = "" if self.hit.opset is None else str(self.hit.opset)
        return {"torch": self.hit.torch, "exporter": self.hit.exporter, "opset": opset}


def page(form: Form, kept: Kept) -> Page:
    """What is found of what is asked for, or what stands there before."""
    query = "" if form.whole else _query(form)
    if not form.whole:
        form.choose_setting(kept.rows())
    body = _found(form, kept, query) if query else _start(form, kept)
    return form.page(APP, _LEAD, body, about=(query[:_IN_A_TAB],))


def told(kept: Kept, hit: Lead, *, with_fixes: bool = False) -> ToldHit:
    """A hit with the answers that stand beside it."""
    supports = [item for item in kept.supports(hit.entry.case, PLAIN) if item.exporter in BESIDE]
    working = _working(kept, hit) if with_fixes else ()
    return ToldHit(hit, supports, working, kept.answer(careful_fixes).get(hit.entry.case, ()))


def _query(form: Form) -> str:
    return form.words(
        "q",
        "Search cases, operators, sources, or paste your error",
        "torch.cross, GridSample, onnx/onnx#2683, or the error itself",
        width=990,
        longest=searching.LONGEST,
        tidy=searching.shorten,
    )


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


def _found(form: Form, kept: Kept, query: str) -> Markup:
    found = searching.find(kept.answer(searching.index), query)
    hits = [told(kept, hit, with_fixes=True) for hit in found.hits[:_SHOWN]]
    answer = explain_error(kept, query, _point(form.mine)) if found.error else None
    ops = [op for op in found.ops if torch_op.has_page(kept, op)] if found.error else _operators(kept, query, found.ops)
    return render("found.html", found=found, ops=ops, hits=hits, query=query, questions=_QUESTIONS, answer=answer)


def _operators(kept: Kept, query: str, found: Sequence[str]) -> list[str]:
    """The operators of cases that were found, and those of torch that the query names."""
    keys = operator_keys(found)
    return [*found, *(op for op in torch_op.names(kept, query) if operator_key(op) not in keys)]


def _working(kept: Kept, hit: Lead) -> Sequence[str]:
    """The fixes that work in the cell where the error was seen."""
    place = (hit.torch, hit.exporter, hit.opset)
    return working_fixes(kept, hit.case).get(place, ()) if hit.torch else ()


def working_fixes(kept: Kept, case: str) -> Mapping[Place, Sequence[str]]:
    """The fixes of a case that work in each cell, those that sources warn of left out."""
    entries = kept.rows().catalogue
    found: dict[Place, dict[str, None]] = defaultdict(dict)
    for cell in kept.cells_of(case):
        if cell.works and cell.variant != PLAIN and not entries[case, cell.variant].caution:
            found[cell.torch, cell.exporter, cell.opset][cell.variant] = None
    return {place: tuple(fixes) for place, fixes in found.items()}
