"""Which fix the words of a question mean: the one whose name or note has the most of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from caniexport.match.errors import Lead
from caniexport.match.mentions import ENGLISH
from caniexport.match.words import WordIndex, name_operators, stems
from caniexport.model.case import PLAIN
from caniexport.operators import operator_key, operator_keys

#: how many words mean a fix by its note
_FEWEST = 2
#: what a name says of any fix
_OF_ANY = frozenset(("rewrit",))
#: the name of a fix, and the words that mean it
_Named = tuple[str, frozenset[str]]
_NONE: _Named = ("", frozenset())


def name_fix(where: WordIndex, words: Sequence[str], kept: Sequence[str], found: Sequence[Lead]) -> _Named:
    """The fix that ``words`` mean, as ``caniexport workaround`` is asked for it (``cross/stack_rewrite``, ``CASE/FIX``,
    ``FIX``), and those of the words that say so; empty where none does, or several do equally.

    It is one of all cases of an operator among them, else of those ``found``, which have the words ``kept``: of a fix
    the words find its case, and other cases that have them somewhere. A word of a case's title says which form is
    meant, and not which fix.
    """
    operators = name_operators(where, [word.casefold() for word in words])
    # beside another operator what is plain English, too, is none
    asked = [operator for operator in operators if operator not in ENGLISH] or operators
    of_operators = [_of_operator(where, operator, words, kept) for operator in asked]
    name, meant = max(of_operators, key=lambda found: len(found[1]), default=_NONE)
    if name:
        return name, meant
    named = next((lead.case for lead in found if lead.case in words), "")
    cases = {named} if named else {lead.case for lead in found}
    beside = [word for word in words if word != named and operator_key(word) not in map(operator_key, operators[:1])]
    variant, meant = _choose(where, cases, beside)
    if variant and not operators and not named and all(word in meant for word in kept):
        return variant, meant
    return (f"{next(iter(cases))}/{variant}", meant) if variant and len(cases) == 1 else _NONE


def _of_operator(where: WordIndex, operator: str, words: Sequence[str], kept: Sequence[str]) -> _Named:
    """The fix of an operator's cases that the other words mean, where none of the rest is in the title of one of these
    cases.
    """
    key = operator_key(operator)
    cases = {entry.case for entry in where.entries.values() if key in operator_keys(entry.ops)}
    beside = [word for word in words if operator_key(word) != key]
    variant, meant = _choose(where, cases, beside)
    rest = stems(" ".join(word for word in beside if word in kept and word not in meant))
    says_form = any(rest & stems(where.entries[case, PLAIN].title) for case in cases)
    return (f"{operator}/{variant}", meant) if variant and not says_form else _NONE


def _choose(where: WordIndex, cases: Collection[str], words: Sequence[str]) -> _Named:
    """The name of the fix of these cases that has the most of the words, and these; empty where several have them."""
    found = {
        key: meant
        for key, entry in where.entries.items()
        if entry.case in cases and entry.variant != PLAIN
        if (meant := _words_of_fix(words, entry.variant, entry.note, entry.title))
    }
    most = max(map(len, found.values()), default=0)
    best = [(variant, meant) for (_, variant), meant in found.items() if len(meant) == most]
    names = {variant for variant, _ in best}
    return (names.pop(), frozenset().union(*(meant for _, meant in best))) if len(names) == 1 else _NONE


def _words_of_fix(words: Sequence[str], variant: str, note: str, title: str) -> frozenset[str]:
    """Those of the words that are said of a fix, and not in the title of its case; none where they say too little."""
    name, told = stems(variant), stems(title)
    said = name | stems(note)
    found = frozenset(word for word in words if (mine := stems(word)) and mine <= said and not mine & told)
    spoken = frozenset(word for word in words if operator_key(word) == operator_key(variant))
    meant = stems(" ".join(found))
    return found | spoken if spoken or len(meant) >= _FEWEST or name - _OF_ANY <= meant else frozenset()
