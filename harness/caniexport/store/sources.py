"""The source of a variant, as a person would copy it: the form itself and the helpers of its file that it uses."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable

from caniexport.model.case import PLAIN
from caniexport.model.casehash import CaseText, bound_names

#: members of a case that are shown for its failing form, in this order
_PLAIN_MEMBERS = ("setup", "forward")
#: members of an environment case that are what is resolved, installed and run
_ENVIRONMENT_MEMBERS = ("python", "packages", "code")


class CaseSource(CaseText):
    """The text of one case file, cut into the pieces that are shown."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._lines = text.splitlines()

    def code(self, class_name: str, variant: str) -> str:
        """Source of one variant, not indented: helpers of the file first, then its members."""
        members = self.members(class_name)
        names: tuple[str, ...] = (variant,)
        if variant == PLAIN:
            names = _PLAIN_MEMBERS if "forward" in members else _ENVIRONMENT_MEMBERS
        shown = [members[name] for name in names if name in members]
        helpers = [node for node in self.reached(shown) if not self._is_case(node)]
        return "\n\n".join(self.text(node) for node in [*helpers, *shown])

    def reached(self, nodes: Iterable[ast.AST]) -> list[ast.stmt]:
        """Top-level definitions of this file that ``nodes`` use, directly or through each other, in file order."""
        found = {node.lineno: node for node in self.reach(nodes).values()}
        return [found[line] for line in sorted(found)]

    def _is_case(self, node: ast.stmt) -> bool:
        """Whether a class is a case itself: a fix that names another case does not repeat it."""
        if not isinstance(node, ast.ClassDef) or "forward" not in self.members(node.name):
            return False
        return any("inputs" in bound_names(item) for item in node.body)

    def text(self, node: ast.stmt) -> str:
        """A statement with its decorators, not indented."""
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        return textwrap.dedent("\n".join(self._lines[first - 1 : node.end_lineno]))
