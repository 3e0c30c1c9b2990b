"""Functions of a file that are a workaround of the corpus, word for word apart from their names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import dedent

from caniexport.answers.select import CatalogueEntry
from caniexport.model.case import PLAIN
from caniexport.scan.files import ParsedFile
from caniexport.scan.site import Site, SiteKind, site_at
from caniexport.scan.syntax import imported, statements

#: calls, sums and subscripts of the shortest body that counts: shorter ones stand in ordinary code, too
_LEAST = 6
#: what the case files import, by the name that their code uses
_IMPORTS = {"F": "torch.nn.functional", "nn": "torch.nn", "np": "numpy"}

Fix = tuple[str, str]
#: by the normal form of a body: the workarounds that have it
Known = Mapping[str, tuple[Fix, ...]]


@dataclass(frozen=True)
class Copy:
    """A site with the lines of its function."""

    site: Site
    first: int
    last: int


def learn(entries: Iterable[CatalogueEntry]) -> Known:
    """Return the bodies of the functions of all workarounds, without those that a failing form has as well."""
    found: dict[str, dict[Fix, None]] = defaultdict(dict)
    for entry in entries:
        try:
            tree = ast.parse(dedent(entry.code))
        except SyntaxError:
            continue
        for function in _functions(tree):
            if not entry.caution and _is_long(function):
                found[normal(function, _IMPORTS)][entry.case, entry.variant] = None
    return {body: tuple(fixes) for body, fixes in found.items() if all(variant != PLAIN for _, variant in fixes)}


def find(source: ParsedFile, known: Known, check: Callable[[], None]) -> Iterator[Copy]:
    """Yield the functions of a file that are known; ``check`` is called for each of its functions."""
    imports = dict(imported(source.tree))
    for function in _functions(source.tree):
        check()
        fixes = known.get(normal(function, imports), ()) if _is_long(function) else ()
        if fixes:
            site = site_at(source, function, SiteKind.COPY, name=function.name, fixes=fixes)
            yield Copy(site, function.lineno, function.end_lineno or function.lineno)


def normal(function: ast.FunctionDef, imports: Mapping[str, str]) -> str:
    """Return a body with its own names numbered, imported ones spelled out, and no docstring, import or annotation."""
    body = [item for item in _body(function) if not isinstance(item, ast.Import | ast.ImportFrom)]
    own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    for node in (item for statement in body for item in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            own.add(node.name)
    numbers: dict[str, str] = {}

    def text(value: object, owner: ast.AST, field: str) -> str:
        if isinstance(value, ast.AnnAssign) and value.value is not None:
            value = ast.Assign(targets=[value.target], value=value.value)
        if isinstance(value, ast.AST):
            parts = (text(getattr(value, name, None), value, name) for name in value._fields if name not in _LEFT_OUT)
            return f"{type(value).__name__}({','.join(parts)})"
        if isinstance(value, list):
            inner = _body(owner) if isinstance(owner, ast.FunctionDef) and field == "body" else value
            return f"[{','.join(text(item, owner, '') for item in inner)}]"
        if isinstance(value, str) and (type(owner), field) in _NAMES:
            return numbers.setdefault(value, f"v{len(numbers)}") if value in own else imports.get(value, value)
        return repr(value)

    return text(body, ast.Module(body=[], type_ignores=[]), "")


_NAMES = {(ast.Name, "id"), (ast.arg, "arg"), (ast.FunctionDef, "name")}
_LEFT_OUT = ("annotation", "returns", "type_comment", "type_params", "ctx", "kind")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in statements(tree) if isinstance(node, ast.FunctionDef))


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    return function.body[ast.get_docstring(function, clean=False) is not None :]


def _is_long(function: ast.FunctionDef) -> bool:
    counted = ast.Call | ast.BinOp | ast.Subscript
    return sum(isinstance(node, counted) for item in _body(function) for node in ast.walk(item)) >= _LEAST
