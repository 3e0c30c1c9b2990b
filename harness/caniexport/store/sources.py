"""The source of a variant, as a person would copy it: the form itself and the helpers of its file that it uses."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator

from caniexport.model.case import PLAIN

#: members of a case that are shown for its failing form, in this order
_PLAIN_MEMBERS = ("setup", "forward")
#: members of an environment case that are what is resolved, installed and run
_ENVIRONMENT_MEMBERS = ("python", "packages", "code")


class CaseSource:
    """The text of one case file, cut into the pieces that are shown."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._top: dict[str, ast.stmt] = {}
        for node in ast.parse(text).body:
            for name in bound_names(node):
                self._top[name] = node

    def code(self, class_name: str, variant: str) -> str:
        """Source of one variant, not indented: helpers of the file first, then its members."""
        members = self.members(class_name)
        shown = [members[name] for name in self._shown(members, variant) if name in members]
        helpers = [node for node in self.reached(shown) if not self._is_case(node)]
        return "\n\n".join(self.text(node) for node in [*helpers, *shown])

    def _shown(self, members: dict[str, ast.stmt], variant: str) -> Iterable[str]:
        if variant != PLAIN:
            return (variant,)
        return _PLAIN_MEMBERS if "forward" in members else _ENVIRONMENT_MEMBERS

    def members(self, class_name: str) -> dict[str, ast.stmt]:
        """Members of a class by name, with those of its base classes in this file."""
        node = self._top[class_name]
        found: dict[str, ast.stmt] = {}
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            if isinstance(base, ast.Name) and isinstance(self._top.get(base.id), ast.ClassDef):
                found.update(self.members(base.id))
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            found.update(dict.fromkeys(bound_names(item), item))
        return found

    def reached(self, nodes: Iterable[ast.AST]) -> list[ast.stmt]:
        """Top-level definitions of this file that ``nodes`` use, directly or through each other, in file order."""
        todo: list[ast.AST] = list(nodes)
        seen: dict[int, ast.stmt] = {}
        while todo:
            for name in _used(todo.pop()):
                node = self._top.get(name)
                if node is not None and node.lineno not in seen:
                    seen[node.lineno] = node
                    todo.append(node)
        return [seen[line] for line in sorted(seen)]

    def _is_case(self, node: ast.stmt) -> bool:
        """Whether a class is a case itself: a fix that names another case does not repeat it."""
        return isinstance(node, ast.ClassDef) and "forward" in self.members(node.name) and _has_inputs(node)

    def text(self, node: ast.stmt) -> str:
        """A statement with its decorators, not indented."""
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        return textwrap.dedent("\n".join(self._lines[first - 1 : node.end_lineno]))


def _has_inputs(node: ast.ClassDef) -> bool:
    return any("inputs" in bound_names(item) for item in node.body)


def _used(node: ast.AST) -> Iterator[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def bound_names(node: ast.stmt) -> list[str]:
    """Names that a statement binds: a definition's or an assignment's."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [item.id for target in node.targets for item in ast.walk(target) if isinstance(item, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
