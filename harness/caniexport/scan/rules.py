"""Export rules: registered ones, those of autograd functions, and those of a translation table."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from caniexport.scan.files import ParsedFile
from caniexport.scan.site import Site, SiteKind, site_at
from caniexport.scan.syntax import dotted, statements

#: the function of torch, and what projects call theirs
REGISTERING = ("register_custom_op_symbolic", "register_symbolic", "_onnx_symbolic", "onnx_symbolic")
#: workarounds of which the corpus has the call, not the code around it
_OWN_RULE = (("route-autograd-function-symbolic", "symbolic"),)
_TRANSLATED = (("route-torchscript-custom-op", "translation_table"),)
#: domains whose nodes ONNX Runtime has
_DOMAINS = {"", "aten", "onnx", "ai.onnx", "com.microsoft", "org.pytorch.aten"}
#: what a registration calls ONNX Runtime, or no backend in particular
_MEASURED = ("", "default", "onnx", "onnxruntime", "ort")


def registered(source: ParsedFile, call: ast.Call, name: str) -> Site:
    """Return the rule that a call registers, by the function ``name``."""
    first = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg), None)
    operator = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if operator.isidentifier() and name != "register_custom_op_symbolic":
        operator = f"aten::{operator}"
    return site_at(source, call, SiteKind.SYMBOLIC, name=operator, backend=_backend(call))


def _backend(call: ast.Call) -> str:
    """``tensorrt`` of ``backend="tensorrt"`` and of ``backend=Backend.TENSORRT.value``; empty for ONNX Runtime."""
    given = next((word.value for word in call.keywords if word.arg == "backend"), None)
    named = str(given.value) if isinstance(given, ast.Constant) else dotted(given or call).removesuffix(".value")
    name = named.split(".")[-1].lower() if given else ""
    return "" if name in _MEASURED else name


def of_functions(source: ParsedFile) -> Iterator[Site]:
    """Yield the rules of autograd functions; one that writes nodes of an own domain is for a backend with these."""
    for made in statements(source.tree):
        methods = {item.name: item for item in getattr(made, "body", ()) if isinstance(item, ast.FunctionDef)}
        rule = methods.get("symbolic") if isinstance(made, ast.ClassDef) and "forward" in methods else None
        if rule is None or not isinstance(made, ast.ClassDef):
            continue
        calls = [node for node in ast.walk(rule) if isinstance(node, ast.Call) and dotted(node.func).endswith(".op")]
        names = [node.args[0].value for node in calls if node.args and isinstance(node.args[0], ast.Constant)]
        domains = {str(name).rpartition("::")[0].lower() for name in names}
        backend = min(domains) if domains and not domains & _DOMAINS else ""
        yield site_at(source, rule, SiteKind.SYMBOLIC, name=made.name, fixes=_OWN_RULE, backend=backend)


def translated(source: ParsedFile, table: ast.Dict, functions: Mapping[str, ast.FunctionDef]) -> Iterator[Site]:
    """Yield the rules of ``{torch.ops.own.op.default: rule}``, for the exporter that is based on torch.export."""
    for key, rule in zip(table.keys, table.values, strict=True):
        path = dotted(key).split(".") if key is not None else []
        if path[:2] == ["torch", "ops"] and len(path) > 3 and dotted(rule) in functions:
            fixes = _TRANSLATED if path[2] not in ("aten", "prims") else ()
            made = functions[dotted(rule)]
            yield site_at(source, made, SiteKind.SYMBOLIC, name=f"{path[2]}::{path[3]}", fixes=fixes)
