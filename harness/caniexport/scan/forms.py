"""Forms of fixes, and where they are in a function: a piece is found where it fits a term, its variables being any."""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from textwrap import dedent
from typing import Any

from caniexport.answers.select import CatalogueEntry
from caniexport.home import packaged_list
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind
from caniexport.scan.normal import TermReader, functions, operator_of
from caniexport.scan.terms import CONSTANT, EITHER, VARIABLE, CodeTerm, bits, text, unique

_COMMUTING = frozenset({"add", "mul", "and", "or", "eq", "ne", "max", "min", "xor", "list", "stack", "cat"})
#: operators of which a piece has every argument
_WHOLE = frozenset({"index", "permute", "index_put", "where", "matmul"})
#: numbers that belong to a formula; any other is a size or a small quantity of its author's
_OF_FORMULAS = frozenset(
    {"-2", "-1", "0", "1", "2", "3", "6", "0.5", "-0.5", "0.1667", "0.2", "0.4343", "2.303", "1.702", "0.04472", "10"}
)

_LISTS = ("list", "stack", "cat")
_LIST_BITS = bits(_LISTS)

Binding = dict[int, object]
#: by operator: the pieces that begin with it, as (number, piece)
Candidates = Callable[[str], Sequence[tuple[int, CodeTerm]]]


def fits(piece: CodeTerm, term: CodeTerm) -> bool:
    """Whether a term is what a piece says, whatever the piece's variables stand for."""
    return (piece.ops & ~_LIST_BITS) & ~term.ops == 0 and _fit(piece, term, {}, root=True) is not None


def _fit(piece: CodeTerm, term: CodeTerm, bound: Binding, *, root: bool = False) -> Binding | None:
    if piece.op == VARIABLE:
        return _bind(piece, term, bound)
    if piece.op == CONSTANT:
        same = term.op == CONSTANT and (piece.name == term.name or not _tells(piece))
        return bound if same else None
    if term.op == EITHER:
        tried = (_fit(piece, item, bound, root=root) for item in term.args)
        return next((found for found in tried if found is not None), None)
    if piece.op != term.op and not (piece.op in _LISTS and term.op in _LISTS):
        return None
    if piece.op in _COMMUTING:
        return _fit_any_order(piece, term, bound, root=root)
    if len(piece.args) > len(term.args) or (piece.op in _WHOLE and len(piece.args) != len(term.args)):
        return None
    for mine, other in zip(piece.args, term.args, strict=False):
        found = _fit(mine, other, bound)
        if found is None:
            return None
        bound = found
    return bound


def _tells(constant: CodeTerm) -> bool:
    return constant.name in _OF_FORMULAS or constant.name[:1] in "'TF"


#: parts of a term above which no order of them is tried
_PARTS = 20


def _bind(piece: CodeTerm, term: CodeTerm, bound: Binding) -> Binding | None:
    before = bound.get(id(piece))
    if before is None:
        return {**bound, id(piece): term}
    return bound if before is term else None


def _fit_any_order(piece: CodeTerm, term: CodeTerm, bound: Binding, *, root: bool) -> Binding | None:
    """Each part of a piece fits another part of the term; what is left over belongs to a variable of the piece."""
    if len(term.args) > _PARTS:
        return None
    parts = [item for item in piece.args if item.op != VARIABLE]
    variables = [item for item in piece.args if item.op == VARIABLE]
    if len(piece.args) > len(term.args) and not variables:
        return None
    return _placed(parts, variables, list(term.args), bound, root or piece.op in ("list", "stack", "cat"))


def _placed(
    parts: Sequence[CodeTerm], variables: Sequence[CodeTerm], left: list[CodeTerm], bound: Binding, loose: bool
) -> Binding | None:
    if not parts:
        return _rest(variables, left, bound, loose)
    for number, item in enumerate(left):
        found = _fit(parts[0], item, bound)
        if found is not None:
            whole = _placed(parts[1:], variables, left[:number] + left[number + 1 :], found, loose)
            if whole is not None:
                return whole
    return None


def _rest(variables: Sequence[CodeTerm], left: list[CodeTerm], bound: Binding, loose: bool) -> Binding | None:
    free = []
    for variable in variables:
        before = bound.get(id(variable))
        if before is None:
            free.append(variable)
            continue
        taken = [before] if before in left else list(before.args) if isinstance(before, CodeTerm) else []
        if not taken or any(item not in left for item in taken):
            return None
        left = [item for item in left if item not in taken]
    if len(left) < len(free) or (left and not free and not loose):
        return None
    for variable, item in zip(free, left, strict=False):
        bound = {**bound, id(variable): item}
    return bound


#: a word that can only be the name of a function
_FUNCTION = re.compile(r"\w*[a-z]_[a-z]\w*")


@dataclass(frozen=True)
class FixForm:
    """What a fix looks like: its ``pieces`` with their weights. ``of`` is the package in which it is well known,
    ``needs`` what must stand beside it (nothing, "export", "exporter", "operator" or "beside"), ``failing`` whether it
    is the failing form.
    """

    case: str
    variant: str
    pieces: tuple[tuple[CodeTerm, float], ...]
    of: str = ""
    needs: str = ""
    failing: bool = False

    @property
    def called(self) -> frozenset[str]:
        """How the function is called in which it is well known; empty where :attr:`of` names none."""
        return frozenset(_FUNCTION.findall(self.of))

    @property
    def weight(self) -> float:
        """The weight of all pieces."""
        return sum(weight for _, weight in self.pieces)


@dataclass(frozen=True)
class Profile:
    """What is known of a case: the operators that it is about (``leads``), those that its failing form calls, those
    that only a fix calls (by fix), its words, and its failing form's terms.
    """

    case: str
    leads: frozenset[str]
    calls: frozenset[str]
    fixes: Mapping[str, frozenset[str]]
    words: frozenset[str]
    plain: tuple[CodeTerm, ...]


@dataclass(frozen=True)
class Knowledge:
    """All forms and profiles. ``rarity`` is how much a word of a case says, ``arguments`` the fixes of an
    argument, ``sayings`` what authors say of a fix.
    """

    forms: tuple[FixForm, ...]
    profiles: Mapping[str, Profile]
    rarity: Mapping[str, float]
    arguments: Mapping[str, tuple[tuple[str, str], ...]]
    sayings: tuple[tuple[re.Pattern[str], tuple[str, str], bool], ...]

    @cached_property
    def by_operator(self) -> Mapping[str, tuple[tuple[int, CodeTerm], ...]]:
        """The pieces that begin with an operator, as (number, piece)."""
        found: dict[str, list[tuple[int, CodeTerm]]] = defaultdict(list)
        for number, piece in enumerate(self.pieces):
            found[piece.op].append((number, piece))
        return {op: tuple(listed) for op, listed in found.items()}

    @cached_property
    def pieces(self) -> tuple[CodeTerm, ...]:
        """Every piece of a form or a failing form once."""
        every = [piece for form in self.forms for piece, _ in form.pieces]
        every += [piece for profile in self.profiles.values() for piece in profile.plain]
        return tuple({text(piece): piece for piece in every}.values())

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """By its text: the number of a piece."""
        return {text(piece): number for number, piece in enumerate(self.pieces)}

    @cached_property
    def operators(self) -> frozenset[str]:
        """Operators that cases are about."""
        return frozenset(op for profile in self.profiles.values() for op in profile.leads)

    def candidates(self, op: str) -> Sequence[tuple[int, CodeTerm]]:
        """The pieces that a term of this operator may be."""
        if op in _LISTS:
            every = [item for one in _LISTS for item in self.by_operator.get(one, ())]
            return [item for item in every if item[1].op in (op, "list") or item[1].weight > 1]
        return self.by_operator.get(op, ())

    def number(self, piece: CodeTerm) -> int:
        """The number of a piece."""
        return self.numbers[text(piece)]


def narrowed(candidates: Candidates, terms: Iterable[CodeTerm]) -> Candidates:
    """Of these pieces those whose operators are all in the terms."""
    there = _LIST_BITS
    for top in terms:
        there |= top.ops
    missing = ~there

    @cache
    def of(op: str) -> Sequence[tuple[int, CodeTerm]]:
        return [item for item in candidates(op) if not item[1].ops & missing]

    return of


def find(terms: Sequence[CodeTerm], candidates: Candidates) -> dict[int, list[int]]:
    """By piece that these terms have: the lines on which it is."""
    possible = narrowed(candidates, terms)
    found: dict[int, list[int]] = defaultdict(list)
    every = list(unique(terms))
    stacked = {tuple(map(id, term.args)) for term in every if term.op in _LISTS[1:]}
    for term in every:
        if term.op == "list" and tuple(map(id, term.args)) in stacked:
            continue  # what is stacked is told where it is stacked
        for number, piece in possible(term.op):
            if len(found.get(number, ())) < _LINES and fits(piece, term):
                found[number].append(term.line)
    return dict(found)


#: lines of one piece in one function
_LINES = 8


def learn(entries: Iterable[CatalogueEntry]) -> Knowledge:
    """Forms and profiles of the corpus, and the written ones."""
    cases: dict[str, list[CatalogueEntry]] = defaultdict(list)
    for entry in entries:
        cases[entry.case].append(entry)
    common = _common()
    forms = list(_written())
    profiles = {}
    for case, listed in cases.items():
        terms = {entry.variant: _terms(entry.code) for entry in listed}
        plain = terms.get(PLAIN, [])
        known = {text(term) for top in plain for term in top.below()}
        for entry in listed:
            if entry.kind in _REWRITES:
                forms += _derived(entry, terms[entry.variant], known, common)
        profiles[case] = _profile(listed, terms)
    counts = Counter(word for profile in profiles.values() for word in profile.words)
    rarity = {word: math.log(len(profiles) / count) for word, count in counts.items()}
    return Knowledge(tuple(forms), profiles, rarity, _arguments(cases), tuple(_sayings()))


def _arguments(cases: Mapping[str, Sequence[CatalogueEntry]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """By argument of the export call that some failing form gives: the fixes that leave it out."""
    found = {}
    for listed in cases.values():
        name = next((argument_of(entry) for entry in listed if entry.variant == PLAIN), "")
        if name:
            options = [entry for entry in listed if entry.kind == FixKind.EXPORT_OPTION.value and not entry.caution]
            found[name] = tuple((entry.case, entry.variant) for entry in options)
    return found


def argument_of(entry: CatalogueEntry) -> str:
    """The argument of the export call that a case is about, which its title names: ``export(aten=...)``."""
    match = _TITLE.search(entry.title)
    return (match["call"] or match["alone"]) if match else ""


_TITLE = re.compile(r"\bexport\((?P<call>\w+)=|^(?P<alone>\w+)=:")


_REWRITES = (FixKind.REWRITE.value, FixKind.MODULE_SWAP.value)
_WORD = re.compile(r"[a-z]+[0-9]*|[0-9]+")


def words_of(line: str) -> frozenset[str]:
    """The words of a text, its names taken apart."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", line)
    return frozenset(_SAME.get(word, word.rstrip("s")) for word in _WORD.findall(spaced.lower()) if len(word) > 2)


_SAME = {"fp16": "half", "float16": "half", "boolean": "bool", "bools": "bool", "longs": "int64", "long": "int64"}


def _terms(code: str) -> list[CodeTerm]:
    try:
        tree = ast.parse(dedent(code))
    except SyntaxError:
        return []
    return [term for function, scope in functions(tree) for term in TermReader(scope).read(function.body)]


def _operators(terms: Iterable[CodeTerm]) -> frozenset[str]:
    return frozenset(term.op for top in terms for term in top.below() if term.op not in (VARIABLE, CONSTANT))


def _profile(listed: Sequence[CatalogueEntry], terms: Mapping[str, Sequence[CodeTerm]]) -> Profile:
    first = listed[0]
    calls = _operators(terms.get(PLAIN, ()))
    aten = [operator_of(op) for op in first.ops if "::" in op]
    leads = frozenset(op for number, op in enumerate(aten) if number == 0 or op in calls)
    told = " ".join([first.case, first.title, *first.ops, *(f"{item.note} {item.variant}" for item in listed)])
    fixes = {entry.variant: _operators(terms[entry.variant]) - calls for entry in listed if entry.variant != PLAIN}
    plain = tuple(term for term in terms.get(PLAIN, ()) if term.weight >= 1)
    return Profile(first.case, leads, calls, fixes, words_of(told), plain)


def _derived(
    entry: CatalogueEntry, terms: Sequence[CodeTerm], plain: Container[str], common: Mapping[str, int]
) -> Iterator[FixForm]:
    """The form of a fix's own code: what its failing form does not have, common pieces weighing little."""
    pieces = {text(term): term for top in terms for term in top.below() if term.weight > 1}
    weighed = [
        (term, term.weight / (1 + common.get(line, 0)) ** 0.5) for line, term in pieces.items() if line not in plain
    ]
    if weighed:
        needs = "beside" if sum(weight for _, weight in weighed) >= _LEAST else "operator"
        yield FixForm(entry.case, entry.variant, tuple(weighed), needs=needs)


#: operators that a form without its author's words has at least, the common ones weighed down
_LEAST = 8.0


def _written() -> Iterator[FixForm]:
    for entry in _entries():
        case, _, variant = entry["fix"].partition("/")
        for key in ("code", "failing"):
            for code in entry.get(key, ()):
                piece = _piece(code)
                needs = entry.get("needs", "") if key == "code" else "operator" * bool(entry.get("code"))
                yield FixForm(
                    case, variant, ((piece, float(piece.weight)),), entry.get("of", ""), needs, key == "failing"
                )


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(packaged_list("forms.toml"))["form"]
    return entries


def _sayings() -> Iterator[tuple[re.Pattern[str], tuple[str, str], bool]]:
    """What authors say of a fix, with the fix, and whether that is enough without its operator."""
    for entry in _entries():
        case, _, variant = entry["fix"].partition("/")
        alone = entry.get("alone", False)
        yield from ((re.compile(line, re.IGNORECASE), (case, variant), alone) for line in entry.get("said", ()))


def _piece(code: str) -> CodeTerm:
    *before, last = ast.parse(code).body
    reader = TermReader()
    reader.read(before)
    assert isinstance(last, ast.Expr)
    return reader.term(last.value)


def _common() -> dict[str, int]:
    """By piece: in how many functions of real packages it is."""
    lines = packaged_list("common_pieces.txt").splitlines()
    return {line.partition(" ")[2]: int(line.partition(" ")[0]) for line in lines}
