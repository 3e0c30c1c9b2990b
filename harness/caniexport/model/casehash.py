"""The hash of a variant: over the syntax tree of what is measured, so that it changes when the measurement would.

Comments, layout, docstrings, titles, sources, claims and notes do not count; the failing form, the fix, the shared
setup and inputs, and every module-level name of the same file they reach do. The walk is our own because
``ast.dump`` differs between Python versions, and the same case must have the same hash under 3.7 and 3.13.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any, Dict, Iterable, List

#: class attributes that say where a case comes from, not what is measured
DESCRIPTIVE = frozenset({"id", "corpus", "sources", "aten_ops", "onnx_ops", "same_graph_as", "__doc__"})
#: keyword arguments of ``fix`` that are words for a person
_WORDS = frozenset({"kind", "note", "documented", "caution"})
_SKIPPED_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_params", "type_ignores", "returns"})
_FIX_CALLS = frozenset({"fix", "Fix", "environment_fix"})

#: variants of attention.py that take the inputs of the class ``SdpaOpset13``, whose every word is hashed with them. Its
#: claims are in another file since; what is measured is the same, and so is the hash that rows know it by
_KNOWN_AS = {
    "edaacdf77ae73ceb": "1715b00542502763",  # sdpa-bool-mask/formula
    "f2851d939bdf7204": "07e29d11e9243e1d",  # sdpa-bool-mask/opset_14
    "aa9838fa03d3f089": "cf972c44ee09829a",  # sdpa-bool-mask/plain
    "b2dcb764292be9f2": "424f91c086010e5d",  # sdpa-causal/formula
    "c9a1835fbb3fa135": "4537dcf7a3720deb",  # sdpa-causal/opset_14
    "8f306f926e9b7d08": "1d83ed0e0513bd7c",  # sdpa-causal/plain
    "98bc80b8088ad59b": "58559a1a61f91ebc",  # sdpa-gqa-equal-heads/plain
    "9489b4fbc57e46dc": "81b45ae4db7b3ee2",  # sdpa-gqa-equal-heads/plain_attention
}


class CaseText:
    """The definitions of one case file, from its source text alone (nothing is imported)."""

    def __init__(self, source: str) -> None:
        self._top: Dict[str, ast.stmt] = {name: node for node in ast.parse(source).body for name in bound_names(node)}

    def members(self, class_name: str) -> Dict[str, ast.stmt]:
        """Members of a class by name, those of base classes in this file first."""
        node = self._top[class_name]
        found: Dict[str, ast.stmt] = {}
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            if isinstance(base, ast.Name) and isinstance(self._top.get(base.id), ast.ClassDef):
                found.update(self.members(base.id))
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            found.update(dict.fromkeys(bound_names(item), item))
        return found

    def reach(self, nodes: Iterable[ast.AST]) -> Dict[str, ast.stmt]:
        """Top-level definitions of this file that ``nodes`` use, directly or through each other, by name."""
        todo: List[ast.AST] = list(nodes)
        seen: Dict[str, ast.stmt] = {}
        while todo:
            for node in ast.walk(todo.pop()):
                if isinstance(node, ast.Name) and node.id in self._top and node.id not in seen:
                    seen[node.id] = self._top[node.id]
                    todo.append(self._top[node.id])
        return seen


class FileHashes(CaseText):
    """Hashes of the variants of one case file."""

    def variant(self, class_name: str, variant: str) -> str:
        """Sixteen hex digits for one variant of one class; ``variant`` is ``plain`` or a fix's attribute name."""
        body = self.members(class_name)
        fixes = {name for name, node in body.items() if _is_fix(node)}
        parts = [name for name in body if name not in fixes and name not in DESCRIPTIVE]
        if variant in fixes:
            parts.append(variant)
        nodes = [body[name] for name in sorted(parts)]
        text = [canonical(node) for node in nodes]
        text += [name + "=" + canonical(node) for name, node in sorted(self.reach(nodes).items())]
        text.append("variant:" + (variant if variant in fixes else "plain"))
        digest = hashlib.sha256("\n".join(text).encode("utf-8")).hexdigest()[:16]
        return _KNOWN_AS.get(digest, digest)


def canonical(node: Any) -> str:
    """A text for a syntax tree that is the same on every supported Python."""
    if isinstance(node, (list, tuple)):
        return "[" + ",".join(canonical(part) for part in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    constant = _format_constant(node)
    if constant is not None:
        return str(constant)
    name = type(node).__name__
    if name in ("Index", "ExtSlice"):
        # before Python 3.9 a subscript was wrapped; an ExtSlice is the later Tuple
        inner = getattr(node, "value", None)
        return canonical(inner) if inner is not None else "Tuple(elts=" + canonical(getattr(node, "dims", [])) + ")"
    fields = []
    for field, value in ast.iter_fields(_drop_notes(node)):
        if field in _SKIPPED_FIELDS or value is None or value == []:
            continue
        if field == "body" and isinstance(value, list):
            value = _drop_docstring(value)
        fields.append(field + "=" + canonical(value))
    return name + "(" + ",".join(fields) + ")"


def _format_constant(node: ast.AST) -> Any:
    """One spelling for literals: Python 3.7 has Num, Str, Bytes, NameConstant and Ellipsis nodes."""
    name = type(node).__name__
    if name == "Constant":
        return "Constant(" + repr(node.value) + ")"  # type: ignore[attr-defined]  # node is ast.Constant
    old = {"Num": "n", "Str": "s", "Bytes": "s", "NameConstant": "value"}.get(name)
    if old is not None:
        return "Constant(" + repr(getattr(node, old)) + ")"
    return "Constant(Ellipsis)" if name == "Ellipsis" else None


def _drop_notes(node: ast.AST) -> ast.AST:
    """A call of ``fix`` without its kind and note: rewording a note must not measure anything again."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FIX_CALLS):
        return node
    keywords = [word for word in node.keywords if word.arg not in _WORDS]
    return ast.Call(func=node.func, args=[], keywords=keywords)


def _drop_docstring(body: List[ast.stmt]) -> List[ast.stmt]:
    if body and isinstance(body[0], ast.Expr):
        constant = _format_constant(body[0].value)
        if constant is not None and constant.startswith(("Constant('", 'Constant("')):
            return body[1:] or [ast.Pass()]
    return body


def _is_fix(node: ast.AST) -> bool:
    call: Any = None
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        call = node.decorator_list[0]
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        call = node.value
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _FIX_CALLS


def bound_names(node: ast.AST) -> List[str]:
    """Names that a statement binds: a definition's or an assignment's."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
