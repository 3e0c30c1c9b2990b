"""A place of a source tree that measurements may speak to."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum

from caniexport.scan.files import ParsedFile
from caniexport.scan.gates import Condition


class SiteKind(StrEnum):
    """What a site is."""

    GATE = "version-gate"
    SYMBOLIC = "custom-symbolic"
    BRANCH = "export-branch"
    COPY = "known-workaround"
    DYNAMO = "dynamo-pin"
    OPSET = "opset-pin"
    ARGUMENT = "export-argument"
    EXPORT = "export-call"


#: names of export calls: how a call chooses its exporter; none for one that leaves the choice to the release
BY_DYNAMO, BY_TRACE, BY_EITHER, UNREAD = "dynamo=True", "dynamo=False", "dynamo=?", "**"


@dataclass(frozen=True)
class Site:
    """One place. ``name`` is the operator, function, argument or number, and of an export call how it chooses its
    exporter (``**`` where it is given arguments which cannot be read); ``condition`` is a gate's.

    ``ops`` are the functions that only one side of a gate calls, or that a branch on exporting leaves out. ``fixes``
    are the workarounds of the corpus that it is a copy of. ``backend`` is another one than ONNX Runtime that a symbolic
    is registered for.
    """

    path: str
    line: int
    kind: SiteKind
    text: str
    name: str = ""
    condition: Condition | None = None
    ops: tuple[str, ...] = ()
    fixes: tuple[tuple[str, str], ...] = ()
    backend: str = ""

    @property
    def argument(self) -> str:
        """What an export call is given: ``opset_version=11``, and the name alone where that is all that counts."""
        return f"opset_version={self.name}" if self.kind is SiteKind.OPSET else self.name


def site_at(source: ParsedFile, node: ast.AST, kind: SiteKind, **more: object) -> Site:
    """Return a site at the line of a node, with what else is known of it."""
    line = getattr(node, "lineno", 1)
    text = source.lines[line - 1].strip() if 0 < line <= len(source.lines) else ""
    shown = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
    return Site(source.path, line, kind, shown, **more)  # type: ignore[arg-type]  # fields of Site


_WIDTH = 110
