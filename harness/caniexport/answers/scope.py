"""What a question is about: cases by their name, theme or operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caniexport import names
from caniexport.model.errors import UnknownName
from caniexport.operators import is_operator_name, operator_key, operator_keys, spellings
from caniexport.store import sql
from caniexport.store.views import Views


@dataclass(frozen=True)
class Scope:
    """The cases that are asked about; ``None`` for all. ``ops`` are the operators named, ``uncovered`` those of them
    that no case is about.
    """

    cases: frozenset[str] | None = None
    ops: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """The same as SQL on the column ``case`` of the relation ``o``."""
        if self.cases is None:
            return "true"
        return f"""o."case" IN ({", ".join(map(sql.literal, sorted(self.cases))) or "NULL"})"""


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
        if not is_operator_name(op):
            raise names.unknown("op", op, spellings({item for _, _, having in known for item in having or ()}))
    wanted = operator_keys(ops)
    taken &= {case for case, keys in about.items() if keys & wanted}
    return Scope(frozenset(taken), tuple(ops), uncovered)


def require_cases(found: Scope) -> None:
    """Refuse a scope in which no case is left. Raises :class:`UnknownName`."""
    if found.cases is not None and not found.cases and not found.uncovered:
        raise UnknownName("no case has all that was asked for: name fewer cases, themes or operators")
