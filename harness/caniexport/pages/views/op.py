"""One operator: how its samples end, the cases about it, their workarounds; or which of all operators work."""

from __future__ import annotations

from dataclasses import replace

from caniexport import names
from caniexport.answers.op import answer_op
from caniexport.answers.operators import ALL_DTYPES, OperatorFilters
from caniexport.answers.samples import EXPORTERS, Samples
from caniexport.answers.scope import find_scope
from caniexport.answers.signs import status_word
from caniexport.answers.table import By, TableLines
from caniexport.model.errors import UnknownName
from caniexport.model.status import Status
from caniexport.operators import operator_key, operator_keys
from caniexport.pages.answered import make_files, render_answer
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.render import render
from caniexport.pages.views import workarounds
from caniexport.pages.views.matrix import ask
from caniexport.store.views import Views

_LEAD = "Where the samples of this operator pass, and the documented failures about it."
_LIST = "The sample inputs that torch's own tests have for each operator, exported, run and compared with eager."
_ENDS = (Status.PASS, Status.FAIL, Status.MISMATCH, Status.CRASH, Status.TIMEOUT)


def page(form: Form, kept: Kept) -> Page:
    """The operator that is asked for, or the list of all."""
    name, samples = form.text("op").strip(), Samples.of(kept)
    torch = form.mine.one("torch")
    torch = torch if torch in samples.releases else ""
    try:
        found = kept.answer(answer_op, name, OperatorFilters(torch=torch)) if name else None
    except UnknownName:
        found = None
    if found is None:
        return _list(form, kept, samples, torch)
    form.choose_setting(kept.inventory)
    body, files = render_answer(found), make_files("op", found)
    # the static copy has them on the pages of the cases alone: its pages of operators would be twice as large
    if operator_key(name) in operator_keys(kept.inventory.ops) and not form.whole:
        asked = replace(form.mine.filters(), ops=(name,))
        table = kept.answer(ask, asked, By.TORCH, TableLines.CASES, form.mine.one("runtime"))
        files += make_files("op-cases", table)
        body += render_answer(replace(table, tables=table.tables[:1]), "Cases by torch release")
        body += render_answer(workarounds.ask(form, kept, find_scope(Views.of(kept), ops=(name,))), "Workarounds")
    others = [other for other in kept.answer(names_of_one).get(name, ()) if other != name]
    lead = f"{_LEAD} Also called {', '.join(others)}." if others else _LEAD
    return form.page(name, lead, body, back=True, folds=True, files=files)


def _list(form: Form, kept: Kept, samples: Samples, torch: str) -> Page:
    shown = {status.value: status_word(status) for status in _ENDS}
    status = form.select("status", "Ends with", list(shown), text="any", shown=shown)
    known = samples.views.fetch("SELECT DISTINCT dtype FROM samples WHERE calls > 0 ORDER BY dtype")
    dtypes = [ALL_DTYPES, *(dtype for (dtype,) in known)]
    dtype = form.select("dtype", "Dtype", dtypes, text="the first of each operator")
    form.choose_setting(kept.inventory, ("torch", "exporter"), EXPORTERS)
    wanted = form.text("op").strip()
    near = names.find_nearest(wanted, kept.answer(names_of_one)) if wanted else ()
    form.warnings += [f"unknown operator {wanted!r}"] * bool(wanted)
    meant = render("near.html", near=near, page="op", parameter="op")
    if not samples.releases:
        return form.page("Operators", _LIST, meant)
    statuses = frozenset({Status(status)} if status else ())
    asked = OperatorFilters(torch=torch, exporters=form.mine.of("exporter"), dtype=dtype, statuses=statuses)
    found = kept.answer(answer_op, "", asked)
    return form.page("Operators", _LIST, meant + render_answer(found), folds=True, files=make_files("operators", found))


def names_of_one(kept: Kept) -> dict[str, tuple[str, ...]]:
    """The names of one operator, by each of them: aten's own first, then ONNX's. They have the same page."""
    alike: dict[object, list[str]] = {}
    samples = Samples.of(kept)
    named = {op for item in kept.inventory.documented for op in item.ops}
    for name in sorted(named.union(samples.operators), key=_rank_name):
        try:
            meant = samples.named(name)[:1]
        except UnknownName:
            meant = []
        alike.setdefault((operator_key(name), *meant), []).append(name)
    return {name: tuple(found) for found in alike.values() for name in found}


def _rank_name(op: str) -> tuple[bool, bool, bool, bool, str]:
    """By which the name comes first that people use: torch's before ONNX's, public ones before ``_fft_r2c``, those that
    give a new tensor before ``add_``, words before ``__and__``.
    """
    end = op.rpartition("::")[2]
    return "::" not in op, not op.startswith("aten::"), end.startswith("_"), end.endswith("_"), op
