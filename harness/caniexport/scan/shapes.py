"""The expressions of the corpus's rewrites, recognised in other people's code whatever the names and numbers are."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent

from caniexport.answers.select import CatalogueEntry
from caniexport.model.case import PLAIN
from caniexport.model.status import FixKind

#: nodes and calls below which an expression is anybody's
_NODES, _CALLS = 14, 2
_REWRITES = (FixKind.REWRITE.value, FixKind.MODULE_SWAP.value)


@dataclass(frozen=True)
class Shapes:
    """By skeleton: the fixes that have it, as (case, variant)."""

    known: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @cached_property
    def _called(self) -> frozenset[str]:
        """What the known expressions call outermost: of most calls in a tree it is enough to look at that."""
        return frozenset(text.partition("(")[0] for text in self.known)

    def of(self, node: ast.Call) -> tuple[tuple[str, str], ...]:
        """The fixes whose expression this is; empty for none."""
        if _name(node) not in self._called or not _large(node):
            return ()
        return self.known.get(skeleton(node), ())


def shapes(entries: Iterable[CatalogueEntry]) -> Shapes:
    """The skeletons of all rewrites that no failing form has too."""
    fixes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    plain: set[str] = set()
    for entry in entries:
        for node in _values(entry.code):
            if entry.variant == PLAIN:
                plain.add(skeleton(node))
            elif entry.kind in _REWRITES and (entry.case, entry.variant) not in fixes[skeleton(node)]:
                fixes[skeleton(node)].append((entry.case, entry.variant))
    return Shapes({text: tuple(found) for text, found in fixes.items() if text not in plain})


def skeleton(node: ast.AST) -> str:
    """An expression without its names and numbers: what is called stays."""
    if isinstance(node, ast.Name):
        return "_"
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.Call):
        function, name = node.func, _name(node)
        own = isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name)
        parts = [skeleton(function.value)] if own and isinstance(function, ast.Attribute) else []
        parts += map(skeleton, node.args)
        parts += sorted(f"{word.arg}={skeleton(word.value)}" for word in node.keywords)
        return f"{name}({','.join(parts)})"
    parts = [skeleton(item) for item in ast.iter_child_nodes(node) if not isinstance(item, ast.expr_context)]
    return f"{type(node).__name__}({','.join(parts)})"


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "_")


def _large(node: ast.AST) -> bool:
    nodes = [item for item in ast.walk(node) if isinstance(item, ast.expr)]
    return len(nodes) >= _NODES and sum(isinstance(item, ast.Call) for item in nodes) >= _CALLS


def _values(code: str) -> list[ast.Call]:
    """The calls of a variant's code that are large enough to be its own, inner ones too."""
    try:
        tree = ast.parse(dedent(code))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _large(node)]
