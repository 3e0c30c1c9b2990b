"""Writes ``cases/sentences.txt``: sentences of torch's own that are said of one operator and do not name it.

``python benchmarks/matcher/make_sentences.py WHEEL...`` reads wheels of torch and of onnxscript as text (of several
releases, fetched by ``pip download --no-deps``), and imports nothing of them. A sentence is what a function raises,
asserts, checks or warns of; its operator is the one that the function is registered for, else the one that it is named
after; a helper's are those of the functions that call it. Kept are parts of sentences that say something by themselves,
have a rare word, are said of at most three operators, and stand nowhere else in these packages, nor in a measured error
of another operator. A line is the operators, a tab, and the part in lower case.

Of the installed onnx it takes the attributes that one operator alone has.

It was made of torch 1.4.0, 1.8.1, 1.13.1, 2.5.1, 2.9.1 and 2.15.0, of onnxscript 0.1.0 to 0.7.2 (seven releases)
and of onnx 1.23.2.
"""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import caniexport
from caniexport.corpus.lint import torch_operators
from caniexport.match.error_index import KnownError, index_errors
from caniexport.match.evidence import read_error, speaks_alone
from caniexport.match.sentences import anchor, find_parts, index_parts, normal
from caniexport.operators import operator_key, operator_keys

CASES = Path(__file__).parents[2] / "cases"
TARGET = CASES / "sentences.txt"
#: files whose functions are named after operators, and those with helpers only
_NAMED = re.compile(
    r"torch/(?:onnx/(?:_internal/torchscript_exporter/)?symbolic(?:_opset\d+)?|functional|nn/functional|_meta_registrations"
    r"|_refs/(?:\w+/)*\w+|_decomp/\w+)\.py$|torch_?lib/ops/\w+\.py$"
)
_FUNCTIONAL = re.compile(r"torch/(?:nn/)?functional\.py$")
_HELPERS = re.compile(r"symbolic_helper\.py$|_prims_common/\w+\.py$")
_TELLS = re.compile(r"check|unimpl|unsupported|warn|fail|error|raise", re.IGNORECASE)
_REGISTERED = re.compile(r"(?:aten|prims|torchvision|quantized)::\w+$")
_HOLES = re.compile(r"%[sdrif]|\{[^{}]*\}|\x00|\n")
_ADVISES = re.compile(r"^(?:please|consider) |github|feature request")
_WORD = re.compile(r"[a-z0-9_][\w-]*")
_MOST_OPERATORS = 3
#: a word that the texts of more functions have tells nothing of what a sentence is about
_FEW_FUNCTIONS = 60
#: what a function's name has beside its operator's
_BESIDE = re.compile(r"^(?:meta_|aten_|prims_)")


@dataclass
class Function:
    """A function of a source: its operators, the functions that it calls, what it tells, and all of its texts."""

    name: str
    file: str
    operators: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def read_functions(name: str, source: str, operators: frozenset[str]) -> Iterator[Function]:
    """Each function of a file that is in no other function; ``operators`` are torch's, by their keys."""
    for node in _outer_functions(ast.parse(source)):
        found = Function(node.name, name)
        if _NAMED.search(name):
            registered = {op for each in node.decorator_list for op in _registered(each)}
            op = f"aten::{_BESIDE.sub('', node.name)}"
            is_named = bool(_FUNCTIONAL.search(name)) or operator_key(op) in operators
            found.operators = registered or ({op} if is_named and not node.name.startswith("_") else set())
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                found.calls.add(_last(inner.func))
            found.told.update(_told(inner))
            found.texts.update(_texts(inner))
        yield found


def _outer_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        else:
            yield from _outer_functions(node)


def _registered(decorator: ast.expr) -> Iterator[str]:
    """The operators of ``@_onnx_symbolic("aten::norm")``, ``@register_meta([aten.take.default])``."""
    for node in ast.walk(decorator):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _REGISTERED.match(node.value):
            yield node.value
        if isinstance(node, ast.Attribute) and _last(node.value) in ("aten", "prims"):
            yield f"{_last(node.value)}::{node.attr}"


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _told(node: ast.AST) -> Iterator[str]:
    """The texts of what is raised, asserted, checked or warned of."""
    tells: list[ast.AST | None] = []
    if isinstance(node, ast.Raise):
        tells = [node.exc]
    elif isinstance(node, ast.Assert):
        tells = [node.msg]
    elif isinstance(node, ast.Call) and _TELLS.search(_last(node.func)):
        tells = list(node.args)
    for each in filter(None, tells):
        for inner in ast.walk(each):
            yield from _texts(inner)


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\x00" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def spread(functions: Iterable[Function]) -> None:
    """Give each helper the operators of the functions that call it."""
    by_name: dict[tuple[str, str], list[Function]] = defaultdict(list)
    known = list(functions)
    helpers = {id(function) for function in known if not function.operators}
    for function in known:
        by_name[function.file, function.name].append(function)
        if _HELPERS.search(function.file):
            by_name["", function.name].append(function)
    changed = True
    while changed:
        changed = False
        for caller in known:
            for name in caller.calls if caller.operators else ():
                for called in by_name.get((caller.file, name), []) + by_name.get(("", name), []):
                    if id(called) in helpers and not caller.operators <= called.operators:
                        called.operators |= caller.operators
                        changed = True


def parts(text: str) -> Iterator[str]:
    """The parts of a text between what is filled in that say something by themselves."""
    for part in _HOLES.split(text):
        whole = normal(part)
        for each in (whole, *(whole.split(": ") if ": " in whole else ())):
            told = each.strip(" .,:;()[]'\"")
            if speaks_alone(told) and anchor(told) and not _ADVISES.search(told):
                yield told


def choose(functions: Iterable[Function]) -> dict[str, frozenset[str]]:
    """The operators of each part of a sentence that is said of few, and nowhere else."""
    known = list(functions)
    found: dict[str, set[str]] = defaultdict(set)
    for function in known:
        for part in (part for text in function.told for part in parts(text)):
            found[part] |= function.operators
    rare = rare_words(known)
    few = {
        part: {op for op in ops if not op.endswith("_backward")}
        for part, ops in found.items()
        if 0 < len(operator_keys(ops)) <= _MOST_OPERATORS and rare & set(_WORD.findall(part))
    }
    few = {part: ops for part, ops in few.items() if ops}
    index = index_parts((part, ()) for part in few)
    elsewhere: set[str] = set()
    for function in known:
        keys = operator_keys(function.operators or {_BESIDE.sub("", function.name).strip("_")})
        for text in function.texts:
            for part, _ in find_parts(index, normal(text)):
                if not keys & operator_keys(few[part]):
                    elsewhere.add(part)
    return {part: frozenset(ops) for part, ops in few.items() if part not in elsewhere}


def without_measured_of_others(
    chosen: dict[str, frozenset[str]], known: Iterable[KnownError]
) -> dict[str, frozenset[str]]:
    """Without parts that stand in the error of another operator."""
    index = index_parts((part, ()) for part in chosen)
    others = {
        part
        for item in known
        for reason in (read_error(item.seen.text).reasons if item.key else ())
        for part, _ in find_parts(index, normal(reason.text))
        if item.key not in operator_keys(chosen[part])
    }
    return {part: ops for part, ops in chosen.items() if part not in others}


def rare_words(functions: Iterable[Function]) -> set[str]:
    """The words that the texts of few functions have."""
    found: dict[str, set[str]] = defaultdict(set)
    for function in functions:
        for word in _WORD.findall(normal("\n".join(function.texts))):
            found[word].add(function.name)
    return {word for word, names in found.items() if len(names) <= _FEW_FUNCTIONS}


def shortest(chosen: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Without parts that have another one of the same operators among their words."""
    index = index_parts((part, ()) for part in chosen)
    kept = {}
    for part, ops in chosen.items():
        others = (other for other, _ in find_parts(index, part) if other != part)
        if not any(operator_keys(chosen[other]) <= operator_keys(ops) for other in others):
            kept[part] = ops
    return kept


def attributes() -> dict[str, frozenset[str]]:
    """The operator of each attribute that no other operator of ONNX's standard has, in any version of it."""
    import onnx.defs

    found: dict[str, set[str]] = defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        for name in schema.attributes if not schema.domain else ():
            found[name].add(schema.name)
    return {name: frozenset(ops) for name, ops in found.items() if len(ops) == 1}


def main() -> int:
    functions: list[Function] = []
    operators = operator_keys(torch_operators(CASES))
    for wheel in sys.argv[1:]:
        with zipfile.ZipFile(wheel) as file:
            names = [name for name in file.namelist() if name.endswith(".py") and "/test" not in name]
            every = [found for name in names for found in read_functions(name, file.read(name).decode(), operators)]
        spread(every)
        functions += every
    chosen = shortest(without_measured_of_others(choose(functions), index_errors(caniexport.open()).known))
    chosen |= attributes()
    lines = []
    for part, ops in chosen.items():
        by_key: dict[str, str] = {}
        for op in sorted(ops, key=lambda op: (len(op), op)):
            by_key.setdefault(operator_key(op), op)
        lines.append(f"{' '.join(by_key.values())}\t{part}\n")
    TARGET.write_text("".join(sorted(lines)), encoding="utf-8")
    print(f"{len(lines)} sentences of {len(functions)} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
