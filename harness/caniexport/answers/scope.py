"""What names mean in a dataset: cases by their name, theme or operator, workarounds, releases, providers.

A name that nobody knows raises :class:`UnknownName` with the nearest ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from caniexport import names, versions
from caniexport.answers.filters import Filters, exporter_names, require_opsets, require_statuses
from caniexport.answers.inventory import CatalogueEntry, Inventory, Key
from caniexport.answers.samples import Samples
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.model.status import Status
from caniexport.operators import is_operator_name, operator_key, operator_keys, spellings
from caniexport.store import Dataset, sql
from caniexport.store.views import Views


@dataclass(frozen=True)
class CaseSelection:
    """What filters take of a dataset.

    ``catalogue`` has the variants that the filters on case, variant, theme and op take, measured or not; ``torch`` the
    measured releases, oldest first. Of opsets, exporters, providers and statuses none is all.
    """

    filters: Filters
    catalogue: dict[Key, CatalogueEntry]
    torch: tuple[str, ...]
    statuses: frozenset[Status]
    #: the columns of cells whose values are narrowed
    where: dict[str, Collection[Any]] = field(default_factory=dict)


def select(dataset: Dataset, filters: Filters) -> CaseSelection:
    """Apply filters; canaries are left out unless a case filter names them. Raises :class:`UnknownName`."""
    known = Inventory.of(dataset)
    found = {text for asked in filters.torch if asked != "all" for text in versions.resolve_range(asked, known.torch)}
    torch = tuple(text for text in known.torch if not found or text in found)
    catalogue = _select_variants(known, filters)
    narrowed = len(catalogue) < len(known.catalogue)
    where: dict[str, Collection[Any]] = {
        "case": {case for case, _ in catalogue} if narrowed else (),
        "variant": {variant for _, variant in catalogue} if narrowed else (),
        "torch": torch if len(torch) < len(known.torch) else (),
        "opset": require_opsets(filters.opsets, known.opsets),
        "exporter": exporter_names(filters.exporters),
        "provider": names.require_all("provider", filters.providers, known.providers),
    }
    taken = {name: values for name, values in where.items() if values or (narrowed and name in ("case", "variant"))}
    return CaseSelection(filters, catalogue, torch, require_statuses(filters.statuses), taken)


def _select_variants(known: Inventory, filters: Filters) -> dict[Key, CatalogueEntry]:
    """The catalogue's variants that the filters on case, variant, theme and op take."""
    taken = _select_cases(known, filters.cases)
    if filters.variants:
        variants = dict.fromkeys([PLAIN, *(variant for _, variant in taken)])
        found = names.require_all("variant", filters.variants, variants)
        taken = {key: entry for key, entry in taken.items() if key[1] in found}
    taken = _select_themes(known, taken, filters.themes)
    keys = operator_keys(known.ops)
    for op in filters.ops:
        if operator_key(op) not in keys:
            if _is_operator(op, known):
                raise UnknownName(f"op {op!r}: no case of the corpus is about it ({_suggest_commands(op, known)})")
            raise names.unknown_name("op", op, spellings(known.ops))
    return _select_ops(taken, filters.ops)


def _select_cases(known: Inventory, asked: Sequence[str]) -> dict[Key, CatalogueEntry]:
    """What ``CASE``, ``CASE/VARIANT`` and globs mean; every documented variant where nothing is asked for."""
    if not asked:
        return {key: entry for key, entry in known.catalogue.items() if entry.corpus != CANARY}
    cases = list(dict.fromkeys(case for case, _ in known.catalogue))
    found: set[Key] = set()
    for text in asked:
        pattern, _, wanted = text.partition("/")
        _refuse_operator(pattern, known)
        for case in names.require_all("case", [pattern], cases):
            variants: Iterable[str] = [variant for name, variant in known.catalogue if name == case]
            if wanted:
                variants = names.require_all(f"variant of {case}", [wanted], variants)
            found.update((case, variant) for variant in variants)
    return {key: entry for key, entry in known.catalogue.items() if key in found}


def _select_themes(
    known: Inventory, taken: dict[Key, CatalogueEntry], asked: Sequence[str]
) -> dict[Key, CatalogueEntry]:
    if not asked:
        return taken
    found = names.require_all("theme", asked, dict.fromkeys(entry.theme for entry in known.catalogue.values()))
    return {key: entry for key, entry in taken.items() if entry.theme in found}


def _select_ops(taken: dict[Key, CatalogueEntry], asked: Sequence[str]) -> dict[Key, CatalogueEntry]:
    wanted = operator_keys(asked)
    return {key: entry for key, entry in taken.items() if not wanted or wanted & operator_keys(entry.ops)}


def find_cases_about(text: str, known: Inventory) -> tuple[str, ...]:
    """Return the cases that are about an operator; none for the name of a case."""
    if any(text.casefold() == case.casefold() for case, _ in known.catalogue):
        return ()
    key = operator_key(text)
    return tuple(dict.fromkeys(entry.case for entry in known.catalogue.values() if key in operator_keys(entry.ops)))


def _refuse_operator(text: str, known: Inventory) -> None:
    """Raises :class:`UnknownName` with its cases for an operator where a case is wanted."""
    if found := find_cases_about(text, known):
        problem = f"{text!r} is no case, and an operator of {names.plural(len(found), 'case')}: {names.some(found, 5)}"
        raise UnknownName(f"{problem} (caniexport table --op {text})")
    if not any(text.casefold() == case.casefold() for case, _ in known.catalogue):
        refuse_uncovered(text, known)


def refuse_uncovered(text: str, known: Inventory) -> None:
    """Raises :class:`UnknownName` for an operator that no case is about, with commands that know it."""
    if _is_operator(text, known):
        problem = f"{text!r} is no case, and an operator that no case of the corpus is about"
        raise UnknownName(f"{problem} ({_suggest_commands(text, known)})")


def _suggest_commands(name: str, known: Inventory) -> str:
    samples = f"`caniexport op {name}`: its operator samples; " if Samples.of(known.dataset).called(name) else ""
    return f"{samples}`caniexport check`: a model of your own"


def _is_operator(text: str, known: Inventory) -> bool:
    """Whether people, or torch's own tests or tables, have an operator of this name."""
    if is_operator_name(text) or Samples.of(known.dataset).called(text):
        return True
    return operator_key(text) in operator_keys(known.declared)


@dataclass(frozen=True)
class Scope:
    """The cases that are asked about; ``None`` for all. ``ops`` are the operators named, ``uncovered`` those of them
    that no case is about; ``variants`` the workarounds named, none for all.
    """

    cases: frozenset[str] | None = None
    ops: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    variants: frozenset[str] = frozenset()

    @property
    def condition(self) -> str:
        """The condition as SQL on the column ``case`` of the relation ``o``."""
        return "true" if self.cases is None else f"""o."case" IN {sql.listed(sorted(self.cases))}"""

    def of_variants(self, table: str) -> str:
        """The condition on the column ``variant`` of a relation."""
        return f"{table}.variant IN {sql.listed(sorted(self.variants))}" if self.variants else "true"


def find_scope(views: Views, cases: Sequence[str] = (), themes: Sequence[str] = (), ops: Sequence[str] = ()) -> Scope:
    """Return the cases with one of the names, of the themes, and one of the operators; an operator may have none.

    Raises :class:`UnknownName` for what nobody knows; globs work for cases and themes.
    """
    if not (cases or themes or ops):
        return Scope()
    known = Inventory.of(views.dataset)
    covered = operator_keys(known.ops)
    uncovered = tuple(op for op in ops if operator_key(op) not in covered)
    for op in uncovered:
        if not _is_operator(op, known):
            raise names.unknown_name("op", op, spellings(known.ops))
    taken = _select_themes(known, _select_cases(known, [text.partition("/")[0] for text in cases]), themes)
    return Scope(frozenset(case for case, _ in _select_ops(taken, ops)), tuple(ops), uncovered)


def require_cases(found: Scope) -> None:
    """Refuse a scope in which no case is left. Raises :class:`UnknownName`."""
    if found.cases is not None and not found.cases and not found.uncovered:
        raise UnknownName("no case has all that was asked for: name fewer cases, themes or operators")


def resolve_name(views: Views, name: str) -> Scope:
    """Return the scope of a name: a case (``CASE/VARIANT``, a glob), an operator, a theme, or a workaround, alone
    or behind an operator's (``cross/stack_rewrite``).

    Raises :class:`UnknownName` with the nearest of all.
    """
    known = Inventory.of(views.dataset)
    cases = {case for case, _ in known.catalogue}
    themes = {entry.theme for entry in known.catalogue.values() if entry.theme}
    variants = {variant for _, variant in known.catalogue if variant != PLAIN}
    head, _, variant = name.partition("/")
    if any(sign in head for sign in "*?[") or head.casefold() in {case.casefold() for case in cases}:
        found = find_scope(views, cases=(head,))
    elif is_operator_name(head) or operator_key(head) in operator_keys(known.ops):
        found = find_scope(views, ops=(head,))
    elif name.casefold() in {theme.casefold() for theme in themes}:
        return find_scope(views, themes=(name,))
    elif name in variants:
        return Scope(frozenset(case for case, one in known.catalogue if one == name), variants=frozenset({name}))
    else:
        raise names.unknown_name("name", name, (*cases, *themes, *spellings(known.ops), *variants))
    if found.uncovered:
        raise UnknownName(f"no case is about {head!r} (`caniexport op {head}`: its operator samples)")
    if not variant:
        return found
    mine = {one for case, one in known.catalogue if found.cases and case in found.cases}
    return replace(found, variants=names.require_all(f"variant of {head}", (variant,), mine))
