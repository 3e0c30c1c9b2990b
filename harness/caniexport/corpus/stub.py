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

from caniexport import Case
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
    claims = find_claims_file(path)
    text = claims.read_text(encoding="utf-8") if claims.exists() else ""
    claims.parent.mkdir(exist_ok=True)
    claims.write_text((text + _CLAIM.format(identifier=identifier, source=source)).lstrip("\n"), encoding="utf-8")
    return path, claims


def _add_imports(text: str) -> str:
    """The file's text with whatever the stub uses imported from the package, in the order in which ruff wants it."""
    lines, body = text.splitlines(), ast.parse(text).body
    if not any(isinstance(node, ast.ImportFrom) and node.module == _PACKAGE for node in body):
        # behind the docstring and what must come before everything
        before: list[ast.stmt] = [node for node in body[:1] if isinstance(node, ast.Expr)]
        before += [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        place = max((node.end_lineno or 0 for node in before), default=0)
        lines[place:place] = ["", f"from {_PACKAGE} import {', '.join(sorted(_USED))}", ""]
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == _PACKAGE:
            names = sorted(
                {*map(ast.unparse, node.names), *_USED}, key=lambda name: (not name.isupper(), name.islower(), name)
            )
            line = f"from {_PACKAGE} import {', '.join(names)}"
            broken = [f"from {_PACKAGE} import (", *(f"    {name}," for name in names), ")"]
            lines[node.lineno - 1 : node.end_lineno] = [line] if len(line) <= _WIDTH else broken
            break
    return "\n".join(lines) + "\n"
