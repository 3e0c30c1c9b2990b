"""What a project depends on, as the cases that are about it: an operator list, a TOML list of cases."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from caniexport import names
from caniexport.answers.filters import Filters
from caniexport.answers.reading import CatalogueEntry, Key, load
from caniexport.answers.select import refuse_uncovered, select
from caniexport.answers.torch_operators import operators_beside
from caniexport.home import read_list
from caniexport.model.canaries import CANARY
from caniexport.model.case import PLAIN
from caniexport.model.errors import CorpusError
from caniexport.operators import is_operator_name, is_torch_name, operator_key, operator_keys, spellings
from caniexport.store import Dataset

_KEYS = ("cases", "ops", "themes")
_SHOWN = 8
_NONE_ABOUT = "nothing is known of {}: no case of the corpus is about it"


@dataclass(frozen=True)
class WantedFilters:
    """Filters that take what is depended on, what has to be said, and whether ``nothing`` of the corpus is about it;
    ``uncovered`` are the operators that no case is about.
    """

    filters: Filters
    notes: tuple[str, ...] = ()
    nothing: bool = False
    uncovered: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedCases:
    """Filters that take the cases that words name, the names that they have there, and the words that name none."""

    filters: Filters
    names: tuple[str, ...]
    others: tuple[str, ...]


def name_cases(words: Iterable[str], catalogue: Iterable[CatalogueEntry]) -> NamedCases:
    """The cases about one of these operators, by whatever name, or of one of these themes, as its name is written."""
    entries = [entry for entry in catalogue if entry.corpus != CANARY]
    by_key = {operator_key(op): op for entry in entries for op in entry.ops}
    themes = {entry.theme for entry in entries if entry.theme}
    named = list(dict.fromkeys(words))
    ops = tuple(dict.fromkeys(by_key[key] for word in named if (key := operator_key(word)) in by_key))
    of_themes = tuple(word for word in named if word in themes)
    known = tuple(dict.fromkeys((*ops, *of_themes)))
    others = tuple(word for word in named if operator_key(word) not in by_key and word not in themes)
    if not of_themes:
        return NamedCases(Filters(ops=ops), known, others)
    keys = operator_keys(ops)
    about = {entry.case for entry in entries if entry.theme in of_themes or keys & operator_keys(entry.ops)}
    return NamedCases(Filters(cases=tuple(sorted(about))), known, others)


def wanted(
    dataset: Dataset,
    filters: Filters,
    op_list: Path | None = None,
    cases: Path | None = None,
) -> WantedFilters:
    """The filters with what the files name: a case is taken that one of them names, or that has one of their operators.

    Operators that torch or onnx know and no case is about are noted. Raises :class:`UnknownName` for an operator or
    case that nobody knows, :class:`CorpusError` for a list that cannot be read.
    """
    filters, uncovered = _covered(dataset, filters)
    if op_list is None and cases is None:
        nothing = bool(uncovered) and not operator_keys(filters.ops) - operator_keys(uncovered)
        return WantedFilters(filters, _notes(uncovered), nothing, tuple(uncovered))
    listed = _listed(cases)
    ops = [*(read_ops(op_list) if op_list else ()), *listed["ops"]]
    _require_ops(dataset, ops)
    taken, without_case = _with_ops(load(dataset).catalogue, ops)
    uncovered += [op for op in without_case if op not in uncovered]
    if listed["cases"] or listed["themes"]:
        for asked in (Filters(cases=listed["cases"]), Filters(themes=listed["themes"])):
            if asked.any:
                taken |= {case for case, _ in select(load(dataset), asked).catalogue}
    narrowed = select(load(dataset), filters).catalogue if filters.any else load(dataset).catalogue
    both = tuple(sorted(taken & {case for case, _ in narrowed}))
    return WantedFilters(replace(filters, cases=both), _notes(uncovered), nothing=not both, uncovered=tuple(uncovered))


def _notes(uncovered: Sequence[str]) -> tuple[str, ...]:
    return (_NONE_ABOUT.format(names.some(uncovered, _SHOWN)),) if uncovered else ()


def _covered(dataset: Dataset, filters: Filters) -> tuple[Filters, list[str]]:
    """The filters without those of several operators that no case is about, and these. Where none of them has a case
    the filters stay as they are: :func:`select` refuses them, unless torch's own calls of one were measured.
    """
    catalogue = load(dataset).catalogue
    if len(filters.ops) > 1:
        _require_ops(dataset, filters.ops)
    _, uncovered = _with_ops(catalogue, filters.ops)
    known = tuple(op for op in filters.ops if op not in uncovered)
    if uncovered and not known and any(_has_calls(dataset, op) for op in uncovered):
        return filters, uncovered
    if not uncovered or not known:
        return filters, []
    return replace(filters, ops=known), uncovered


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


def read_ops(path: Path) -> list[str]:
    """The operators of a file, one a line, ``#`` begins a comment; where there is none, names between commas.

    Raises :class:`CorpusError`.
    """
    if "," in str(path) and not path.exists():
        return [name for name in map(str.strip, str(path).split(",")) if name]
    try:
        lines = read_list(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of operators ({error})") from error
    found = [text for text in (line.split("#")[0].strip() for line in lines) if text]
    if not found:
        raise CorpusError(f"{path}: it names no operator (one a line is wanted: aten::cross, GridSample)")
    return found


def _listed(path: Path | None) -> dict[str, tuple[str, ...]]:
    """The lists of a project's file: ``cases``, ``ops``, ``themes``."""
    if path is None:
        return dict.fromkeys(_KEYS, ())
    try:
        data = tomllib.loads(read_list(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise CorpusError(f"{path}: cannot be read as a list of cases ({error})") from error
    for key, value in data.items():
        names.require("key", key, _KEYS)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise CorpusError(f"{path}: {key} is a list of names")
    if not any(data.values()):
        raise CorpusError(f"{path}: it names nothing (cases = [...], ops = [...] or themes = [...] is wanted)")
    return {key: tuple(data.get(key, ())) for key in _KEYS}


def _require_ops(dataset: Dataset, ops: Sequence[str]) -> None:
    """An operator is one of the corpus, or one that the newest release's torch or onnx lists."""
    rows = load(dataset)
    spelled = dict.fromkeys(op for entry in rows.catalogue.values() for op in entry.ops)
    known = operator_keys(spelled)
    if all(operator_key(op) in known for op in ops):
        return
    known |= operator_keys(rows.declared)
    for op in ops:
        if operator_key(op) not in known and not is_operator_name(op) and not _has_calls(dataset, op):
            raise names.unknown("op", op, spellings((*spelled, *rows.declared)))


def _has_calls(dataset: Dataset, op: str) -> bool:
    """Whether torch's own calls of an operator were measured."""
    summary = operators_beside(dataset)
    return summary is not None and bool(summary.called(op))


def _with_ops(catalogue: dict[Key, CatalogueEntry], ops: Sequence[str]) -> tuple[set[str], list[str]]:
    """The cases that are about one of these operators, and the operators that none is about."""
    covered: dict[str, set[str]] = {}
    for (case, _), entry in catalogue.items():
        for op in entry.ops if entry.corpus != CANARY else ():
            covered.setdefault(operator_key(op), set()).add(case)
    taken: set[str] = set().union(*(covered.get(operator_key(op), set()) for op in ops))
    return taken, list(dict.fromkeys(op for op in ops if operator_key(op) not in covered))
