"""What a question is about: cases by their name, theme or operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from caniexport import names
from caniexport.answers.reading import load
from caniexport.answers.samples import Samples
from caniexport.model.case import PLAIN
from caniexport.model.errors import UnknownName
from caniexport.operators import is_operator_name, operator_key, operator_keys, spellings
from caniexport.store import Dataset, sql
from caniexport.store.views import Views


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
        """The same as SQL on the column ``case`` of the relation ``o``."""
        if self.cases is None:
            return "true"
        return f"""o."case" IN ({", ".join(map(sql.literal, sorted(self.cases))) or "NULL"})"""

    def of_variants(self, table: str) -> str:
        """The condition on the column ``variant`` of a relation."""
        if not self.variants:
            return "true"
        return f"{table}.variant IN ({', '.join(map(sql.literal, sorted(self.variants)))})"


def scope(views: Views, cases: Sequence[str] = (), themes: Sequence[str] = (), ops: Sequence[str] = ()) -> Scope:
    """The cases that have one of the names, of the themes, and one of the operators.

    Raises :class:`UnknownName` for what nobody knows; globs work for cases and themes.
    """
    if not (cases or themes or ops):
        return Scope()
    known = views.fetch(
        """SELECT "case", any_value(theme), flatten(list(list_concat(aten_ops, onnx_ops))) FROM variants
            WHERE corpus <> 'canary' GROUP BY ALL"""
    )
    taken = {case for case, _, _ in known}
    if cases:
        patterns = [text.partition("/")[0] for text in cases]
        taken &= names.require_all("case", patterns, [case for case, _, _ in known])
    if themes:
        found = names.require_all("theme", themes, dict.fromkeys(theme for _, theme, _ in known))
        taken &= {case for case, theme, _ in known if theme in found}
    if not ops:
        return Scope(frozenset(taken))
    about = {case: operator_keys(having or ()) for case, _, having in known}
    covered = set().union(*about.values())
    uncovered = tuple(op for op in ops if operator_key(op) not in covered)
    for op in uncovered:
        if not is_operator_name(op) and not _is_declared(views.dataset, op):
            raise names.unknown("op", op, spellings({item for _, _, having in known for item in having or ()}))
    wanted = operator_keys(ops)
    taken &= {case for case, keys in about.items() if keys & wanted}
    return Scope(frozenset(taken), tuple(ops), uncovered=uncovered)


def _is_declared(dataset: Dataset, op: str) -> bool:
    """Whether torch's own tests or tables have an operator."""
    return bool(Samples.of(dataset).called(op)) or operator_key(op) in operator_keys(load(dataset).declared)


def require_cases(found: Scope) -> None:
    """Refuse a scope in which no case is left. Raises :class:`UnknownName`."""
    if found.cases is not None and not found.cases and not found.uncovered:
        raise UnknownName("no case has all that was asked for: name fewer cases, themes or operators")


def named(views: Views, name: str) -> Scope:
    """What one name means: a case (``CASE/VARIANT``, a glob), else an operator, else a theme, else a workaround, alone
    or behind an operator's (``cross/stack_rewrite``).

    Raises :class:`UnknownName` with the nearest of all.
    """
    known = views.fetch("""SELECT DISTINCT "case", theme, variant FROM variants""")
    head, _, variant = name.partition("/")
    cases, themes = ({row[place] for row in known} for place in (0, 1))
    if any(sign in head for sign in "*?[") or head.casefold() in {case.casefold() for case in cases}:
        found = scope(views, cases=(head,))
    elif is_operator_name(head) or _has_operator(views, head):
        found = scope(views, ops=(head,))
    elif name.casefold() in {theme.casefold() for theme in themes if theme}:
        return scope(views, themes=(name,))
    else:
        variants = {row[2] for row in known if row[2] != PLAIN}
        if name in variants:
            of_it = frozenset(row[0] for row in known if row[2] == name)
            return Scope(of_it, variants=frozenset({name}))
        raise names.unknown("name", name, (*cases, *filter(None, themes), *spellings(_operators(views)), *variants))
    if found.uncovered:
        raise UnknownName(f"no case is about {head!r} (`caniexport op {head}`: its operator samples)")
    if not variant:
        return found
    mine = {row[2] for row in known if found.cases and row[0] in found.cases}
    return replace(found, variants=names.require_all(f"variant of {head}", (variant,), mine))


def _operators(views: Views) -> list[str]:
    return [op for (op,) in views.fetch("SELECT DISTINCT unnest(list_concat(aten_ops, onnx_ops)) FROM variants")]


def _has_operator(views: Views, name: str) -> bool:
    return operator_key(name) in operator_keys(_operators(views))
