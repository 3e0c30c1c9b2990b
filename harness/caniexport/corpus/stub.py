"""The stub that ``caniexport case --new`` writes: everything a case and its claim need, in the usual order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from caniexport.corpus.claim_files import find_claims_file
from caniexport.model.case import to_kebab_case
from caniexport.model.errors import CaniexportError

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
#: what may stand between the quotes of the stub
_SOURCE = re.compile(r"[^\x00-\x1f\x7f\"\\\ud800-\udfff]+")

_HEAD = '''"""{theme}."""

import torch
'''
#: what the stub uses of the package
_PACKAGE, _USED = "caniexport", frozenset({"Case", "f32", "fix"})
_WIDTH = 120

_STUB = '''

class {name}(Case):
    """TODO: one sentence that says what fails."""

{identifier}    sources = ("{source}",)
    aten_ops = ("aten::TODO",)
    onnx_ops = ()
    # the first is exported, all are run; where anything is dynamic they differ in shape
    inputs = ((f32(2, 5),), (f32(3, 5),))
    dynamic = {{"x": {{0: "batch"}}}}

    def forward(self, x):  # the failing form
        return x

    @fix("rewrite", "TODO: what it does instead", documented=False)
    def rewritten(self, x):
        return x
'''

_CLAIM = """
[[{identifier}.claims]]
source = "{source}"
says = "TODO: what the source says"
torch = ">=2.0"
opset = ">=9"
status = "fail"
"""


def add_stub(folder: Path, identifier: str, theme: str, source: str) -> tuple[Path, Path]:
    """Append the stub of case ``identifier`` to the file of its theme, and its claim to the claims of the theme.

    Returns the two files, which are made where there are none. Raises :class:`CaniexportError` where the id, the theme
    or the source could not be one.
    """
    for what, text in (("a case id", identifier), ("a theme", theme)):
        if not _ID.fullmatch(text):
            raise CaniexportError(f"{text!r} cannot be {what}: small letters, digits and single hyphens")
    if not _SOURCE.fullmatch(source):
        raise CaniexportError(f"{source!a} cannot be a source: owner/repo#1, a document or seed:000")
    path = folder / f"{theme.replace('-', '_')}.py"
    name = "".join(part.capitalize() for part in identifier.split("-"))
    own = "" if to_kebab_case(name) == identifier else f'    id = "{identifier}"\n'
    text = (
        path.read_text(encoding="utf-8") if path.exists() else _HEAD.format(theme=theme.replace("-", " ").capitalize())
    )
    stub = _STUB.format(name=name, identifier=own, source=source)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_add_imports(text).rstrip("\n") + "\n" + stub, encoding="utf-8")
    return path, _add_claim(find_claims_file(path), identifier, source)


def _add_claim(path: Path, identifier: str, source: str) -> Path:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    claim = _CLAIM.format(identifier=identifier, source=source)
    path.write_text((text + claim).lstrip("\n"), encoding="utf-8")
    return path


def _add_imports(text: str) -> str:
    """The file's text with whatever the stub uses imported; a name that is imported already stays where it is."""
    lines, tree = text.splitlines(), ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == _PACKAGE]
    missing = _USED - {alias.name for node in imports for alias in node.names if alias.asname is None}
    if imports and missing:
        first = imports[0]
        kept = {alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in first.names}
        lines[first.lineno - 1 : first.end_lineno] = _format_import(_PACKAGE, kept | missing)
    elif missing:
        place = _find_import_line(tree)
        lines[place:place] = [*([""] if place else []), *_format_import(_PACKAGE, set(missing))]
    return "\n".join(lines) + "\n"


def _find_import_line(tree: ast.Module) -> int:
    """Lines before the place of another import: behind the file's docstring and its imports."""
    before = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and node is tree.body[0])
    ]
    return max((node.end_lineno or 0 for node in before), default=0)


def _format_import(module: str, names: set[str]) -> list[str]:
    """The lines of ``from module import names``, in the order in which ruff wants them."""
    ordered = sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))
    line = f"from {module} import {', '.join(ordered)}"
    return [line] if len(line) <= _WIDTH else [f"from {module} import (", *(f"    {name}," for name in ordered), ")"]
