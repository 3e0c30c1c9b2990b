"""Workarounds as patterns of code: the rules in ``cases/scan_rules.yml``, matched by ast-grep.

Code and patterns are brought into one form before: names are spelled out (``F.relu6`` is
``torch.nn.functional.relu6``), and everything is laid out as Python's own ``ast.unparse`` does.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from ast_grep_py import SgRoot

from caniexport.home import packaged_list
from caniexport.scan.syntax import statements

#: how patterns import what they name
_IMPORTS = {"F": "torch.nn.functional", "nn": "torch.nn", "np": "numpy"}
#: ``$X`` and ``$$$X`` as names of Python, while a pattern is parsed
_HOLE = re.compile(r"(\$+)([A-Z0-9]*)")
_NAME = re.compile(r"(?:\*\*)?__hole(\d)_(\w*)")
#: behind a keyword Python has no place for further arguments but ``**``
_REST = re.compile(r", (__hole3_\w*)\)")
_WORD = re.compile(r"(?<![$\w])[A-Za-z_]\w{2,}")
_KINDS = {ast.FunctionDef: "function_definition", ast.ClassDef: "class_definition"}
#: names without which a file has no pattern, and that many files have
_EVERYWHERE = frozenset({"self", "torch", "functional"})


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule of ast-grep for a workaround, or with ``is_original`` for the original code.

    ``words`` has the names that code must have to match, by alternative.
    """

    case: str
    variant: str
    is_original: bool
    config: Any
    words: tuple[frozenset[str], ...]


@cache
def rules() -> tuple[Rule, ...]:
    """The published rules."""
    return tuple(map(_rule, yaml.safe_load(packaged_list("scan_rules.yml"))))


def _rule(entry: Mapping[str, Any]) -> Rule:
    case, _, variant = entry["workaround"].partition("/")
    patterns = [_canonical(text) for text in entry.get("any") or entry["all"]]
    words = [frozenset(_WORD.findall(pattern)) - _EVERYWHERE for pattern in patterns]
    # ast-grep wants the comma before further arguments
    each = [{"any": [{"pattern": text} for text in (pattern, pattern.replace(", $$$)", ")"))]} for pattern in patterns]
    config: dict[str, Any] = {"any": each}
    if "all" in entry:
        config = {"kind": entry["within"], "all": [{"has": {**part, "stopBy": "end"}} for part in each]}
        words = [frozenset().union(*words)]
    constraints = {name: {"regex": regex} for name, regex in entry.get("where", {}).items()}
    whole = {"rule": config, "constraints": constraints}
    return Rule(case, variant, entry.get("original", False), whole, tuple(words))


def _canonical(pattern: str) -> str:
    """A pattern in the form of :func:`find`."""
    text = _HOLE.sub(lambda hole: f"__hole{len(hole[1])}_{hole[2]}", pattern)
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = ast.parse(_REST.sub(r", **\1)", text))
    tree = _Spelled(_IMPORTS).visit(tree)
    return _NAME.sub(lambda name: "$" * int(name[1]) + name[2], ast.unparse(tree))


class NamesByLine:
    """The names in a text by line, so that code is only laid out where a pattern may be."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._at: dict[str, list[int]] = {}
        for number, line in enumerate(lines, 1):
            for word in set(_WORD.findall(line)):
                self._at.setdefault(word, []).append(number)

    def with_rarest(self, words: frozenset[str]) -> Sequence[int]:
        """Return the lines that have the rarest of some names; empty where one of the names is nowhere."""
        return min((self._at.get(word, ()) for word in words), key=len)

    def have(self, words: frozenset[str], first: int, last: int) -> bool:
        """Whether each of some names is in the lines from ``first`` to ``last``."""
        found = (self._at.get(word, ()) for word in words)
        return all((at := bisect_left(lines, first)) < len(lines) and lines[at] <= last for lines in found)


@dataclass(frozen=True, eq=False)
class _Unit:
    """Code that is looked at together: a statement without those below it, or a whole function or class."""

    parts: tuple[ast.AST, ...]
    first: int
    last: int


def find(tree: ast.Module, lines: NamesByLine, imports: Mapping[str, str]) -> Iterator[tuple[Rule, int]]:
    """Yield each rule that matches, and the line of the statement, function or class.

    ``imports`` has the full name of each imported name. Changes the tree: names in it are spelled out.
    """
    wanted = [(rule, words) for rule in rules() for words in rule.words if lines.with_rarest(words)]
    if not wanted:
        return
    units, wholes = _units(tree)
    may: dict[_Unit, dict[Rule, None]] = {}
    for rule, words in wanted:
        kind = rule.config["rule"].get("kind")
        by_line = (unit for line in lines.with_rarest(words) for unit in units.get(line, ()))
        for unit in wholes.get(kind, ()) if kind else by_line:
            if lines.have(words, unit.first, unit.last):
                may.setdefault(unit, {})[rule] = None
    spell = _Spelled(imports)
    for unit, found in may.items():
        root = SgRoot("\n".join(ast.unparse(spell.visit(part)) for part in unit.parts), "python").root()
        nodes = [(rule, node.range()) for rule in found if (node := root.find(rule.config))]
        spans = {(span.start.index, span.end.index) for _, span in nodes}
        for rule, span in nodes:
            own = span.start.index, span.end.index
            # a hard sigmoid within a hard swish is none of its own
            if not any(first <= own[0] and own[1] <= last for first, last in spans - {own}):
                yield rule, unit.first


def _units(tree: ast.Module) -> tuple[Mapping[int, Sequence[_Unit]], Mapping[str, Sequence[_Unit]]]:
    """The statements by line, and the functions and classes by what ast-grep calls them."""
    units: dict[int, list[_Unit]] = {}
    wholes: dict[str, list[_Unit]] = {}
    for node in statements(tree):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if kind := _KINDS.get(type(node)):
            wholes.setdefault(kind, []).append(_Unit((node,), first, last))
        parts: tuple[ast.AST, ...] = (node,)
        if hasattr(node, "body"):
            parts = tuple(item for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr | ast.withitem))
            last = max((getattr(item, "end_lineno", first) for item in parts), default=first)
        unit = _Unit(parts, first, last)
        for line in range(first, last + 1) if parts else ():
            units.setdefault(line, []).append(unit)
    return units, wholes


class _Spelled(ast.NodeTransformer):
    """Spells imported names out, and whole numbers without a point."""

    def __init__(self, imports: Mapping[str, str]) -> None:
        self._imports = imports

    def visit_Name(self, node: ast.Name) -> ast.expr:
        full = self._imports.get(node.id)
        return ast.copy_location(ast.parse(full, mode="eval").body, node) if full else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        whole = isinstance(node.value, float) and node.value.is_integer() and abs(node.value) < 1 << 31
        return ast.copy_location(ast.Constant(int(node.value)), node) if whole else node  # type: ignore[arg-type]
