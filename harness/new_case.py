"""The stub that ``caniexport cases new`` writes: everything a case needs, in the order in which cases have it."""

from __future__ import annotations

import re
from pathlib import Path

from harness.worker.case import kebab
from harness.worker.errors import CaniexportError

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

_HEAD = '''"""{theme}."""

import torch

from harness.worker.case import Case, Claim, fix
from harness.worker.tensors import f32
'''

_STUB = '''

class {name}(Case):
    """TODO: one sentence that says what fails."""

{identifier}    sources = ("{source}",)
    aten_ops = ("aten::TODO",)
    onnx_ops = ()
    # the first is exported, all are run; where anything is dynamic they differ in shape
    inputs = ((f32(2, 5),), (f32(3, 5),))
    dynamic = {{"x": {{0: "batch"}}}}
    claims = (
        Claim("{source}", "TODO: what the source says", torch=">=2.0", opset=">=9", status="fail"),
    )

    def forward(self, x):  # the failing form
        return x

    @fix("rewrite", "TODO: what it does instead", documented=False)
    def rewritten(self, x):
        return x
'''


def add(folder: Path, identifier: str, theme: str, source: str) -> Path:
    """Append the stub of case ``identifier`` to the file of its theme, which is made where there is none.

    Returns the file. Raises :class:`CaniexportError` where the id or the theme could not be one.
    """
    for what, text in (("a case id", identifier), ("a theme", theme)):
        if not _ID.fullmatch(text):
            raise CaniexportError(f"{text!r} cannot be {what}: small letters, digits and single hyphens")
    path = folder / f"{theme.replace('-', '_')}.py"
    name = "".join(part.capitalize() for part in identifier.split("-"))
    own = "" if kebab(name) == identifier else f'    id = "{identifier}"\n'
    text = (
        path.read_text(encoding="utf-8") if path.exists() else _HEAD.format(theme=theme.replace("-", " ").capitalize())
    )
    stub = _STUB.format(name=name, identifier=own, source=source)
    path.write_text(text.rstrip("\n") + "\n" + stub, encoding="utf-8")
    return path
