"""One operator: the cases that use it, where each works, and the matrix of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.answers.select import select
from caniexport.answers.signs import EXPORTER_SHORT
from caniexport.answers.table import By, TableLines
from caniexport.operators import operator_key
from caniexport.pages.answered import answered, files_of
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import cases
from caniexport.pages.render import render
from caniexport.pages.views import torch_op
from caniexport.pages.views.hits import ToldHit, tell_hit
from caniexport.pages.views.matrix import ask
from caniexport.pages.views.workarounds import of_operator

#: cases that are told one by one before the others unfold
_FIRST = 5
_LEAD = "Where the samples of this operator pass, and the documented failures about it."


def page(form: Form, kept: Kept) -> Page:
    """The operator that is asked for, or the list of all."""
    entries = cases(kept)
    counted = Counter(op for item in entries for op in item.ops)
    asked = form.text("op")
    which = form.one_of("list", tuple(torch_op.LISTS), "list")
    if which:
        lead = f"Operators of torch: {torch_op.LISTS[which]}."
        body = torch_op.one_list(kept, which, counted)
        return form.page("Operators", lead, body, files=(torch_op.list_file(kept, which),))
    in_database = torch_op.names(kept, asked) if asked else ()
    if in_database and asked not in counted:
        asked = torch_op.page_names(kept, counted)[in_database[0]]
        if asked not in counted:
            found = torch_op.answer_of(kept, asked)
            return form.page(in_database[0], _LEAD, answered(found), back=True, folds=True, files=files_of("op", found))
    op = asked if asked in counted else form.one_of("op", sorted(counted), "operator", linked=True)
    if not op:
        near = names.nearest(asked, counted) if asked else []
        lead = "Every operator of torch, and those that a case is about, with the number of cases."
        fails = (
            "" if form.whole else form.select("fails", "Only what fails by", torch_op.EXPORTERS, shown=EXPORTER_SHORT)
        )
        parts = [
            torch_op.table(kept, counted, fails, mine=form.mine.told),
            render("ops.html", counted=counted, near=near),
        ]
        body = Markup().join(parts[::-1] if near else parts)
        return form.page("Operators", lead, body, files=(torch_op.table_of_all(kept, fails),))
    hits = _hits(kept, op)
    form.choose_setting(kept.rows())
    found = kept.answer(
        ask, replace(form.mine.filters(), ops=(op,)), By.TORCH, TableLines.CASES, form.mine.one("runtime")
    )
    samples = torch_op.answer_of(kept, asked) if in_database else None
    body = answered(samples) if samples else Markup()
    body += render(
        "op.html",
        hits=hits,
        first=_FIRST,
        # in the static copy they are on the pages of the cases alone: with them it would be a tenth larger
        fixes="" if form.whole else of_operator(form, kept, op),
        table=answered(replace(found, tables=found.tables[:1])),
    )
    files = (*(files_of("op", samples) if samples else ()), *files_of("op-cases", found))
    return form.page(op, _lead(kept, op), body, back=True, folds=True, files=files)


def names_of_one(kept: Kept) -> dict[str, tuple[str, ...]]:
    """The names that cases have for one operator, by each of them: aten's own first, then ONNX's. Their pages have the
    same cases and the same calls of torch's.
    """
    alike: dict[object, list[str]] = {}
    for op in sorted({op for item in cases(kept) for op in item.ops}, key=torch_op.rank_name):
        alike.setdefault((operator_key(op), torch_op.names(kept, op)), []).append(op)
    return {op: tuple(found) for found in alike.values() for op in found}


def _lead(kept: Kept, op: str) -> str:
    others = [name for name in kept.answer(names_of_one)[op] if name != op]
    return f"{_LEAD} Also called {', '.join(others)}." if others else _LEAD


def _hits(kept: Kept, op: str) -> list[ToldHit]:
    """The cases about an operator under any of its names, those that have it under this one first."""
    mine = {case for case, _ in select(kept.rows(), Filters(ops=(op,))).catalogue}
    found = sorted((item for item in cases(kept) if item.case in mine), key=lambda item: op not in item.ops)
    return [tell_hit(kept, item, f"operator {_called(item.ops, op)}") for item in found]


def _called(ops: Sequence[str], op: str) -> str:
    """The name that an operator has among these."""
    alike = [name for name in ops if operator_key(name) == operator_key(op)]
    return op if op in alike or not alike else alike[0]
