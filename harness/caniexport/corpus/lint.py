"""Find weaknesses of cases: each rule yields findings from one case, or from all of them.

:func:`caniexport.model.case.check_case` refuses a case that cannot be measured. One with a finding can, but it
proves less than it seems to, or nobody can find it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from caniexport import names
from caniexport.corpus import upstream
from caniexport.corpus.claim_files import Claim, DocumentedCases
from caniexport.model.case import PLAIN, to_kebab_case
from caniexport.model.corpus import LoadedCase
from caniexport.worker.subject import make_arrays

#: seed documents, issues and pull requests, pages, and what we found ourselves
_SOURCE = re.compile(r"seed:\d{3}|[\w.-]+/[\w.-]+#\d+|https://\S+|caniexport")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: operators of TorchScript itself and of Python functions in a graph, which no exporter lists
_OF_TORCHSCRIPT = ("prim::", "aten::Int", "aten::Float", "aten::Bool")

#: what a case file may use of torch while it is imported
_ON_EVERY_RELEASE = frozenset({"torch.autograd", "torch.autograd.Function", "torch.nn", "torch.nn.Module"})

#: what a graph is known by: the exported file of each (exporter, opset)
Graphs = Mapping[tuple[str, int], str]
Claims = Sequence[Claim]


@dataclass(frozen=True)
class LintFinding:
    """One thing to mend: the case, the rule's name, and what is wrong in words."""

    case: str
    rule: str
    text: str


@dataclass(frozen=True)
class KnownNames:
    """Names that exist: operators of torch (``aten::cross``) and of ONNX (``Resize``), over all releases."""

    torch: frozenset[str]
    onnx: frozenset[str]


def read_torch_operators(cases: Path) -> frozenset[str]:
    """The operators of torch itself, whether or not an exporter has a rule for them; none where nobody listed them."""
    path = cases / "torch_operators.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return frozenset(line for line in lines if not line.startswith("#"))


def lint(
    corpus: Mapping[str, LoadedCase], documents: DocumentedCases, known: KnownNames, graphs: Mapping[str, Graphs]
) -> list[LintFinding]:
    """All findings, case by case in the order of the files, then those between cases.

    Raises :class:`CorpusError` for a line of the sources' states that cannot be read.
    """
    found: list[LintFinding] = []
    for item in corpus.values():
        for rule in _RULES:
            found += rule(item, documents[item.id].claims)
        found += _check_operators(item, known)
    files = {item.path: item.text for item in corpus.values()}
    return [*found, *_check_imports(files), *_find_unused_sources(corpus), *_check_graphs(corpus, graphs)]


def _check_identifier(item: LoadedCase, _claims: Claims) -> Iterator[LintFinding]:
    if not _ID.fullmatch(item.id):
        yield LintFinding(item.id, "id", f"write it in kebab case: {to_kebab_case(item.cls.__name__)}")
    if not 10 <= len(item.cls.title()) <= 120:
        yield LintFinding(
            item.id, "title", "the docstring's first line is the title: one sentence of 10 to 120 characters"
        )


def _check_sources(item: LoadedCase, _claims: Claims) -> Iterator[LintFinding]:
    for source in item.cls.sources:
        if not _SOURCE.fullmatch(source):
            yield LintFinding(item.id, "source", f"{source!r} is none of seed:000, owner/repo#1, https://…")
    if len(set(item.cls.sources)) != len(item.cls.sources):
        yield LintFinding(item.id, "source", "a source is named twice")


def _check_claims(item: LoadedCase, claims: Claims) -> Iterator[LintFinding]:
    for claim in claims:
        if claim.why_not and not claim.finding:
            yield LintFinding(item.id, "claim", f"{claim.says!r} is {claim.why_not} without a finding that shows it")


def _check_fixes(item: LoadedCase, claims: Claims) -> Iterator[LintFinding]:
    names = item.environment_variants if item.is_environment else item.variants
    # what torch itself refuses is no fault of an export
    failing = [claim for claim in claims if claim.stage != "eager"]
    fails = any({"fail", "mismatch", "unsupported", "crash"} & set(claim.status) for claim in failing)
    if len(names) == 1 and fails and item.cls.corpus != "canary":
        yield LintFinding(item.id, "fix", "a failing form without a fix beside it")


def _check_inputs(item: LoadedCase, _claims: Claims) -> Iterator[LintFinding]:
    for name, variant in item.variants.items():
        first, *others = make_arrays(variant, item.id)
        if all(repr(first) == repr(other) for other in others):
            yield LintFinding(item.id, "inputs", f"{name}: all input sets have the same values")
        # a fix may share inputs that leave out what it makes dynamic; the failing form may not
        if name == PLAIN and variant.dynamic and all(_find_shapes(first) == _find_shapes(other) for other in others):
            yield LintFinding(item.id, "inputs", "a dimension is dynamic, and all input sets have the same shapes")


def _find_shapes(part: Any) -> Any:
    if hasattr(part, "shape"):
        return part.shape
    if isinstance(part, Mapping):
        return tuple((name, _find_shapes(value)) for name, value in part.items())
    return tuple(map(_find_shapes, part)) if isinstance(part, tuple | list) else None


def _check_stub(item: LoadedCase, claims: Claims) -> Iterator[LintFinding]:
    """What the stub of ``case --new`` asked to be filled in."""
    texts = [item.cls.title(), *(claim.says for claim in claims)]
    texts += [variant.fix.note for variant in item.variants.values() if variant.fix is not None]
    for text in texts:
        if text.startswith("TODO"):
            yield LintFinding(item.id, "unfinished", f"{text!r} is still to be written")


_RULES: tuple[Callable[[LoadedCase, Claims], Iterable[LintFinding]], ...] = (
    _check_identifier,
    _check_sources,
    _check_claims,
    _check_fixes,
    _check_inputs,
    _check_stub,
)


def _check_operators(item: LoadedCase, known: KnownNames) -> Iterator[LintFinding]:
    for name in item.cls.aten_ops:
        space, found, _ = name.partition("::")
        if not found:
            yield LintFinding(item.id, "operator", f"{name}: as torch names it, aten::{name}")
        elif space == "aten" and not _is_known(name, known):
            yield LintFinding(item.id, "operator", f"torch has no operator {name}")
    for name in item.cls.onnx_ops:
        # an operator of another domain is one that a case registers itself; ATen is the old exporter's way out
        if known.onnx and "::" not in name and name not in known.onnx and name != "ATen":
            yield LintFinding(item.id, "operator", f"ONNX has no operator {name}")


def _is_known(name: str, known: KnownNames) -> bool:
    return not known.torch or name.startswith(_OF_TORCHSCRIPT) or bool({name, name.rstrip("_")} & known.torch)


def _check_imports(files: Mapping[Path, str]) -> Iterator[LintFinding]:
    """What a release does not have, or cannot script, would take every case of every file with it."""
    for path, text in files.items():
        for node in _find_import_code(ast.parse(text).body):
            used = {ast.unparse(part) for part in _walk_outside_lambdas(node) if isinstance(part, ast.Attribute)}
            for name in sorted(used - _ON_EVERY_RELEASE):
                if name.startswith("torch."):
                    where = f"line {node.lineno}: {name} is looked up when the file is imported"
                    yield LintFinding(path.name, "import", f"{where}; do it in setup or forward")


def _find_import_code(body: Sequence[ast.stmt]) -> Iterator[ast.expr | ast.stmt]:
    """What of these statements is evaluated as they are read: of functions the decorators and defaults only."""
    for item in body:
        if isinstance(item, ast.FunctionDef):
            yield from item.decorator_list
            yield from item.args.defaults
        elif isinstance(item, ast.ClassDef):
            yield from (*item.decorator_list, *item.bases)
            yield from _find_import_code(item.body)
        else:
            yield item


def _walk_outside_lambdas(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, ast.Lambda):
            yield from _walk_outside_lambdas(part)


def _find_unused_sources(corpus: Mapping[str, LoadedCase]) -> Iterator[LintFinding]:
    """Yield a finding for each source with a recorded state that no case names."""
    named = {source for item in corpus.values() for source in item.cls.sources}
    for source in upstream.read_threads(corpus):
        if source not in named:
            near = ", ".join(names.find_nearest(source, named)[:1])
            yield LintFinding(
                upstream.FILE, "upstream", f"no case names {source}" + (f" (nearest: {near})" if near else "")
            )


def _check_graphs(corpus: Mapping[str, LoadedCase], graphs: Mapping[str, Graphs]) -> Iterator[LintFinding]:
    """Cases whose failing forms give the same file wherever both are exported measure one thing twice."""
    for one, other in combinations([name for name in graphs if name in corpus], 2):
        both = graphs[one].keys() & graphs[other].keys()
        if not both or any(graphs[one][key] != graphs[other][key] for key in both):
            continue
        if other not in corpus[one].cls.same_graph_as and one not in corpus[other].cls.same_graph_as:
            text = f"exported to the same file as {one} in all {len(both)} cells that both have: merge them"
            yield LintFinding(other, "same-graph", f"{text}, or say why not with same_graph_as")
