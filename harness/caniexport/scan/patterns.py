"""Workarounds as patterns of code: the rules in ``cases/scan_rules.yml``, matched by ast-grep.

Code and patterns are brought into one form before: names are spelled out (``F.relu6`` is
``torch.nn.functional.relu6``), and everything is laid out as Python's own ``ast.unparse`` does.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
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
_WORD = re.compile(r"(?<![$\w])[a-z_]\w{3,}")
#: names without which a file has no pattern, and that many files have
_EVERYWHERE = frozenset({"self", "torch", "functional"})


@dataclass(frozen=True)
class Rule:
    """A rule of ast-grep for a workaround, or with ``is_original`` for the form that it mends.

    ``words`` are names that code with the pattern has, of each alternative.
    """

    case: str
    variant: str
    is_original: bool
    config: Mapping[str, Any]
    words: tuple[frozenset[str], ...]

    def may_match(self, words: frozenset[str]) -> bool:
        """Whether code with these names may have the pattern."""
        return any(needed <= words for needed in self.words)


@dataclass(frozen=True)
class Match:
    """Where code has a rule's pattern, by lines of the file."""

    rule: Rule
    line: int


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
    return Rule(case, variant, entry.get("original", False), {"rule": config}, tuple(words))


def _canonical(pattern: str) -> str:
    """A pattern in the form of :func:`find`."""
    text = _HOLE.sub(lambda hole: f"__hole{len(hole[1])}_{hole[2]}", pattern)
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = ast.parse(_REST.sub(r", **\1)", text))
    tree = _Spelled(_IMPORTS).visit(tree)
    return _NAME.sub(lambda name: "$" * int(name[1]) + name[2], ast.unparse(tree))


def words_of(text: str) -> frozenset[str]:
    """The names in a file's text."""
    return frozenset(_WORD.findall(text))


def find(tree: ast.Module, words: frozenset[str], imports: Mapping[str, str]) -> Iterator[Match]:
    """Yield where a file has the pattern of a rule, the innermost places; the tree is changed."""
    wanted = [rule for rule in rules() if rule.may_match(words)]
    if not wanted:
        return
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    _Spelled({name: full for name, full in imports.items() if name not in stored}).visit(tree)
    text = ast.unparse(tree)
    lines = [
        (new.lineno, old.lineno)
        for new, old in zip(statements(ast.parse(text)), statements(tree), strict=True)
        if hasattr(new, "lineno") and hasattr(old, "lineno")
    ]
    lines.sort()
    root = SgRoot(text, "python").root()
    for rule in wanted:
        found = [(each.range().start.index, each.range().end.index, each) for each in root.find_all(dict(rule.config))]
        for begin, end, node in found:
            if not any((begin, end) != (first, last) and begin <= first and last <= end for first, last, _ in found):
                at = bisect_right(lines, (node.range().start.line + 1, 1 << 60)) - 1
                yield Match(rule, lines[at][1])


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
