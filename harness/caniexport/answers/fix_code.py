"""The code of a workaround for a reader to copy: without the marks of the corpus; an option as the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from caniexport.model.status import Exporter

_CALL = 'torch.onnx.export(model, args, "model.onnx"'
_SCRIPTED = 'torch.onnx.export(torch.jit.script(model), args, "model.onnx"'
#: what an export is called with, and from which release of torch on it is so
_DYNAMO = ("dynamo=True", "  # before torch 2.5: torch.onnx.dynamo_export(model, *args)")
_TORCHSCRIPT = ("dynamo=False", "  # before torch 2.5 without dynamo=")
#: arguments of a mark that are not about the call
_NOT_OF_CALL = frozenset(("documented", "caution", "changes_values"))


@lru_cache(maxsize=4096)
def code_to_copy(code: str) -> str:
    """Return the code of a workaround for a reader to copy; unchanged where it cannot be parsed."""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return code
    if len(body) == 1 and isinstance(body[0], ast.Assign):
        return _write_call(body[0].value) or code
    return _remove_marks(code, body)


def _write_call(mark: ast.expr) -> str:
    """Return the export call that an option means; empty for an option that is more than a call."""
    if not (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "fix"):
        return ""
    given = {word.arg: word.value for word in mark.keywords if word.arg and word.arg not in _NOT_OF_CALL}
    if list(given) == ["torch"] and isinstance(given["torch"], ast.Constant):
        return f'pip install "torch{given["torch"].value!s}"'
    if not given or not given.keys() <= {"exporter", "opset", "dynamic", "export"}:
        return ""
    if "export" in given and not isinstance(_read_options(given["export"]), ast.Dict):
        return ""
    exporter = ast.literal_eval(given["exporter"]) if "exporter" in given else ""
    first = _SCRIPTED if exporter == Exporter.SCRIPT.value else _CALL
    option, remark = {"": ("", ""), Exporter.DYNAMO.value: _DYNAMO}.get(exporter, _TORCHSCRIPT)
    options = [option] if option else []
    return f"{', '.join([first, *options, *_write_options(given)])}){remark}"


def _write_options(given: dict[str, ast.expr]) -> Iterator[str]:
    """The options of a call, as they are written in it."""
    if "opset" in given:
        yield f"opset_version={ast.unparse(given['opset'])}"
    if "dynamic" in given and ast.unparse(given["dynamic"]) != "{}":
        yield f"dynamic_axes={ast.unparse(given['dynamic'])}"
    export = _read_options(given["export"]) if "export" in given else None
    if isinstance(export, ast.Dict):
        for name, value in zip(export.keys, export.values, strict=True):
            if isinstance(name, ast.Constant):
                yield f"{name.value!s}={ast.unparse(value)}"


def _read_options(export: ast.expr) -> ast.expr:
    """The options that a fix gives, also where they are made when it is called."""
    return export.body if isinstance(export, ast.Lambda) else export


def _remove_marks(code: str, body: list[ast.stmt]) -> str:
    """Return the code without the marks above its functions."""
    marks = [mark for node in body if isinstance(node, ast.FunctionDef) for mark in node.decorator_list]
    left_out = {
        line
        for mark in marks
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "fix"
        for line in range(mark.lineno, (mark.end_lineno or mark.lineno) + 1)
    }
    lines = code.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines, start=1) if number not in left_out)
