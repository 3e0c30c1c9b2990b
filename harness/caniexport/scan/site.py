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
    DYNAMO = "dynamo-pin"
    OPSET = "opset-pin"
    FALLBACK = "fallback-type"
    ARGUMENT = "export-argument"
    SHAPE = "known-rewrite"
    STATED = "stated-workaround"
    EXPORT = "export-call"


#: names of export calls: how a call chooses its exporter; none for one that leaves the choice to the release
BY_DYNAMO, BY_TRACE, BY_EITHER, UNREAD = "dynamo=True", "dynamo=False", "dynamo=?", "**"


class Sureness(StrEnum):
    """How sure it is what a site is."""

    SAME = "the same"
    OPERATOR = "the same operator"
    SIMILAR = "similar"


@dataclass(frozen=True)
class Site:
    """One place. ``name`` is the operator, argument, number or option, and of an export call how it chooses its
    exporter (``**`` where it is given arguments which cannot be read); ``condition`` is a gate's, and of a rewrite that
    of the gate around it.

    ``ops`` are the functions that only one branch of a gate calls, where the gate has to do with an export.
    ``fixes`` are the fixes of the corpus that it is, or is nearest to, the best first; ``told`` is how that is seen,
    ``of`` the package in which this form is well known. ``runtime`` is another runtime than ONNX Runtime that it is
    for, ``said`` what its author says of it, ``dtypes`` the types of tensors that its file is exported with or its
    author speaks of. ``sure`` is how certain that is: of the same operator ``name`` is the operator, and ``fixes`` is
    the nearest.
    """

    path: str
    line: int
    kind: SiteKind
    text: str
    name: str = ""
    condition: Condition | None = None
    ops: tuple[str, ...] = ()
    fixes: tuple[tuple[str, str], ...] = ()
    runtime: str = ""
    told: str = ""
    of: str = ""
    sure: Sureness = Sureness.SAME
    said: str = ""
    dtypes: frozenset[str] = frozenset()

    @property
    def argument(self) -> str:
        """Of what an export call is given: ``opset_version=11``, and the name alone where that is all that counts."""
        word = {SiteKind.OPSET: "opset_version=", SiteKind.FALLBACK: "operator_export_type="}.get(self.kind, "")
        return f"{word}{self.name}"


def site_at(source: ParsedFile, node: ast.AST, kind: SiteKind, **more: object) -> Site:
    """A site at the line of a node, with what else is known of it."""
    line = getattr(node, "lineno", 1)
    return Site(source.path, line, kind, text_at(source, line), **more)  # type: ignore[arg-type]  # fields of Site


def text_at(source: ParsedFile, line: int) -> str:
    """A line of a file, shortened."""
    text = source.lines[line - 1].strip() if 0 < line <= len(source.lines) else ""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


_WIDTH = 110
