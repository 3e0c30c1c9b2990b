"""The export call of a cell as source, found by running the plain script's own function with names for values."""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from caniexport.reproduce.source import find_definitions
from caniexport.reproduce.values import Source, format_value

_PLAIN = Path(__file__).with_name("plain.py").read_text(encoding="utf-8")
_SCRIPT = "torch.jit.script("
#: the keyword for options that are no literal
_REST = "**"


class _Name(Source):
    """A name that stands for itself: what is looked up in it, called with it and unpacked from it is a name, too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> _Name:
        return _Name(f"{self}.{name}")

    def __call__(self, *given: Any, **named: Any) -> _Name:
        if self in ("torch.onnx.export", "torch.onnx.dynamo_export"):
            lines = [*map(repr, given), *(f"{name}={format_value(value, indent=8)}" for name, value in named.items())]
            lines = [line.replace(f"{_REST}=", "", 1) if line.startswith(_REST) else line for line in lines]
            return _Name(f"{self}(\n" + "".join(f"        {line},\n" for line in lines) + "    )")
        return _Name(f"{self}({', '.join([*map(repr, given), *(f'{key}={value!r}' for key, value in named.items())])})")

    def __iter__(self) -> Iterator[Any]:
        yield Source(f"*{self}")

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, str) and instance.startswith(_SCRIPT)


def export_call(function: str, settings: Mapping[str, Any], torch: tuple[int, ...], own: str) -> str:
    """A function of the script that exports as ``function`` of the plain one does.

    Args:
        function: ``by_torchscript``, ``by_dynamo``, ...
        settings: names, named, output_names, dynamic and opset of the plain script's cell.
        torch: the release, ``(2, 8)``.
        own: the case's own options of the call, as an expression; empty where it has none.

    """
    plain: dict[str, Any] = {**vars(typing), "torch": _Name("torch")}
    roots = ast.parse(function)
    exec("\n\n".join(["from __future__ import annotations", *find_definitions(_PLAIN, [roots])]), plain)
    plain |= {
        "version": lambda: torch,
        "own_options": lambda _: _options(own),
        "dims": lambda given: Source(f"dims({given!r})") if given else None,
        "to_file": lambda call: f"to_file(lambda path: {call(_Name('path'))})",
        "to_bytes": lambda program: f"to_bytes({program})",
    }
    found = plain[function](SimpleNamespace(**settings), _Name("module"), _Name("args"), _Name("example"))
    return f'def export_call(cell, module, args, example):\n    """The call that is measured."""\n    return {found}'


def _options(own: str) -> dict[str, Any]:
    """Keyword arguments of the call: those of a literal one by one, whatever else as it is."""
    if not own:
        return {}
    node = ast.parse(own, mode="eval").body
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(key.value): Source(ast.unparse(value)) for key, value in pairs if isinstance(key, ast.Constant)}
    return {_REST: Source("**own_options(cell)")}
