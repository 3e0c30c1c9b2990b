"""Names and statements of a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


def dotted(node: ast.AST) -> str:
    """Return ``torch.onnx.export`` of a chain of names; the part after a call is kept."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def full_name(node: ast.AST, imports: Mapping[str, str]) -> str:
    """Return ``torch.onnx.export`` of a chain of names whose first one is imported."""
    first, dot, rest = dotted(node).partition(".")
    return f"{imports.get(first, first)}{dot}{rest}"


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below a node; expressions hold no statement and are not entered."""
    left = [tree]
    while left:
        node = left.pop()
        names = ("body", "orelse", "finalbody", "handlers", "cases")
        below = [item for name in names for item in getattr(node, name, ()) if not isinstance(node, ast.expr)]
        yield from below
        left += reversed(below)


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield names that are given one value: ``TORCH_VERSION = …``, with or without an annotation."""
    for node in statements(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the full name of what a file imports, by the name that it has there where that is another one."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((item.asname, item.name) for item in node.names if item.asname)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((item.asname or item.name, f"{node.module}.{item.name}") for item in node.names)
