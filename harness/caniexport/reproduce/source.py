"""What a variant takes from its case file: its module, the values it sets, and the helpers and imports these use."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from functools import lru_cache

from caniexport.model.case import PLAIN, Variant
from caniexport.store.sources import CaseSource

_OURS = "caniexport"


class VariantSource:
    """The source text of one variant of one class.

    ``forward`` and ``setup`` are functions of the module (``def`` lines at the left margin, named ``forward`` and
    ``__init__``), ``plain`` is the failing form where a fix has a form of its own, ``reference`` the case's true
    values. A fix's ``patch``, ``export``, ``prepare`` and ``surgery`` are expressions (:meth:`expression`).
    """

    def __init__(self, text: str, variant: Variant) -> None:
        self._file, self._top = _parsed(text)
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

    def expression(self, name: str) -> ast.expr | ast.FunctionDef | None:
        """What the fix, or else the case, sets ``name`` to; a function's definition where it is a method."""
        found = self._fix.get(name) or self._members.get(name)
        if isinstance(found, ast.FunctionDef):
            self._used += _without_decorators(found)
            self._methods[name] = self.function(found, found.name)
            return found
        value = _unwrapped(found.value) if isinstance(found, ast.Assign | ast.AnnAssign) and found.value else found
        if not isinstance(value, ast.expr):
            return None
        self._used.append(value)
        return value

    def segment(self, node: ast.AST) -> str:
        """The text of an expression; safe on several lines only within brackets."""
        return ast.get_source_segment(self._text, node) or ""

    def function(self, node: ast.FunctionDef, name: str) -> str:
        """A definition without its decorators, not indented, as ``name``."""
        lines = self._text.splitlines()[node.lineno - 1 : node.end_lineno]
        return textwrap.dedent("\n".join(lines)).replace(f"def {node.name}(", f"def {name}(", 1)

    def helpers(self) -> list[str]:
        """Definitions of the file that what was asked for so far uses, in the order of the file."""
        found = [_with_comment(self._text, node, self._file.text(node)) for node in self._file.reached(self._used)]
        return [*found, *self._methods.values()]

    def imports(self) -> list[str]:
        """Import lines of the file that all of this uses, and no others; none of the harness's."""
        names = {name for node in self._used for name in _names(node)}
        names |= {name for node in self._file.reached(self._used) for name in _names(node)}
        return [line for node in self._top for line in _import_lines(node, names)]

    def _function(self, member: str, name: str) -> str:
        node = self._members[member]
        assert isinstance(node, ast.FunctionDef)
        self._used += _without_decorators(node)
        return self.function(node, name)


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[CaseSource, list[ast.stmt]]:
    return CaseSource(text), ast.parse(text).body


def _keywords(node: ast.stmt | None) -> dict[str, ast.expr]:
    """Keyword arguments of the ``fix(...)`` that makes a variant."""
    call: ast.expr | None = None
    if isinstance(node, ast.FunctionDef):
        call = node.decorator_list[0]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        call = node.value
    assert isinstance(call, ast.Call)
    return {word.arg: word.value for word in call.keywords if word.arg}


def _unwrapped(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "staticmethod":
        return value.args[0]
    return value


def _without_decorators(node: ast.FunctionDef) -> Iterator[ast.AST]:
    yield node.args
    yield from node.body


def _names(node: ast.AST) -> Iterable[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def _with_comment(text: str, node: ast.stmt, shown: str) -> str:
    """A definition with the comment lines right above it."""
    lines = text.splitlines()
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))]) - 1
    start = first
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    return "\n".join([*lines[start:first], shown])


def _import_lines(node: ast.stmt, names: set[str]) -> Iterator[str]:
    """The part of an import that binds some of ``names``."""
    if isinstance(node, ast.Import):
        for item in node.names:
            if (item.asname or item.name.split(".")[0]) in names and item.name.split(".")[0] != _OURS:
                yield ast.unparse(ast.Import([item]))
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in (_OURS, "__future__"):
        kept = [item for item in node.names if (item.asname or item.name) in names]
        if kept:
            yield ast.unparse(ast.ImportFrom(node.module, kept, node.level))
