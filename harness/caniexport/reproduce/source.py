"""What a variant takes from its case file: its module, the values that it sets, and the helpers that these use."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping
from functools import lru_cache

from caniexport.model.case import PLAIN, Variant
from caniexport.store.sources import CaseSource


class VariantSource:
    """The source text of one variant of one class.

    ``forward`` and ``setup`` are functions of the module (``def`` lines at the left margin, named ``forward`` and
    ``__init__``), ``plain`` is the failing form where a fix has a form of its own, ``reference`` the case's true
    values. What a fix sets (``patch``, ``export``, ``prepare``, ``surgery``) are expressions.
    """

    def __init__(self, text: str, variant: Variant) -> None:
        self._file = _parsed(text)
        self._text = text
        self._members = self._file.members(variant.case.__name__)
        self._fix = _keywords(self._members.get(variant.name)) if variant.name != PLAIN else {}
        self._used: list[ast.AST] = []
        self._methods: dict[str, str] = {}
        own = variant.name != PLAIN and isinstance(self._members.get(variant.name), ast.FunctionDef)
        self.forward = self._function(variant.name if own else "forward", "forward")
        self.plain = self._function("forward", "forward") if own else ""
        self.setup = self._function("setup", "__init__") if "setup" in self._members else ""
        self.reference = self._function("reference", "reference") if "reference" in self._members else ""

    def expression(self, name: str) -> str:
        """What the fix, or else the case, sets ``name`` to; a function's own name where it is a method. Else empty."""
        found = self._fix.get(name) or self._members.get(name)
        if isinstance(found, ast.FunctionDef):
            self._methods[name] = self._function(name, found.name)
            return found.name
        value = found.value if isinstance(found, ast.Assign | ast.AnnAssign) else found
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "staticmethod":
            value = value.args[0]
        if not isinstance(value, ast.expr):
            return ""
        self._used.append(value)
        return ast.get_source_segment(self._text, value) or ""

    def helpers(self) -> list[str]:
        """Definitions of the file that what was asked for so far uses, in the order of the file."""
        return [*find_definitions(self._text, self._used), *self._methods.values()]

    def _function(self, member: str, name: str) -> str:
        """A definition without its decorators, not indented, as ``name``."""
        node = self._members[member]
        assert isinstance(node, ast.FunctionDef)
        self._used += [node.args, *node.body]
        text = textwrap.dedent("\n".join(self._text.splitlines()[node.lineno - 1 : node.end_lineno]))
        return text.replace(f"def {node.name}(", f"def {name}(", 1)


@lru_cache(maxsize=8)
def _parsed(text: str) -> CaseSource:
    return CaseSource(text)


def find_definitions(text: str, used: Iterable[ast.AST]) -> list[str]:
    """What a file defines that ``used`` uses, directly or not, each with the comment lines right above it."""
    lines, file = text.splitlines(), _parsed(text)
    found = []
    for node in file.reached(used):
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))]) - 1
        start = first
        while start > 0 and lines[start - 1].startswith("#"):
            start -= 1
        found.append("\n".join([*lines[start:first], file.text(node)]))
    return found


def find_imports(texts: Mapping[str, set[str]]) -> set[str]:
    """The import lines at the top of some files that bind the names of each, one for each module; none of ours."""
    lines: set[str] = set()
    parts: dict[str, set[str]] = {}
    for node, names in ((node, names) for text, names in texts.items() for node in _import_nodes(text)):
        for item in node.names:
            module = item.name if isinstance(node, ast.Import) else node.module or ""
            bound = item.asname or item.name
            if isinstance(node, ast.Import) and bound.split(".")[0] in names:
                lines.add(f"import {ast.unparse(item)}")
            elif isinstance(node, ast.ImportFrom) and bound in names:
                parts.setdefault(module, set()).add(ast.unparse(item))
    return lines | {f"from {module} import {', '.join(sorted(found))}" for module, found in parts.items()}


@lru_cache(maxsize=8)
def _import_nodes(text: str) -> list[ast.Import | ast.ImportFrom]:
    found = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return [node for node in found if not re.match(r"(from|import) (caniexport|__future__)\b", ast.unparse(node))]


def _keywords(node: ast.stmt | None) -> dict[str, ast.expr]:
    """Keyword arguments of the ``fix(...)`` that makes a variant."""
    call: ast.expr | None = None
    if isinstance(node, ast.FunctionDef):
        call = node.decorator_list[0]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        call = node.value
    assert isinstance(call, ast.Call)
    return {word.arg: word.value for word in call.keywords if word.arg}
