"""Export rules: those that a file registers, writes, brings with an autograd function, or puts in a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from caniexport.scan import backends
from caniexport.scan.files import ParsedFile
from caniexport.scan.gates import dotted
from caniexport.scan.normal import every_statement, operator_of
from caniexport.scan.site import Site, SiteKind, Sureness, site_at
from caniexport.scan.wording import last_name

#: fixes of which the corpus has the call, not the code around it
_OWN_RULE = (("route-autograd-function-symbolic", "symbolic"),)
_OWN_NODE = (("route-new-onnx-op", "plain"),)
_TRANSLATED = (("route-torchscript-custom-op", "translation_table"),)
#: domains whose nodes ONNX Runtime has
_DOMAINS = ("", "aten", "onnx", "ai.onnx", "com.microsoft", "org.pytorch.aten")


def registered(source: ParsedFile, call: ast.Call, name: str) -> Site:
    """The rule that a call registers, by the function ``name``."""
    first = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg), None)
    operator = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if operator.isidentifier() and name != "register_custom_op_symbolic":
        operator = f"aten::{operator}"
    runtime = backends.of_call(call) or backends.of_path(source.path)
    sure = Sureness.OPERATOR if operator else Sureness.SIMILAR
    return site_at(source, call, SiteKind.SYMBOLIC, name=operator, runtime=runtime, told="a registered rule", sure=sure)


def of_functions(source: ParsedFile) -> Iterator[Site]:
    """The rules of autograd functions: of ONNX's own nodes, or one node of an own domain."""
    for made, rule in rules_of_functions(source.tree):
        calls = [node for node in ast.walk(rule) if isinstance(node, ast.Call) and dotted(node.func).endswith(".op")]
        names = [node.args[0].value for node in calls if node.args and isinstance(node.args[0], ast.Constant)]
        domains = {str(name).rpartition("::")[0].lower() for name in names}
        named = next(filter(None, map(backends.of_name, [made.name, *map(str, names)])), "")
        fixes = _OWN_NODE if domains - set(_DOMAINS) == domains else _OWN_RULE
        yield site_at(
            source, rule, SiteKind.SYMBOLIC, name=made.name, fixes=fixes,
            runtime=named or backends.of_path(source.path), told="a rule of a function's own",
        )  # fmt: skip


def called(source: ParsedFile, branch: ast.If, exported: Sequence[ast.stmt], ruled: Collection[str]) -> Iterator[Site]:
    """A branch on exporting that calls a function with an export rule, of whichever file (``ruled``)."""
    calls = (item for one in exported for item in ast.walk(one) if isinstance(item, ast.Call))
    name = next((name for call in calls for name in dotted(call.func).split(".") if name in ruled), "")
    if name:
        told = "a branch that calls a function with a rule"
        yield site_at(source, branch, SiteKind.SYMBOLIC, name=name, fixes=_OWN_RULE, told=told)


def translated(source: ParsedFile, table: ast.Dict, functions: Mapping[str, ast.FunctionDef]) -> Iterator[Site]:
    """The rules of ``{torch.ops.own.op.default: rule}``, for the exporter that is based on torch.export."""
    for key, rule in zip(table.keys, table.values, strict=True):
        path = dotted(key).split(".") if key is not None else []
        made = functions.get(dotted(rule))
        if path[:2] == ["torch", "ops"] and len(path) > 3 and made is not None:
            own = path[2] not in ("aten", "prims")
            yield site_at(
                source, made, SiteKind.SYMBOLIC, name=f"{path[2]}::{path[3]}", fixes=_TRANSLATED if own else (),
                told="a rule in a translation table", sure=Sureness.SAME if own else Sureness.OPERATOR,
            )  # fmt: skip


def written(source: ParsedFile, operators: Collection[str]) -> Iterator[Site]:
    """Rules of these operators, where their registration is not in this file or names none."""
    for rule, operator in _written_rules(source.tree):
        if operator in operators:
            runtime = backends.of_name(rule.name) or backends.of_path(source.path)
            yield site_at(
                source, rule, SiteKind.SYMBOLIC, name=operator, runtime=runtime, told="a rule that is written",
                sure=Sureness.OPERATOR,
            )  # fmt: skip


def _written_rules(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Export rules, wherever they are registered: functions of a graph ``g`` that write nodes, with their operator. A
    function that is called in the file helps a rule, and is none.
    """
    called = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    methods = {id(item) for node in every_statement(tree) if isinstance(node, ast.ClassDef) for item in node.body}
    for node in every_statement(tree):
        alone = isinstance(node, ast.FunctionDef) and id(node) not in methods and node.name not in called
        if isinstance(node, ast.FunctionDef) and alone and _takes_graph(node) and _written(node):
            yield node, operator_of(re.sub(r"^_+|__\w+$|_?symbolic_?|_?onnx_?|_?export_?", "", node.name))


def _takes_graph(function: ast.FunctionDef) -> bool:
    return bool(function.args.args) and function.args.args[0].arg in ("g", "graph", "graph_context", "ctx")


def _written(function: ast.FunctionDef) -> list[str]:
    """The names of the nodes that a rule writes."""
    graph = function.args.args[0].arg
    calls = (item for item in ast.walk(function) if isinstance(item, ast.Call) and dotted(item.func) == f"{graph}.op")
    given = (call.args[0] for call in calls if call.args)
    return [str(item.value) for item in given if isinstance(item, ast.Constant)]


def rules_of_functions(tree: ast.AST) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """Autograd functions that bring a rule of their own: a ``symbolic`` beside a ``forward``, or beside what their
    class is made of.
    """
    for node in every_statement(tree):
        if isinstance(node, ast.ClassDef):
            methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
            rule = methods.get("symbolic")
            if rule is not None and ("forward" in methods or node.bases) and _uses_graph(rule):
                yield node, rule


def _uses_graph(rule: ast.FunctionDef) -> bool:
    """Whether a rule writes into its graph, itself or by a function that it hands the graph to."""
    arguments = [item.arg for item in rule.args.args if item.arg not in ("self", "cls", "ctx")]
    names = [*arguments[:1], *(item.arg for item in rule.args.args[:1])]
    return any(isinstance(item, ast.Name) and item.id in names for node in rule.body for item in ast.walk(node))


def is_rule(function: ast.FunctionDef) -> bool:
    """Whether it is an export rule, which writes nodes into the graph ``g``, or is registered as one."""
    made = {last_name(item.func if isinstance(item, ast.Call) else item) for item in function.decorator_list}
    return bool(made & _RULES) or (bool(function.args.args) and function.args.args[0].arg == "g")


#: decorators of the exporter's own rules
_RULES = frozenset({"torch_op", "onnx_impl"})
