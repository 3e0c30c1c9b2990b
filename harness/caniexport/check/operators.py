"""The operator that an error names: in the words of torch's exporters, of ONNX's checker, of a runtime."""

from __future__ import annotations

import re

#: the most telling first; each takes the operator, with its namespace where the text has it
_RULES = (
    re.compile(r"No ONNX function found for <OpOverload\(op='(?P<op>[\w.]+)'"),
    re.compile(r"Unsupported FX nodes: \{'call_function': \['(?P<op>\w+\.\w+)"),
    re.compile(r"unrecognized namespace (?P<op>\w+::\w+)"),
    re.compile(r"Exporting the operator '?(?P<op>(?:\w*::)?\w+)'? to ONNX"),
    re.compile(r"ONNX export failed on (?P<op>\w+), which is not implemented"),
    re.compile(r"ONNX export of (?:operator )?(?P<op>(?:\w+::)?\w+)"),
    re.compile(r"Couldn't export (?:Python )?operator (?P<op>[\w:]+)"),
    re.compile(r"Error when translating node .{0,200}?target=torch\.ops\.(?P<op>\w+\.\w+)", re.DOTALL),
    re.compile(r"Unknown builtin op: (?P<op>\w+::\w+)"),
    re.compile(r"Failed to export a node '.{0,200}? = (?P<op>\w+::\w+)\(", re.DOTALL),
    re.compile(r"Fatal error: (?P<op>[\w.]+:\w+)\(-?\d+\) is not a registered"),
    re.compile(r"Could not find an implementation for (?:the node )?(?:[^\s:(]*:)?(?P<op>[A-Z]\w*)\(\d+\)"),
    re.compile(r"while running (?P<op>\w+) node"),
    re.compile(r"op_type: ?(?P<op>\w+)"),
    re.compile(r"\bOp \((?P<op>\w+)\)"),
    re.compile(r"No Op registered for (?P<op>\w+) with"),
    re.compile(r"Unrecognized attribute: \w+ for operator (?P<op>\w+)"),
    re.compile(r"OpType: (?P<op>\w+)"),
)


def failing_operator(text: str) -> str:
    """``aten::grid_sampler``, ``Resize``, ``ai.onnx:ATen``; empty where the text names none."""
    for rule in _RULES:
        match = rule.search(text)
        if match:
            return _spelled(match.group("op"))
    return ""


def _spelled(op: str) -> str:
    """torch's operators as ``aten::cross``, ONNX's as they are."""
    if "::" in op:
        namespace, _, name = op.partition("::")
        return f"{namespace or 'aten'}::{name}"
    if ":" in op:
        return op
    if "." in op:
        return "::".join(op.split(".")[:2])
    return op if op[:1].isupper() else f"aten::{op}"
