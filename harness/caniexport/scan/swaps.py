"""What a file puts in the place of something else for an export: a second function or class beside the ordinary one, a
function of torch or a module's forward that is assigned, modules that are exchanged, and old lines kept as comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from caniexport.scan import backends
from caniexport.scan.branches import span
from caniexport.scan.files import ParsedFile
from caniexport.scan.normal import dotted, every_statement, operator_of
from caniexport.scan.sides import LONG, left_out, own_left_out
from caniexport.scan.told import Told, ToldPlace
from caniexport.scan.wording import is_code, last_name, speaks_of_export

Function = ast.FunctionDef
#: words of a name that only say that it is there for an export
_FOR_EXPORT = frozenset(
    "onnx export exportable exporting for jit trace traced tracing traceable friendly compatible compat safe to "
    "torchscript scriptable ort".split()
)
_TELLS = frozenset("onnx export exportable exporting jit trace tracing traceable torchscript scriptable".split())
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
#: a function of torch, and a module's forward
_OF_TORCH = re.compile(
    r"^(?:(?:torch(?:\.(?:Tensor|nn\.functional|functional|linalg|fft|special|ops\.\w+))?|(?:nn\.functional|F))\.(?P<function>\w+)"
    r"|(?:\w+\.)*(?P<module>[A-Z]\w+)\.forward)$"
)
_MODULES = ("nn.", "torch.nn.")
#: what functions are called that put one module in the place of another
_EXCHANGES = re.compile(r"replac|swap|exchang|convert|substitut|patch", re.IGNORECASE)
#: what a kept line may begin with
_BEFORE = re.compile(r"^#+\s*(?:original|originally|old|was|before|previously)?:?\s*", re.IGNORECASE)
#: a path of what is there for an export
_OF_EXPORT = re.compile(r"onnx|export|deploy", re.IGNORECASE)
#: lines around an assignment whose words are about it
_AROUND = 4


def swapped(source: ParsedFile, known: Collection[str]) -> Iterator[ToldPlace]:
    """Every such place of a file."""
    yield from _counterparts(source.tree, known)
    yield from _assigned(source, known)
    yield from _exchanged(source, known)
    yield from _kept_lines(source, known)


def _counterparts(tree: ast.Module, known: Collection[str]) -> Iterator[ToldPlace]:
    """Functions for an export beside ordinary ones of the same name, and methods of such classes."""
    for block in [tree.body, *(node.body for node in every_statement(tree) if isinstance(node, ast.ClassDef))]:
        named: dict[tuple[str, ...], Function | ast.ClassDef] = {}
        for node in block:
            if isinstance(node, Function | ast.ClassDef) and node.name != "__init__" and not _is_for_export(node):
                named[_bare(node.name)] = node
        for node in block:
            if isinstance(node, Function | ast.ClassDef) and _is_for_export(node):
                yield from _beside(node, named, known)


def _beside(
    node: Function | ast.ClassDef, named: Mapping[tuple[str, ...], Function | ast.ClassDef], known: Collection[str]
) -> Iterator[ToldPlace]:
    bases = [last_name(base) for base in getattr(node, "bases", [])]
    others = [named.get(_bare(node.name)), *(item for item in named.values() if item.name in bases)]
    other = next(filter(None, others), None)
    if isinstance(node, Function) and isinstance(other, Function):
        pairs = [(node, other)]
    elif isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
        methods = {item.name: item for item in other.body if isinstance(item, Function) and item.name[:2] != "__"}
        pairs = [
            (item, methods[item.name]) for item in node.body if isinstance(item, Function) and item.name in methods
        ]
    else:
        pairs = []
    for ours, ordinary in pairs:
        short = _is_short(ours) and _is_short(ordinary)
        missing = (
            left_out(ours.body, ordinary.body, known, rare_only=True)
            if short
            else own_left_out(ours.body, ordinary.body, known)
        )
        if missing:
            said = " ".join([*_parts(node.name), *_parts(ours.name)])
            yield ToldPlace(
                ours.lineno, ours.lineno, ours.end_lineno or 0, Told.NAME, said, instead=span(ordinary.body),
                asked=True, left_out=missing, runtime=backends.of_name(node.name),
            )  # fmt: skip


def _is_short(function: Function) -> bool:
    first, last = span(function.body)
    return last - first <= 2 * LONG


def _is_for_export(node: Function | ast.ClassDef) -> bool:
    """Whether a name says that something is there for an export, or for another runtime."""
    return bool(set(_parts(node.name)) & _TELLS) or bool(backends.of_name(node.name))


def _parts(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _bare(name: str) -> tuple[str, ...]:
    return tuple(word for word in _parts(name) if word not in _FOR_EXPORT and not backends.of_name(word))


def _assigned(source: ParsedFile, known: Collection[str]) -> Iterator[ToldPlace]:
    """``torch.tril = own``, ``setattr(F, "silu", own)``, ``nn.LayerNorm.forward = own``."""
    functions = {item.name: item for item in every_statement(source.tree) if isinstance(item, Function)}
    for node, inside in _within(source.tree):
        path, given = _put(node)
        operator = _of_torch(path)
        own = functions.get(last_name(given)) if given is not None else None
        if operator not in known or own is None:
            continue
        if _speaks(source, node, own) or (inside is not None and _names_export(source, inside)):
            said = f"{path} {ast.get_docstring(own) or ''}"
            yield ToldPlace(
                own.lineno, own.lineno, own.end_lineno or own.lineno, Told.PATCH, said, frozenset([operator]),
                avoided=frozenset([operator]),
            )  # fmt: skip


def _within(tree: ast.Module) -> Iterator[tuple[ast.stmt, Function | None]]:
    """Each statement with the innermost function that it is in."""
    left: list[tuple[ast.AST, Function | None]] = [(tree, None)]
    while left:
        parent, inside = left.pop()
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.stmt):
                yield child, inside
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                left.append((child, child if isinstance(child, Function) else inside))


def _put(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """The path that a statement puts something at, and what it is."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
        return dotted(node.targets[0]), node.value
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and last_name(call.func) == "setattr" and len(call.args) == 3:
        name = str(call.args[1].value) if isinstance(call.args[1], ast.Constant) else ""
        return f"{dotted(call.args[0])}.{name}", call.args[2]
    return "", None


def _of_torch(path: str) -> str:
    """The operator of torch at a path."""
    match = _OF_TORCH.match(path)
    return operator_of(match["function"] or match["module"]) if match else ""


def _speaks(source: ParsedFile, *nodes: ast.stmt) -> bool:
    """Whether these statements, or the lines right around them, have a word on an export."""
    spans = ((max(0, node.lineno - _AROUND), (node.end_lineno or node.lineno) + 1) for node in nodes)
    return any(speaks_of_export(source.lines[first:last]) for first, last in spans)


def _names_export(source: ParsedFile, function: Function) -> bool:
    """Whether a function, by its name or in its lines, has to do with an export."""
    return _is_for_export(function) or speaks_of_export(source.lines[function.lineno - 1 : function.end_lineno])


def _exchanged(source: ParsedFile, known: Collection[str]) -> Iterator[ToldPlace]:
    """``if isinstance(layer, nn.SiLU): setattr(parent, name, Own())``, and ``replace_module(model, nn.SiLU, Own)``, in
    what prepares for an export.
    """
    functions = {item.name: item for item in every_statement(source.tree) if isinstance(item, Function)}
    for node, inside in _within(source.tree):
        asked, own = _exchange(node)
        asked &= set(known)
        if len(asked) != 1 or own is None:
            continue
        if _speaks(source, node) or (inside is not None and _names_export(source, inside)):
            function = functions.get(own)
            block = [function] if function is not None else getattr(node, "body", [node])
            first, last = block[0].lineno if function is not None else node.lineno, span(block)[1]
            yield ToldPlace(
                first, first, last, Told.PATCH, inside.name if inside else "",
                frozenset(asked), avoided=frozenset(asked),
            )  # fmt: skip


def _exchange(node: ast.stmt) -> tuple[set[str], str | None]:
    """The operators of the modules that a statement exchanges, and what it puts in their place, by its name."""
    if isinstance(node, ast.If):
        return _types_asked(node.test), _put_instead(node.body)
    call = getattr(node, "value", None)
    if isinstance(call, ast.Call) and _EXCHANGES.search(last_name(call.func)):
        for given, own in pairwise(call.args):
            if isinstance(given, ast.Attribute) and dotted(given).startswith(_MODULES) and last_name(own):
                return {operator_of(given.attr)}, last_name(own)
    return set(), None


def _types_asked(test: ast.expr) -> set[str]:
    """The operators of the modules that a test asks for: ``isinstance(layer, (nn.SiLU, nn.Hardswish))``."""
    calls = (item for item in ast.walk(test) if isinstance(item, ast.Call) and last_name(item.func) == "isinstance")
    asked = (item for call in calls for item in ast.walk(call.args[-1]) if isinstance(item, ast.Attribute))
    return {operator_of(item.attr) for item in asked if dotted(item).startswith(_MODULES)}


def _put_instead(block: Sequence[ast.stmt]) -> str | None:
    """What a block puts in the place of a module or of its forward, by its name; ``None`` where it does not."""
    for node in block:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and last_name(node.value.func) == "setattr":
            return _made(node.value.args[-1])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Name | ast.Attribute):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and (target.attr == "forward" or isinstance(node.value, ast.Call)):
                return _made(node.value)
            if isinstance(target, ast.Subscript) and last_name(target.value) == "_modules":
                return _made(node.value)
    return None


def _made(node: ast.expr) -> str:
    """The name of what is put somewhere: ``own`` of ``MethodType(own, module)`` and of ``own.__get__(module)``."""
    if not isinstance(node, ast.Call):
        return last_name(node)
    if last_name(node.func) in ("MethodType", "partial") and node.args:
        return last_name(node.args[0])
    return last_name(node.func.value) if last_name(node.func) == "__get__" else last_name(node.func)  # type: ignore[attr-defined]


def _kept_lines(source: ParsedFile, known: Collection[str]) -> Iterator[ToldPlace]:
    """An old line that is kept as a comment beside the assignment in its place, with a word on an export near them, or
    in the file's path.
    """
    for node in every_statement(source.tree):
        if not isinstance(node, ast.Assign) or not (_OF_EXPORT.search(source.path) or _speaks(source, node)):
            continue
        near = [*source.lines[max(0, node.lineno - 3) : node.lineno - 1], *source.lines[node.end_lineno or 0 :][:1]]
        for line in near:
            old = _old_line(line.strip())
            if old is None or ast.unparse(old.targets[0]) != ast.unparse(node.targets[0]):
                continue
            missing = left_out([node.value], [old.value], known)
            if missing:
                yield ToldPlace(
                    node.lineno, node.lineno, node.end_lineno or node.lineno, Told.COMMENT, line, asked=True,
                    left_out=missing,
                )  # fmt: skip
                break


def _old_line(line: str) -> ast.Assign | None:
    """The assignment that a comment holds."""
    code = _BEFORE.sub("", line) if line.startswith("#") else ""
    if not code or not is_code(code):
        return None
    (node,) = ast.parse(code).body
    return node if isinstance(node, ast.Assign) else None
