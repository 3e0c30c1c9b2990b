"""What names mean: a case, an operator, a theme, a fix; which of several operators have cases."""

from __future__ import annotations

from collections.abc import Iterable

from caniexport import names
from caniexport.answers.reading import CatalogueEntry, load
from caniexport.answers.select import refuse_uncovered
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.operators import is_torch_name, operator_key, operator_keys, spellings
from caniexport.store import Dataset


def split_covered(ops: Iterable[str], catalogue: Iterable[CatalogueEntry]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operators that cases are about, as the catalogue spells them, and those that none is about."""
    by_key = {operator_key(op): op for entry in catalogue if entry.corpus != CANARY for op in entry.ops}
    named = {op: by_key.get(operator_key(op)) for op in ops}
    return tuple(dict.fromkeys(filter(None, named.values()))), tuple(op for op, known in named.items() if not known)


def what_is_named(dataset: Dataset, name: str, *, fixes: bool = False) -> dict[str, tuple[str, ...]]:
    """The filters that one name means: a case (``CASE/VARIANT``, a glob), else an operator, else a theme, and with
    ``fixes`` a fix's name, alone or behind an operator's (``cross/stack_rewrite``).

    Raises :class:`UnknownName` with the nearest of all; an operator that no case is about is told as such.
    """
    rows = load(dataset)
    catalogue = rows.catalogue
    cases = dict.fromkeys(case for case, _ in catalogue)
    themes = dict.fromkeys(entry.theme for entry in catalogue.values() if entry.theme)
    ops = dict.fromkeys(op for entry in catalogue.values() for op in entry.ops)
    case, _, variant = name.partition("/")
    if case.casefold() in {item.casefold() for item in cases} or any(sign in case for sign in "*?["):
        return {"case": (name,)}
    if operator_key(name) in operator_keys(ops):
        alone = _of_torch_alone(name, catalogue.values())
        return {"case": alone} if alone else {"op": (name,)}
    if fixes and variant and operator_key(case) in operator_keys(ops):
        return {"op": (case,), "variant": (variant,)}
    if name.casefold() in {item.casefold() for item in themes}:
        return {"theme": (name,)}
    known = dict.fromkeys(other for _, other in catalogue if other != PLAIN) if fixes else {}
    if name.casefold() in {item.casefold() for item in known}:
        return {"variant": (name,)}
    refuse_uncovered(name, rows)
    raise names.unknown("name", name, (*cases, *themes, *spellings(ops), *known))


def _of_torch_alone(name: str, entries: Iterable[CatalogueEntry]) -> tuple[str, ...]:
    """The cases of a function that is spelled as torch's (``torch.tile``), where others have only a node of that name
    (``Tile``, as which other functions are exported too); empty where there are no others.
    """
    key = operator_key(name)
    having = [entry for entry in entries if key in operator_keys(entry.ops)]
    own = dict.fromkeys(entry.case for entry in having if key in operator_keys(op for op in entry.ops if "::" in op))
    others = {entry.case for entry in having} - own.keys()
    return tuple(own) if others and is_torch_name(name) else ()
